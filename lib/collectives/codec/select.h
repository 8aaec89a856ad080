// Which values of many are the largest.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plait::collectives::codec {

// Adds `values` to `sums` (null: nothing) and finds the `most` elements of the sums that are largest in
// magnitude, of equal ones the first; a NaN is larger than anything. Their places go to `places`, ascending;
// returns how many there are, min(most, count). `places` and `work` have room for `count` numbers. `count` is
// below 2^32.
size_t add_and_select(const float* values, float* sums, size_t count, size_t most, uint32_t* places,
                      uint32_t* work) noexcept;

// The same for all whose magnitude is `least` or more.
size_t add_and_collect(const float* values, float* sums, size_t count, float least,
                       uint32_t* places) noexcept;

}  // namespace plait::collectives::codec
