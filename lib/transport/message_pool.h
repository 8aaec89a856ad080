// Tables of fixed size that messages are kept in: places that are handed out and come back, and lists through
// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace plait::transport {

constexpr uint16_t kNoIndex = 0xffff;

// A list of indexes below N, each at most once, in the order in which they came.
template <size_t N>
class IndexList {
 public:
  bool empty() const noexcept { return first_ == kNoIndex; }
  uint16_t first() const noexcept { return first_; }
  uint16_t next(uint16_t i) const noexcept { return next_[i]; }
  void push(uint16_t i) noexcept {
    next_[i] = kNoIndex;
    before_[i] = last_;
    (last_ == kNoIndex ? first_ : next_[last_]) = i;
    last_ = i;
  }
  void remove(uint16_t i) noexcept {
    (before_[i] == kNoIndex ? first_ : next_[before_[i]]) = next_[i];
    (next_[i] == kNoIndex ? last_ : before_[next_[i]]) = before_[i];
  }

 private:
  static_assert(N < kNoIndex);
  std::array<uint16_t, N> next_{}, before_{};
  uint16_t first_ = kNoIndex, last_ = kNoIndex;
};

// The indexes below N that are free.
template <size_t N>
class IndexPool {
 public:
  IndexPool() noexcept {
    for (size_t i = 0; i < N; i++) free_[i] = uint16_t(N - 1 - i);
  }
  size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  uint16_t take() noexcept { return free_[--count_]; }
  void give(uint16_t i) noexcept { free_[count_++] = i; }

 private:
  std::array<uint16_t, N> free_;
  size_t count_ = N;
};

}  // namespace plait::transport
