// Names of the C API's numbers, for errors and tools.
#pragma once

#include <cstdint>
#include <string_view>

namespace plait::runtime {

// "float32"; "dtype ?" for a number that is none.
std::string_view dtype_name(int32_t dtype) noexcept;
// "sum"; "op ?" for a number that is none.
std::string_view op_name(int32_t op) noexcept;

}  // namespace plait::runtime
