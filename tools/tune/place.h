// The machine that is measured, and the file that is written.
#pragma once

#include <string>

#include "base/status.h"
#include "collectives/choice/tuning.h"

namespace plait::tune {

// This host's processor, the cores that this process may use, today (UTC).
collectives::TuningMachine this_machine(uint32_t hosts);

// Code::invalid: they are not of one kind; the text says how. Dates and numbers of hosts may differ.
Status same_kind(const collectives::TuningMachine& a, const collectives::TuningMachine& b);

// Writes the file anew or leaves it as it is. Code::system names the path; Code::invalid: what read_tuning()
// would refuse.
Status write_file(const std::string& path, const collectives::Tuning& tuning);

}  // namespace plait::tune
