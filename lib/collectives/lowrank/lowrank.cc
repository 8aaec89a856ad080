#include "collectives/lowrank/lowrank.h"

#include <cmath>
#include <cstring>
#include <utility>

namespace plait::collectives::lowrank {

namespace {

uint64_t mix(uint64_t x) noexcept {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

// Calls f with the rank as a constant where it is a usual one: sums over it then live in registers.
template <class F>
void with_rank(size_t rank, F f) noexcept {
  switch (rank) {
    case 1:
      return f(std::integral_constant<size_t, 1>());
    case 2:
      return f(std::integral_constant<size_t, 2>());
    case 4:
      return f(std::integral_constant<size_t, 4>());
    case 8:
      return f(std::integral_constant<size_t, 8>());
    default:
      return f(rank);
  }
}

constexpr size_t kLanes = 8;  // partial sums, so that additions do not wait for each other

// p[row] = (m + error)[row] q, for one row.
template <class Rank>
void project_row(size_t columns, Rank rank, const float* m, const float* e, const float* q,
                 float* p) noexcept {
  float sums[kLanes][kMostRank];
  for (auto& lane : sums) std::memset(lane, 0, rank * sizeof(float));
  size_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    for (size_t l = 0; l < kLanes; l++) {
      const float x = m[j + l] + e[j + l];
      const float* with = q + (j + l) * rank;
      for (size_t k = 0; k < rank; k++) sums[l][k] += x * with[k];
    }
  }
  for (; j < columns; j++) {
    const float x = m[j] + e[j];
    for (size_t k = 0; k < rank; k++) sums[0][k] += x * q[j * rank + k];
  }
  for (size_t k = 0; k < rank; k++) {
    float sum = 0;
    for (const auto& lane : sums) sum += lane[k];
    p[k] = sum;
  }
}

}  // namespace

void start(const Shape& s, uint64_t seed, float* q) noexcept {
  // The sum of four uniform numbers: near enough to normal, and exact arithmetic.
  for (size_t i = 0; i < s.columns * s.rank; i++) {
    const uint64_t bits = mix(mix(seed + 0x9E3779B97F4A7C15ull) + i);
    int32_t sum = -2 * 0xffff;
    for (int k = 0; k < 4; k++) sum += int32_t(bits >> 16 * k & 0xffff);
    q[i] = float(sum) * 0x1p-15f;
  }
}

void project(const Shape& s, const float* m, const float* error, const float* q, float* p) noexcept {
  with_rank(s.rank, [&](auto rank) {
    for (size_t i = 0; i < s.rows; i++)
      project_row(s.columns, rank, m + i * s.columns, error + i * s.columns, q, p + i * rank);
  });
}

// Modified Gram-Schmidt, each column against the ones before it twice, in double precision.
void orthonormalise(const Shape& s, float* p) noexcept {
  const size_t rank = s.rank;
  auto dot = [&](size_t a, size_t b) {
    double sum = 0;
    for (size_t i = 0; i < s.rows; i++) sum += double(p[i * rank + a]) * double(p[i * rank + b]);
    return sum;
  };
  for (size_t k = 0; k < rank; k++) {
    const double before = dot(k, k);
    for (int pass = 0; pass < 2; pass++) {
      for (size_t l = 0; l < k; l++) {
        const double along = dot(k, l);
        for (size_t i = 0; i < s.rows; i++)
          p[i * rank + k] = float(double(p[i * rank + k]) - along * double(p[i * rank + l]));
      }
    }
    const double left = dot(k, k);
    // What rounding leaves of a column that the others make up is no direction.
    const double scale = left <= before * 1e-10 ? 0 : 1 / std::sqrt(left);
    for (size_t i = 0; i < s.rows; i++) p[i * rank + k] = float(double(p[i * rank + k]) * scale);
  }
}

void project_back(const Shape& s, const float* m, const float* error, const float* p, float* q) noexcept {
  std::memset(q, 0, s.columns * s.rank * sizeof(float));
  with_rank(s.rank, [&](auto rank) {
    for (size_t i = 0; i < s.rows; i++) {
      const float *row = m + i * s.columns, *e = error + i * s.columns, *with = p + i * rank;
      for (size_t j = 0; j < s.columns; j++) {
        const float x = row[j] + e[j];
        for (size_t k = 0; k < rank; k++) q[j * rank + k] += x * with[k];
      }
    }
  });
}

void keep_error(const Shape& s, const float* m, float* error, const float* p, const float* q) noexcept {
  with_rank(s.rank, [&](auto rank) {
    for (size_t i = 0; i < s.rows; i++) {
      const float *row = m + i * s.columns, *with = p + i * rank;
      float* e = error + i * s.columns;
      for (size_t j = 0; j < s.columns; j++) {
        float sum = 0;
        for (size_t k = 0; k < rank; k++) sum += with[k] * q[j * rank + k];
        e[j] = row[j] + e[j] - sum;
      }
    }
  });
}

void reconstruct(const Shape& s, const float* p, const float* q, float scale, float* m) noexcept {
  with_rank(s.rank, [&](auto rank) {
    for (size_t i = 0; i < s.rows; i++) {
      const float* with = p + i * rank;
      float* row = m + i * s.columns;
      for (size_t j = 0; j < s.columns; j++) {
        float sum = 0;
        for (size_t k = 0; k < rank; k++) sum += with[k] * q[j * rank + k];
        row[j] = scale * sum;
      }
    }
  });
}

}  // namespace plait::collectives::lowrank
