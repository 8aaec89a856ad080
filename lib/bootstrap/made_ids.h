// The listeners of unique ids made in this process, kept until rank 0 joins.
#pragma once

#include <string>

#include "base/file.h"
#include "base/status.h"

namespace plait::bootstrap {

// The listener of the id that names `job`; none when it was taken before (a later communicator of the same
// id). Code::invalid: the id was made by another process.
Result<Fd> take_made_listener(const std::string& job);

}  // namespace plait::bootstrap
