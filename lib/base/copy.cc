#include "base/copy.h"

namespace plait {

void copy_lines(void* to, const void* from, size_t bytes) noexcept {
  constexpr size_t kLine = 64;
  auto* at = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  for (; bytes >= kLine; bytes -= kLine, at += kLine, source += kLine) {
    std::memcpy(at, source, kLine);
    asm volatile("" ::: "memory");  // or the compiler would make one memcpy of all
  }
  std::memcpy(at, source, bytes);
}

}  // namespace plait
