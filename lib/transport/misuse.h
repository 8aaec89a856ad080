// What all back ends say alike of calls that come when they must not, or ask for what cannot be. Sentences
// begin with `who`: the back end ("tcp"), or the domain.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.h"

namespace plait::transport {

// Code::state
Status in_forked_child(std::string_view who);
Status connected_before(std::string_view who);
Status import_out_of_turn(std::string_view who);

// Code::invalid
Status too_many_counters(std::string_view who, size_t asked, size_t most);
Status own_ticket(std::string_view who);

}  // namespace plait::transport
