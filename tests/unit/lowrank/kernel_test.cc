// Each function against a plain loop in double precision, on every instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "matrices.h"
#include "unit/reduce/targets_test.h"

namespace plait::collectives::lowrank {
namespace {

using Doubles = std::vector<double>;
using Kernel = EachTarget;
PLAIT_EACH_TARGET(Kernel);

Doubles sum(const Floats& m, const Floats* error) {
  Doubles x(m.begin(), m.end());
  for (size_t i = 0; error != nullptr && i < x.size(); i++) x[i] += (*error)[i];
  return x;
}

Doubles product(const Shape& s, const Floats& p, const Floats& q) {
  Doubles x(s.elements());
  for (size_t i = 0; i < s.rows; i++) {
    for (size_t j = 0; j < s.columns; j++) {
      for (size_t k = 0; k < s.rank; k++)
        x[i * s.columns + j] += double(p[k * s.rows + i]) * q[k * s.columns + j];
    }
  }
  return x;
}

// What the numbers are at most in size, sums of `terms` products below 2, to within rounding.
void expect_near(const Doubles& want, const Floats& got, size_t terms) {
  ASSERT_EQ(want.size(), got.size());
  for (size_t i = 0; i < got.size(); i++) ASSERT_NEAR(want[i], got[i], 0x1p-22 * double(terms)) << "at " << i;
}

TEST_P(Kernel, ProjectIsTheProduct) {
  for (const Shape& s : odd_shapes()) {
    SCOPED_TRACE(text(s));
    const Floats m = numbers(s.elements(), 1), error = numbers(s.elements(), 2),
                 q = numbers(s.q_elements(), 3);
    for (const Floats* e : {static_cast<const Floats*>(nullptr), &error}) {
      const Doubles x = sum(m, e);
      Doubles want(s.p_elements());
      for (size_t at = 0; at < x.size(); at++) {
        for (size_t k = 0; k < s.rank; k++)
          want[k * s.rows + at / s.columns] += x[at] * q[k * s.columns + at % s.columns];
      }
      Floats p(s.p_elements(), NAN);
      project(s, m.data(), e == nullptr ? nullptr : e->data(), q.data(), p.data());
      expect_near(want, p, s.columns);
    }
  }
}

TEST_P(Kernel, ProjectBackIsTheTransposedProduct) {
  for (const Shape& s : odd_shapes()) {
    SCOPED_TRACE(text(s));
    const Floats m = numbers(s.elements(), 4), error = numbers(s.elements(), 5),
                 p = numbers(s.p_elements(), 6);
    for (const Floats* e : {static_cast<const Floats*>(nullptr), &error}) {
      const Doubles x = sum(m, e);
      Doubles want(s.q_elements());
      for (size_t at = 0; at < x.size(); at++) {
        for (size_t k = 0; k < s.rank; k++)
          want[k * s.columns + at % s.columns] += x[at] * p[k * s.rows + at / s.columns];
      }
      Floats q(s.q_elements(), NAN);
      project_back(s, m.data(), e == nullptr ? nullptr : e->data(), p.data(), q.data());
      expect_near(want, q, s.rows);
    }
  }
}

TEST_P(Kernel, ReconstructIsTheScaledProduct) {
  for (const Shape& s : odd_shapes()) {
    SCOPED_TRACE(text(s));
    const Floats p = numbers(s.p_elements(), 7), q = numbers(s.q_elements(), 8);
    for (const float scale : {1.0F, 1 / 3.0F}) {
      Doubles want = product(s, p, q);
      for (double& x : want) x *= scale;
      Floats m(s.elements(), NAN);
      reconstruct(s, p.data(), q.data(), scale, m.data());
      expect_near(want, m, s.rank);
    }
  }
}

TEST_P(Kernel, KeepErrorIsWhatTheProductLacks) {
  for (const Shape& s : odd_shapes()) {
    SCOPED_TRACE(text(s));
    const Floats m = numbers(s.elements(), 9), p = numbers(s.p_elements(), 10),
                 q = numbers(s.q_elements(), 11);
    Floats error = numbers(s.elements(), 12);
    Doubles want = sum(m, &error);
    const Doubles taken = product(s, p, q);
    for (size_t i = 0; i < want.size(); i++) want[i] -= taken[i];
    keep_error(s, m.data(), error.data(), p.data(), q.data());
    expect_near(want, error, s.rank + 2);
  }
}

// One number that is not finite, anywhere in m or error, and nothing of the result is a number: on all ranks
// alike.
TEST_P(Kernel, WhatIsNotFiniteEndsAsNan) {
  using L = std::numeric_limits<float>;
  for (const Shape& s : {Shape{1, 40, 1}, Shape{9, 37, 2}, Shape{18, 16, 5}}) {
    for (const float bad : {L::quiet_NaN(), L::infinity(), -L::infinity()}) {
      for (size_t at = 0; at < s.elements(); at += 5) {
        for (const bool in_error : {false, true}) {
          SCOPED_TRACE(text(s) + " at " + std::to_string(at));
          Floats m = numbers(s.elements(), 13);
          Ranks ranks(s, 1, 14);
          ranks.call({m});
          Floats p(s.p_elements()), q = numbers(s.q_elements(), 15), error = ranks.errors()[0];
          (in_error ? error : m)[at] = bad;
          project(s, m.data(), error.data(), q.data(), p.data());
          orthonormalise(s, p.data());
          project_back(s, m.data(), error.data(), p.data(), q.data());
          keep_error(s, m.data(), error.data(), p.data(), q.data());
          Floats result(s.elements());
          reconstruct(s, p.data(), q.data(), 1, result.data());
          for (const float x : result) ASSERT_TRUE(std::isnan(x));
          for (const float x : error) ASSERT_TRUE(std::isnan(x));
          ASSERT_EQ(s.rank, revive(s, 1, q.data()));
        }
      }
    }
  }
}

// All instruction sets give the same bits, which are those that are written down here: of other processors,
// too.
TEST_P(Kernel, BitsAreThoseOfEveryProcessor) {
  uint64_t hash = 0xCBF29CE484222325u;
  const auto take = [&hash](const Floats& numbers) {
    for (const float x : numbers) hash = (hash ^ std::bit_cast<uint32_t>(x)) * 0x100000001B3u;
  };
  for (const Shape& s : odd_shapes()) {
    const Floats m = numbers(s.elements(), 16);
    Floats error = numbers(s.elements(), 17), q(s.q_elements()), p(s.p_elements()), result(s.elements());
    start(s, 18, q.data());
    take(q);
    project(s, m.data(), error.data(), q.data(), p.data());
    take(p);
    orthonormalise(s, p.data());
    take(p);
    project_back(s, m.data(), error.data(), p.data(), q.data());
    take(q);
    keep_error(s, m.data(), error.data(), p.data(), q.data());
    take(error);
    reconstruct(s, p.data(), q.data(), 0.3F, result.data());
    take(result);
  }
  EXPECT_EQ(16271402477868093444u, hash);
}

}  // namespace
}  // namespace plait::collectives::lowrank
