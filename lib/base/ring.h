// A queue of fixed size, so that nothing is allocated where it is used.
#pragma once

#include <array>
#include <cstddef>

namespace plait {

template <class T, size_t N>
class Ring {
 public:
  bool empty() const noexcept { return count_ == 0; }
  bool full() const noexcept { return count_ == N; }
  size_t size() const noexcept { return count_; }
  T& front() noexcept { return items_[first_]; }
  // The i-th from the front; i < size().
  T& operator[](size_t i) noexcept { return items_[(first_ + i) % N]; }
  // The place of a new last item, to fill in. Not when full.
  T& push() noexcept { return items_[(first_ + count_++) % N]; }
  void pop() noexcept {
    first_ = (first_ + 1) % N;
    --count_;
  }
  void clear() noexcept { first_ = count_ = 0; }

 private:
  std::array<T, N> items_{};
  size_t first_ = 0, count_ = 0;
};

}  // namespace plait
