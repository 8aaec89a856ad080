#include "perf/pattern.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace plait::perf {
namespace {

constexpr uint64_t kOdd =
    0x9e3779b97f4a7c15;  // rank * kOdd differs between ranks in every number of low bits

// The largest prime up to `limit` and `most`; 1 when there is none. A prime, so that ranks step through all
// of it.
int64_t prime_up_to(int64_t limit, int64_t most) {
  for (int64_t p = std::min(limit, most); p > 1; --p) {
    bool prime = true;
    for (int64_t d = 2; d * d <= p && prime; ++d) prime = p % d != 0;
    if (prime) return p;
  }
  return 1;
}

// Copies `count` elements of the periodic sequence in `table`, from element `first` on.
void repeat(const std::vector<std::byte>& table, size_t size, size_t first, size_t count, std::byte* to) {
  for (size_t at = first % kPeriod; count > 0; at = 0) {
    size_t piece = std::min(count, kPeriod - at);
    std::memcpy(to, table.data() + at * size, piece * size);
    to += piece * size;
    count -= piece;
  }
}

size_t count_wrong(const std::vector<std::byte>& table, size_t size, size_t first, size_t count,
                   const std::byte* got) {
  size_t wrong = 0;
  for (size_t at = first % kPeriod; count > 0; at = 0) {
    size_t piece = std::min(count, kPeriod - at);
    const std::byte* want = table.data() + at * size;
    if (std::memcmp(got, want, piece * size) != 0) {
      for (size_t i = 0; i < piece; ++i) wrong += std::memcmp(got + i * size, want + i * size, size) != 0;
    }
    got += piece * size;
    count -= piece;
  }
  return wrong;
}

// Elements of the period that [first, first + count) touches, from its start.
size_t needed(size_t first, size_t count) { return std::min(kPeriod, first + count); }

}  // namespace

Pattern::Pattern(const Dtype& dtype, std::optional<plait_op> op, int ranks, uint64_t seed)
    : dtype_(dtype),
      op_(op),
      ranks_(ranks),
      seed_(seed),
      sum_modulus_(uint64_t(std::max<int64_t>(2, prime_up_to(dtype.exact / ranks + 1, 4093)))),
      extremum_modulus_(uint64_t(prime_up_to(dtype.exact, 65521))) {}

uint64_t Pattern::mix(uint64_t index, uint64_t salt) const {  // splitmix64
  uint64_t x = (index + 1) * kOdd + seed_ * 0xd1342543de82ef95 + salt * 0xaf251af3b0f025b5;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t Pattern::bits(int rank, size_t index) const {
  if (op_ == PLAIT_AVG) return uint64_t(avg_summand(rank, index));
  uint64_t any = mix(index, 0) + uint64_t(rank) * kOdd;
  return op_ == PLAIT_PROD ? any * 2 + 1 : any;
}

double Pattern::real(int rank, size_t index) const {
  switch (*op_) {
    case PLAIT_PROD:
      return factor(rank, index);
    case PLAIT_MIN:
    case PLAIT_MAX:
      return double(extremum(rank, index));
    case PLAIT_AVG:
      return double(avg_summand(rank, index));
    default:
      return double(summand(rank, index));
  }
}

int64_t Pattern::summand(int rank, size_t index) const {
  uint64_t h = mix(index, 0);
  int64_t sign = h >> 63 ? -1 : 1;
  if (ranks_ > dtype_.exact) {  // not even a one of each rank can be added exactly: some ranks give none
    uint64_t every = (uint64_t(ranks_) + uint64_t(dtype_.exact) - 1) / uint64_t(dtype_.exact);
    return (uint64_t(rank) + h % every) % every == 0 ? sign : 0;
  }
  return sign * int64_t((h % sum_modulus_ + uint64_t(rank)) % sum_modulus_);
}

int64_t Pattern::avg_summand(int rank, size_t index) const {
  uint64_t h = mix(index, 0);
  int64_t sign = dtype_.is_signed && h >> 63 ? -1 : 1;
  auto n = uint64_t(ranks_);
  int64_t distinct = int64_t(ranks_) * (ranks_ - 1);  // the sum of 0, 2, 4 ... 2 (n - 1)
  int64_t room = (dtype_.exact - distinct) / ranks_;
  if (room >= 1) {
    auto common = int64_t((h >> 20) % uint64_t(std::min<int64_t>(room, 1000) + 1));
    return sign * (common + 2 * int64_t((uint64_t(rank) + h % n) % n));
  }
  // Pairs of ranks give common + difference and common - difference.
  int64_t half = std::max<int64_t>(0, dtype_.exact / ranks_ / 2);
  auto common = int64_t((h >> 20) % uint64_t(half + 1));
  bool paired = (rank | 1) < ranks_;
  auto difference = paired ? int64_t(mix(index, 1 + uint64_t(rank) / 2) % uint64_t(half + 1)) : 0;
  return sign * (common + (rank % 2 == 0 ? difference : -difference));
}

int64_t Pattern::extremum(int rank, size_t index) const {
  // Ranks lie evenly spread on a circle, so that each is the extreme one at as many indexes as any other.
  uint64_t m = extremum_modulus_, apart = std::max<uint64_t>(1, m / uint64_t(ranks_));
  return int64_t((mix(index, 0) % m + uint64_t(rank) * apart) % m) - int64_t(m / 2);
}

double Pattern::factor(int rank, size_t index) const {
  uint64_t h = mix(index, 0);
  uint64_t every = 1;  // one in so many ranks has an exponent, the others are 1 or -1
  int largest = dtype_.exponent / ranks_;
  if (largest == 0) {
    largest = 1;
    every = uint64_t(ranks_ / dtype_.exponent) + 1;
  }
  auto choices = uint64_t(2 * (2 * largest + 1));
  uint64_t choice = (h % choices + uint64_t(rank)) % choices;
  int exponent = (uint64_t(rank) + (h >> 32)) % every == 0 ? int(choice / 2) - largest : 0;
  return std::ldexp(choice % 2 == 0 ? 1.0 : -1.0, exponent);
}

int64_t Pattern::extend(uint64_t value) const {
  int unused = 64 - 8 * int(dtype_.size);
  return int64_t(value << unused) >> unused;
}

uint64_t Pattern::reduced_bits(size_t index) const {
  uint64_t mask = ~uint64_t(0) >> (64 - 8 * dtype_.size);
  uint64_t all = bits(0, index);
  for (int rank = 1; rank < ranks_; ++rank) {
    uint64_t one = bits(rank, index);
    bool less = dtype_.is_signed ? extend(one) < extend(all) : (one & mask) < (all & mask);
    switch (*op_) {
      case PLAIT_PROD:
        all *= one;
        break;
      case PLAIT_MIN:
        all = less ? one : all;
        break;
      case PLAIT_MAX:
        all = less ? all : one;
        break;
      default:
        all += one;
    }
  }
  return op_ == PLAIT_AVG ? uint64_t(int64_t(all) / ranks_) : all;
}

double Pattern::reduced_real(size_t index) const {
  double all = real(0, index);
  for (int rank = 1; rank < ranks_; ++rank) {
    double one = real(rank, index);
    switch (*op_) {
      case PLAIT_PROD:
        all *= one;
        break;
      case PLAIT_MIN:
        all = std::min(all, one);
        break;
      case PLAIT_MAX:
        all = std::max(all, one);
        break;
      default:
        all += one;
    }
  }
  return op_ == PLAIT_AVG ? all / ranks_ : all;
}

template <class Store>
Pattern::Table Pattern::table(size_t elements, Store store) const {
  Table made(elements * dtype_.size);
  for (size_t i = 0; i < elements; ++i) store(i, made.data() + i * dtype_.size);
  return made;
}

Pattern::Table Pattern::inputs(int rank, size_t elements) const {
  bool as_real = dtype_.is_float && op_;
  return table(elements, [&](size_t i, std::byte* to) {
    as_real ? store_float(dtype_, real(rank, i), to) : store_bits(dtype_, bits(rank, i), to);
  });
}

Pattern::Table Pattern::results(size_t elements) const {
  return table(elements, [&](size_t i, std::byte* to) {
    dtype_.is_float ? store_float(dtype_, reduced_real(i), to) : store_bits(dtype_, reduced_bits(i), to);
  });
}

void Pattern::fill(int rank, size_t first, size_t count, std::byte* to) const {
  repeat(inputs(rank, needed(first, count)), dtype_.size, first, count, to);
}

size_t Pattern::wrong_copies(int rank, size_t first, size_t count, const std::byte* got) const {
  return count_wrong(inputs(rank, needed(first, count)), dtype_.size, first, count, got);
}

size_t Pattern::wrong_results(size_t first, size_t count, const std::byte* got) const {
  return count_wrong(results(needed(first, count)), dtype_.size, first, count, got);
}

}  // namespace plait::perf
