#include "collectives/codec/select.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "collectives/codec/kernels.h"

namespace plait::collectives::codec {

namespace {

constexpr size_t kSamples = 4096, kRun = 16;

uint32_t magnitude(float value) noexcept { return std::bit_cast<uint32_t>(value) & 0x7fffffffu; }

// A magnitude that somewhat more than `most` sums are likely to reach, from a sample of them. Whatever it is,
// the result does not depend on it: only how long it takes.
uint32_t guess(const float* values, const float* sums, size_t count, size_t most, uint32_t* work) noexcept {
  // Runs of a cache line each, spread over all.
  const size_t runs = std::min(kSamples / kRun, (count + kRun - 1) / kRun);
  size_t samples = 0;
  for (size_t r = 0; r < runs; r++) {
    const size_t begin = count * r / runs, end = std::min(begin + kRun, count * (r + 1) / runs);
    for (size_t at = begin; at < end; at++)
      work[samples++] = magnitude(values == nullptr ? sums[at] : sums[at] + values[at]);
  }
  const double share = double(most) * double(samples) / double(count);
  const size_t rank = size_t(share + 4 * std::sqrt(share) + 4);
  if (rank >= samples) return 0;
  std::nth_element(work, work + (samples - rank), work + samples);
  return work[samples - rank];
}

// Of the `found` candidates at `places` leaves the `most` largest.
size_t thin_out(const float* sums, size_t found, size_t most, uint32_t* places, uint32_t* work) noexcept {
  if (found <= most) return found;
  for (size_t i = 0; i < found; i++) work[i] = magnitude(sums[places[i]]);
  std::nth_element(work, work + (found - most), work + found);
  const uint32_t least = work[found - most];
  size_t above = 0;
  for (size_t i = found - most; i < found; i++) above += work[i] > least;
  size_t ties = most - above, left = 0;
  for (size_t i = 0; i < found; i++) {
    const uint32_t m = magnitude(sums[places[i]]);
    if (m < least || (m == least && ties == 0)) continue;
    ties -= m == least;
    places[left++] = places[i];
  }
  return left;
}

}  // namespace

size_t add_and_select(const float* values, float* sums, size_t count, size_t most, uint32_t* places,
                      uint32_t* work) noexcept {
  most = std::min(most, count);
  if (most == 0) {
    if (values != nullptr) kernels().add(values, sums, count);
    return 0;
  }
  uint32_t least = guess(values, sums, count, most, work);
  size_t found = kernels().collect(values, sums, count, least, places);
  if (found < most) found = kernels().collect(nullptr, sums, count, 0, places);
  return thin_out(sums, found, most, places, work);
}

size_t add_and_collect(const float* values, float* sums, size_t count, float least,
                       uint32_t* places) noexcept {
  return kernels().collect(values, sums, count, magnitude(least), places);
}

}  // namespace plait::collectives::codec
