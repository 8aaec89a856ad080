// Names of the C API's numbers, for errors and tools.
#pragma once

#include <cstdint>
#include <string_view>

#include "collectives/collective.h"

namespace plait::runtime {

// "float32"; "dtype ?" for a number that is none.
std::string_view dtype_name(int32_t dtype) noexcept;
// "sum"; of a call as ranks compare it (runtime/operators.h). "op ?" for a number that is none.
std::string_view op_name(int32_t op) noexcept;

// "allgather"; "allgatherv" where blocks have counts of their own.
std::string_view call_name(collectives::Collective collective, bool uneven) noexcept;

}  // namespace plait::runtime
