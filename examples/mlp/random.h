// Random numbers that are alike wherever they are drawn: those of the standard's distributions differ between
// libraries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace mlp {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  // In [least, most).
  float uniform(float least, float most) {
    return least + (most - least) * static_cast<float>(engine_() >> 40) * 0x1p-24f;
  }

  // About normal, with a mean of 0 and a deviation of 1: four uniform ones.
  float normal() {
    constexpr float kHalf = 0.866025404f;  // a uniform one within it has a quarter of the variance
    float sum = 0;
    for (int i = 0; i < 4; ++i) sum += uniform(-kHalf, kHalf);
    return sum;
  }

  // 0 ... count - 1 in any order.
  std::vector<size_t> permutation(size_t count) {
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t left = count; left > 1; --left) std::swap(order[left - 1], order[engine_() % left]);
    return order;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace mlp
