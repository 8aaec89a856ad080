#include "sim/least_squares.h"

#include <algorithm>
#include <cmath>

namespace plait::sim {

namespace {

double merit_of(const Values& residuals, double knee) {
  double sum = 0;
  for (const double r : residuals) {
    const double size = std::abs(r);
    sum += size <= knee ? size * size / 2 : knee * (size - knee / 2);
  }
  return sum;
}

// Solves a x = b of a symmetric positive definite matrix by Cholesky's decomposition; false: it is none.
bool solve(std::vector<Values> a, Values& b) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j <= i; j++) {
      double sum = a[i][j];
      for (size_t k = 0; k < j; k++) sum -= a[i][k] * a[j][k];
      if (i == j && !(sum > 0)) return false;
      a[i][j] = i == j ? std::sqrt(sum) : sum / a[j][j];
    }
  }
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < i; k++) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; k++) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  return true;
}

// The normal equations at a point: products of derivatives, and of these with residuals.
struct Slope {
  std::vector<Values> square;
  Values down;
};

Slope slope_of(const std::vector<Values>& columns, const Values& residuals, double knee) {
  const size_t n = columns.size();
  Slope s{std::vector<Values>(n, Values(n)), Values(n)};
  for (size_t row = 0; row < residuals.size(); row++) {
    const double weight = std::min(1.0, knee / std::max(std::abs(residuals[row]), 1e-300));
    for (size_t i = 0; i < n; i++) {
      s.down[i] -= weight * columns[i][row] * residuals[row];
      for (size_t j = 0; j <= i; j++) s.square[i][j] += weight * columns[i][row] * columns[j][row];
    }
  }
  return s;
}

}  // namespace

Result<Descent> least_squares(const Values& begin,
                              const std::function<Result<Values>(const Values&)>& residuals, double knee,
                              double step, uint32_t rounds) {
  const size_t n = begin.size();
  Descent d{begin, 0, 1};
  auto here = residuals(d.at);
  if (!here.ok()) return here.status();
  d.merit = merit_of(*here, knee);
  double damping = 1e-2;
  for (uint32_t round = 0; round < rounds; round++) {
    std::vector<Values> columns;
    for (size_t i = 0; i < n; i++) {
      Values aside = d.at;
      aside[i] += step;
      auto there = residuals(aside);
      if (!there.ok()) return there.status();
      d.evaluations++;
      for (size_t row = 0; row < there->size(); row++) (*there)[row] = ((*there)[row] - (*here)[row]) / step;
      columns.push_back(std::move(*there));
    }
    const Slope slope = slope_of(columns, *here, knee);
    const double before = d.merit;
    double moved = 0;
    // Shorter steps until one leads down.
    for (int attempt = 0; attempt < 12 && d.merit >= before; attempt++, damping *= 4) {
      auto square = slope.square;
      for (size_t i = 0; i < n; i++) square[i][i] += damping * (square[i][i] + 1e-6);
      Values by = slope.down;
      if (!solve(std::move(square), by)) continue;
      Values to = d.at;
      for (size_t i = 0; i < n; i++) to[i] += std::clamp(by[i], -1.0, 1.0);
      auto there = residuals(to);
      if (!there.ok()) return there.status();
      d.evaluations++;
      const double merit = merit_of(*there, knee);
      if (!(merit < before)) continue;
      for (size_t i = 0; i < n; i++) moved = std::max(moved, std::abs(to[i] - d.at[i]));
      d.at = std::move(to), d.merit = merit, here = std::move(there);
      damping /= 16;
    }
    damping = std::clamp(damping, 1e-9, 1e3);
    if (moved < 1e-4 || before - d.merit < 1e-6 * before) break;
  }
  return d;
}

}  // namespace plait::sim
