// Several tunings made into one.
#pragma once

#include <span>
#include <string>

#include "base/status.h"
#include "collectives/choice/tuning.h"

namespace plait::tune {

// Of each case, size and algorithm the median of the times there are, of an even number the mean of the two
// in the middle; the machine of the latest date. `all` is not empty.
collectives::Tuning medians(std::span<const collectives::Tuning> all);

// --combine: reads `files`, writes `out`. Code::invalid names a file that is wrong or of another machine;
// Code::system.
Status combine(std::span<const std::string> files, const std::string& out);

// --merge: adds to `tuning` the cases of `file` that it does not have, if there is such a file.
// Code::invalid, Code::system, as above.
Status merge(const std::string& file, collectives::Tuning& tuning);

}  // namespace plait::tune
