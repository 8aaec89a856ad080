// Sizes that blocks are rounded up to, so that those of like sizes serve one another: multiples of kUnit up
// to 2 * kSteps of them, then kSteps sizes for each doubling. At most a kSteps-th of a block is lost.
#pragma once

#include <bit>
#include <cstddef>

namespace plait::transport::shm {

template <size_t kUnit, size_t kSteps>
struct SizeClasses {
  static_assert(std::has_single_bit(kSteps));

  // Of the smallest class that holds `bytes`, which are not 0 and not beyond half of the address space.
  static constexpr size_t index(size_t bytes) noexcept {
    const size_t last = (bytes - 1) / kUnit;  // unit that is still needed
    const size_t shift = last < kSteps ? 0 : size_t(std::bit_width(last / kSteps)) - 1;
    return shift * kSteps + (last >> shift);
  }
  static constexpr size_t bytes(size_t index) noexcept {
    if (index < 2 * kSteps) return (index + 1) * kUnit;
    const size_t shift = index / kSteps - 1;
    return ((index - shift * kSteps + 1) << shift) * kUnit;
  }
  static constexpr size_t round_up(size_t wanted) noexcept { return bytes(index(wanted)); }
};

}  // namespace plait::transport::shm
