// What ranks put in and what must come out, element by element.
//
// Values depend on rank, index and seed, so that a missing rank, one counted twice, an order of ranks or
// pieces that is wrong, and a result left over from an earlier call all show. Every result is exact in its
// type, whatever the order in which ranks are folded, so that it is compared bit by bit:
//   copied data     any bits; those of two ranks differ at every index
//   integers        any bits (sums and products wrap); prod: odd ones, since even ones soon multiply to 0
//   float sum       integers so small that every sum of some of them is exact; those of two ranks differ
//   float prod      plus or minus a power of two, so small that every product of some of them is a normal
//   number min, max        integers that differ between ranks avg             as sum, and the sum is a
//   multiple of the number of ranks
// With very many ranks of a narrow type the room between "differ" and "exact" is used up; then some ranks are
// equal.
//
// Along the index values repeat after a prime number of elements, which no cut of a buffer into pieces
// matches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "perf/dtype.h"

namespace plait::perf {

inline constexpr size_t kPeriod = 8191;

class Pattern {
 public:
  // op: none for data that is only copied.
  Pattern(const Dtype& dtype, std::optional<plait_op> op, int ranks, uint64_t seed);

  // Writes what `rank` puts in at elements [first, first + count).
  void fill(int rank, size_t first, size_t count, std::byte* to) const;
  // How many of `got` are not what fill() writes.
  size_t wrong_copies(int rank, size_t first, size_t count, const std::byte* got) const;
  // How many of `got` are not the reduction over all ranks at [first, first + count).
  size_t wrong_results(size_t first, size_t count, const std::byte* got) const;

 private:
  using Table = std::vector<std::byte>;  // one period, or as much of it as is needed
  template <class Store>
  Table table(size_t elements, Store store) const;
  Table inputs(int rank, size_t elements) const;
  Table results(size_t elements) const;

  uint64_t mix(uint64_t index, uint64_t salt) const;
  uint64_t bits(int rank, size_t index) const;
  double real(int rank, size_t index) const;
  int64_t summand(int rank, size_t index) const;
  int64_t avg_summand(int rank, size_t index) const;
  int64_t extremum(int rank, size_t index) const;
  double factor(int rank, size_t index) const;
  int64_t extend(uint64_t bits) const;
  uint64_t reduced_bits(size_t index) const;
  double reduced_real(size_t index) const;

  const Dtype& dtype_;
  std::optional<plait_op> op_;
  int ranks_;
  uint64_t seed_;
  uint64_t sum_modulus_, extremum_modulus_;  // values are taken modulo these primes
};

}  // namespace plait::perf
