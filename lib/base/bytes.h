// Views of bytes, and helpers to put plain values into them and take them out, checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace plait {

using ByteView = std::span<const std::byte>;
using Bytes = std::vector<std::byte>;

template <class T>
requires std::is_trivially_copyable_v<T> ByteView bytes_of(const T& value)
noexcept { return std::as_bytes(std::span(&value, 1)); }

template <class T>
requires std::is_trivially_copyable_v<T>
void append(Bytes& to, const T& value) {
  auto view = bytes_of(value);
  to.insert(to.end(), view.begin(), view.end());
}

// Takes a T off the front of `view`; false, with nothing changed, when it is too short.
template <class T>
requires std::is_trivially_copyable_v<T>
bool take(ByteView& view, T& value) noexcept {
  if (view.size() < sizeof value) return false;
  std::memcpy(&value, view.data(), sizeof value);
  view = view.subspan(sizeof value);
  return true;
}

// True when [offset, offset + bytes) lies in [0, limit), without overflow.
constexpr bool in_bounds(uint64_t offset, uint64_t bytes, uint64_t limit) noexcept {
  return offset <= limit && bytes <= limit - offset;
}

constexpr uint64_t round_up(uint64_t value, uint64_t to) noexcept { return (value + to - 1) / to * to; }

}  // namespace plait
