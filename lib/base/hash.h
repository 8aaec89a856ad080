// FNV-1a, 64 bits: finds damage, spreads names over numbers. No defence against forgers.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace plait {

inline uint64_t fnv1a(ByteView bytes) noexcept {
  uint64_t hash = 0xcbf29ce484222325;
  for (std::byte b : bytes) hash = (hash ^ uint64_t(b)) * 0x100000001b3;
  return hash;
}
inline uint64_t fnv1a(std::string_view text) noexcept { return fnv1a(std::as_bytes(std::span(text))); }

}  // namespace plait
