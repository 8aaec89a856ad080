// Heaps of four children a node: half as deep as binary ones, and siblings lie in one cache line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace plait::sim {

// Whatever is least by `<` comes out first. Allocates where it grows only.
template <class T>
class Heap {
 public:
  bool empty() const noexcept { return items_.empty(); }
  size_t size() const noexcept { return items_.size(); }
  const T& top() const noexcept { return items_.front(); }
  void clear() noexcept { items_.clear(); }

  void push(const T& item) {
    size_t at = items_.size();
    items_.push_back(item);
    while (at > 0 && item < items_[(at - 1) / 4]) {
      items_[at] = items_[(at - 1) / 4];
      at = (at - 1) / 4;
    }
    items_[at] = item;
  }

  void pop() {
    const T last = items_.back();
    items_.pop_back();
    const size_t size = items_.size();
    if (size == 0) return;
    size_t at = 0;
    for (;;) {
      const size_t first = at * 4 + 1, end = first + 4 < size ? first + 4 : size;
      if (first >= size) break;
      size_t least = first;
      for (size_t i = first + 1; i < end; i++)
        if (items_[i] < items_[least]) least = i;
      if (!(items_[least] < last)) break;
      items_[at] = items_[least];
      at = least;
    }
    items_[at] = last;
  }

 private:
  std::vector<T> items_;
};

// Numbers 0, 1, ... with a time each, which may change: the least one first, of equal ones the lowest number.
class Agenda {
 public:
  bool empty() const noexcept { return heap_.empty(); }
  uint32_t first() const noexcept { return heap_.front(); }
  double time() const noexcept { return times_[heap_.front()]; }

  void set(uint32_t number, double time) {
    if (number >= at_.size()) at_.resize(number + 1, kAbsent), times_.resize(number + 1);
    times_[number] = time;
    if (at_[number] == kAbsent) {
      at_[number] = uint32_t(heap_.size());
      heap_.push_back(number);
    }
    down(up(at_[number]));
  }
  void remove(uint32_t number) {
    if (number >= at_.size() || at_[number] == kAbsent) return;
    const uint32_t at = at_[number], last = heap_.back();
    at_[number] = kAbsent;
    heap_.pop_back();
    if (last == number) return;
    heap_[at] = last, at_[last] = at;
    down(up(at));
  }

 private:
  static constexpr uint32_t kAbsent = UINT32_MAX;
  bool less(uint32_t a, uint32_t b) const noexcept {
    return times_[a] < times_[b] || (times_[a] == times_[b] && a < b);
  }
  void swap(uint32_t i, uint32_t j) noexcept {
    std::swap(heap_[i], heap_[j]);
    at_[heap_[i]] = i, at_[heap_[j]] = j;
  }
  uint32_t up(uint32_t i) noexcept {
    for (; i > 0 && less(heap_[i], heap_[(i - 1) / 4]); i = (i - 1) / 4) swap(i, (i - 1) / 4);
    return i;
  }
  void down(uint32_t i) noexcept {
    for (;;) {
      uint32_t least = i;
      for (uint32_t c = i * 4 + 1; c < i * 4 + 5 && c < heap_.size(); c++)
        if (less(heap_[c], heap_[least])) least = c;
      if (least == i) return;
      swap(i, least);
      i = least;
    }
  }

  std::vector<uint32_t> heap_, at_;
  std::vector<double> times_;
};

}  // namespace plait::sim
