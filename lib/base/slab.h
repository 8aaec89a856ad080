// Places for objects of one type that many users share, each of whom may hold so many at once: address space
// for all of them is taken beforehand, memory only for as many as are held at a time. So nothing is allocated
// where it is used, and who holds none costs none.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/pages.h"

namespace plait {

template <class T>
class Slab {
 public:
  static_assert(std::is_trivially_destructible_v<T>);
  static constexpr size_t kKeptBytes = kPageBytes;  // trim() leaves as much alone

  Slab() = default;
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  // For `count` more to be held at a time. False when there is no address space for them.
  bool reserve(size_t count) {
    if (promised_ + count > capacity_) {
      const size_t grown = count < capacity_ ? capacity_ : count;  // few mappings, however often it is asked
      Mapping mapping = map_pages(grown * sizeof(Item));
      if (!mapping) return false;
      chunks_.push_back({std::move(mapping), grown});
      capacity_ += grown;
    }
    promised_ += count;
    return true;
  }
  void unreserve(size_t count) noexcept { promised_ -= count; }

  // One that nobody holds, made anew; the last one given first. Not when as many as were reserved are held.
  T& take() noexcept {
    used_++;
    if (free_ != nullptr) {
      Item* item = free_;
      free_ = item->next;
      return *new (item) T;
    }
    if (fresh_ == chunks_[chunk_].count) {
      chunk_++;
      fresh_ = 0;
    }
    return *new (chunks_[chunk_].mapping.data() + sizeof(Item) * fresh_++) T;
  }
  void give(T& item) noexcept {
    used_--;
    free_ = new (&item) Item{free_};
  }
  size_t used() const noexcept { return used_; }

  // While nothing is held: gives the memory back, if it is much. A system call then; else a look.
  void trim() noexcept {
    if (used_ != 0 || free_ == nullptr || (chunk_ == 0 && fresh_ * sizeof(Item) <= kKeptBytes)) return;
    for (const Chunk& chunk : chunks_) drop_pages(chunk.mapping.data(), chunk.mapping.size());
    free_ = nullptr;
    chunk_ = fresh_ = 0;
  }
  // Memory that trim() would give back, at most, were nothing held.
  size_t touched_bytes() const noexcept {
    size_t items = fresh_;
    for (size_t i = 0; i < chunk_; i++) items += chunks_[i].count;
    return items * sizeof(Item);
  }

 private:
  union Item {
    Item* next;
    alignas(T) std::byte place[sizeof(T)];
  };
  struct Chunk {
    Mapping mapping;
    size_t count = 0;
  };
  std::vector<Chunk> chunks_;
  size_t chunk_ = 0, fresh_ = 0;  // what was never taken begins at item `fresh_` of chunk `chunk_`
  Item* free_ = nullptr;
  size_t capacity_ = 0, promised_ = 0, used_ = 0;
};

// A queue of what a Slab gave: T has a `T* next`, which is the queue's.
template <class T>
class SlabQueue {
 public:
  explicit SlabQueue(Slab<T>& slab) noexcept : slab_(&slab) {}
  bool empty() const noexcept { return first_ == nullptr; }
  size_t size() const noexcept { return count_; }
  T& front() noexcept { return *first_; }
  T& back() noexcept { return *last_; }
  const T* first() const noexcept { return first_; }  // null: there is none; `next` leads on
  // A new last item, to fill in.
  T& push() noexcept {
    T& item = slab_->take();
    item.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &item;
    last_ = &item;
    count_++;
    return item;
  }
  void pop() noexcept {
    T& item = *first_;
    first_ = item.next;
    count_--;
    slab_->give(item);
  }
  void clear() noexcept {
    while (!empty()) pop();
  }

 private:
  Slab<T>* slab_;
  T *first_ = nullptr, *last_ = nullptr;
  size_t count_ = 0;
};

}  // namespace plait
