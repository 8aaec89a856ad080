#pragma once

#include <cstddef>
#include <cstring>

namespace plait::test {

// Whether the `count` bytes at `bytes` are all `value`. They are looked at as one range: sanitizers note that
// at once, where a loop costs them many times what it does.
inline bool all_are(const std::byte* bytes, size_t count, std::byte value) {
  return count == 0 || (bytes[0] == value && std::memcmp(bytes, bytes + 1, count - 1) == 0);
}

}  // namespace plait::test
