// Lists that the C API fills in for a caller who may have been built with another version of plait.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "base/status.h"
#include "runtime/config.h"

namespace plait::runtime {

// Writes the first ones of `from` to the `capacity` elements of `list`. T begins with its struct_size, which
// the caller has set in each element: so long are the elements, whatever sizeof(T) is here. Code::invalid as
// of check_struct(), or where the sizes differ.
template <class T>
Status write_list(T* list, size_t capacity, std::span<const T> from, const char* name) {
  auto* at = reinterpret_cast<std::byte*>(list);
  size_t first = 0;
  for (size_t i = 0; i < std::min(capacity, from.size()); i++) {
    size_t size = 0;
    std::memcpy(&size, at, sizeof size);
    PLAIT_TRY(check_struct(at, size, sizeof(T), name));
    if (i == 0) first = size;
    if (size != first)
      return {Code::invalid, std::string(name) + ": struct_size is not the same in all elements"};
    const auto* bytes = reinterpret_cast<const std::byte*>(&from[i]);
    std::memcpy(at + sizeof size, bytes + sizeof size, std::min(size, sizeof(T)) - sizeof size);
    at += size;
  }
  return {};
}

}  // namespace plait::runtime
