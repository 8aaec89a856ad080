// Slurm's host lists: "n[01-03,7]x,login" is n01x n02x n03x n7x login.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace plait::bootstrap {

// The first `most` hosts, in order. Several brackets in one name count like digits, the last one fastest.
// Code::invalid says what makes no sense.
Result<std::vector<std::string>> expand_hosts(std::string_view list, size_t most);

}  // namespace plait::bootstrap
