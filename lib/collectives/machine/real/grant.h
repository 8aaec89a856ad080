// Which sends may store straight into their receiver's output.
#pragma once

#include "collectives/machine/real/schedule.h"

namespace plait::collectives::real {

// Sets Action::granted and granted_slot. A send is granted whose receiver waits for nothing but messages that
// this rank has consumed before it sends: the write-after-read edge there is kept by our own order. The
// programs of `program_of` may be in place where that is not known: this leaves no hazard out.
void grant(Schedule& schedule, const ProgramOf& program_of);

}  // namespace plait::collectives::real
