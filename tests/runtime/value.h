// Values that show a missing, doubled or misplaced contribution and whose results are exact in every dtype.
#pragma once

#include <plait/plait.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "support/half.h"

namespace plait::test {

inline size_t size_of(plait_dtype t) {
  static constexpr size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return kSizes[t];
}

inline bool is_signed(plait_dtype t) { return t != PLAIT_UINT8 && t != PLAIT_UINT32 && t != PLAIT_UINT64; }

// The element of rank r at index i, a small whole number.
inline int64_t element(int rank, int ranks, uint64_t i, plait_op op, plait_dtype t) {
  const uint64_t mixed = i * 7 + uint64_t(rank) * 13 + i / 64;
  switch (op) {
    case PLAIT_PROD:
      return (mixed + uint64_t(rank)) % 3 == 0 ? 2 : 1;
    case PLAIT_AVG:
      return int64_t(ranks) *
             int64_t(mixed % 3);  // sums divide evenly, and fit int8 for 8 ranks: 8 * 16 = 128 > 127
    default: {
      const int64_t v = int64_t(mixed % 11) + rank;
      return is_signed(t) && i % 2 == 1 ? -v : v;
    }
  }
}

// What the reduction of all ranks' elements at index i is, before it is cut to the dtype.
inline int64_t reduced(int ranks, uint64_t i, plait_op op, plait_dtype t) {
  int64_t a = element(0, ranks, i, op, t);
  for (int r = 1; r < ranks; r++) {
    const int64_t b = element(r, ranks, i, op, t);
    switch (op) {
      case PLAIT_PROD:
        a *= b;
        break;
      case PLAIT_MAX:
        a = a > b ? a : b;
        break;
      case PLAIT_MIN:
        a = a < b ? a : b;
        break;
      default:
        a += b;
    }
  }
  if (op != PLAIT_AVG) return a;
  if (t == PLAIT_INT8) a = int8_t(a);  // the sum wraps before it is divided
  return a / ranks;
}

// Writes whole number v as an element of t; integers wrap.
inline void store(void* at, plait_dtype t, int64_t v) {
  auto put = [&](auto x) { std::memcpy(at, &x, sizeof x); };
  switch (t) {
    case PLAIT_INT8:
      return put(int8_t(v));
    case PLAIT_UINT8:
      return put(uint8_t(v));
    case PLAIT_INT32:
      return put(int32_t(v));
    case PLAIT_UINT32:
      return put(uint32_t(v));
    case PLAIT_INT64:
      return put(v);
    case PLAIT_UINT64:
      return put(uint64_t(v));
    case PLAIT_FLOAT16:
      return put(half_bits(float(v)));
    case PLAIT_FLOAT32:
      return put(float(v));
    case PLAIT_FLOAT64:
      return put(double(v));
    default: {  // bfloat16: whole numbers up to 256 are exact
      const float f = float(v);
      uint32_t bits;
      std::memcpy(&bits, &f, 4);
      return put(uint16_t(bits >> 16));
    }
  }
}

// Elements of any rank, and so what they reduce to, repeat after this many: `mixed` is then 7 * kPeriod + 66
// more, a multiple of 3 and of 11, and the index as odd as before.
inline constexpr size_t kPeriod = 64 * 66;

// Writes `count` elements, value(i) the i-th, which repeat after kPeriod.
template <class Value>
void store_all(char* at, plait_dtype t, size_t count, const Value& value) {
  const size_t e = size_of(t), once = std::min(count, kPeriod);
  for (size_t i = 0; i < once; i++) store(at + i * e, t, value(i));
  for (size_t done = once; done < count; done += std::min(done, count - done))
    std::memcpy(at + done * e, at, std::min(done, count - done) * e);
}

// The first of `count` elements that is not value(i), bit by bit; values as in store_all.
template <class Value>
std::optional<size_t> first_wrong(const char* at, plait_dtype t, size_t count, const Value& value) {
  const size_t e = size_of(t), once = std::min(count, kPeriod);
  std::vector<char> want(once * e);
  store_all(want.data(), t, once, value);
  for (size_t from = 0; from < count; from += once) {
    const size_t n = std::min(once, count - from);
    if (std::memcmp(at + from * e, want.data(), n * e) == 0) continue;
    size_t i = 0;
    while (std::memcmp(at + (from + i) * e, want.data() + i * e, e) == 0) i++;
    return from + i;
  }
  return {};
}

}  // namespace plait::test
