// Mailbox lines, which all limits of memory speak by: 56 bytes of data and the word that says "landed", in
// one cache line of the receiver's ring; no acknowledgement, no completion, no counter on a line of its own.
#pragma once
#include <algorithm>
#include <cstring>

#include "world.h"

namespace limits {

class Mail {
 public:
  explicit Mail(World& world)
      : world_(world), crowded_(world.crowded()), boxes_(reinterpret_cast<Box*>(world.control)) {}

  // A message of nothing is a line all the same.
  void put(int to, const void* data, size_t bytes) {
    Box& box = boxes_[world_.rank * world_.size + to];
    const char* from = static_cast<const char*>(data);
    do {
      const size_t now = std::min(bytes, kPayload);
      const uint64_t number = ++put_[to];
      if (number > taken_[to] + kRing) await_credit(box, to, number);
      Line& line = box.ring[number % kRing];
      fill(line.data, from, now);
      line.word.store(number, std::memory_order_release);
      hand_over(line);
      __builtin_prefetch(&box.ring[(number + 1) % kRing], 1);
      from += now;
      bytes -= now;
    } while (bytes > 0);
  }

  // Calls use(offset, data, bytes) for each line of a message.
  template <class Use>
  void read(int from, size_t bytes, Use use) {
    Box& box = boxes_[from * world_.size + world_.rank];
    size_t at = 0;
    do {
      const uint64_t number = ++got_[from];
      Line& line = box.ring[number % kRing];
      await(crowded_, [&] { return line.word.load(std::memory_order_acquire) == number; });
      use(at, line.data, std::min(bytes - at, kPayload));
      if (number % kCredit == 0) box.taken.store(number, std::memory_order_release);
      at += kPayload;
    } while (at < bytes);
  }
  void take(int from, void* to, size_t bytes) {
    read(from, bytes,
         [&](size_t at, const char* data, size_t k) { fill(static_cast<char*>(to) + at, data, k); });
  }
  void fold(int from, float* to, size_t n) {
    read(from, n * sizeof(float), [&](size_t at, const char* data, size_t bytes) {
      for (size_t i = 0; i < bytes / sizeof(float); ++i) {
        float one;
        memcpy(&one, data + i * sizeof one, sizeof one);
        to[at / sizeof(float) + i] += one;
      }
    });
  }

  // Tells all others the same, and hears from them: heard(rank, data).
  template <class Heard>
  void exchange(const void* data, size_t bytes, Heard heard) {
    each_other([&](int q) { put(q, data, bytes); });
    each_other([&](int q) { read(q, bytes, [&](size_t, const char* from, size_t) { heard(q, from); }); });
  }
  template <class Do>
  void each_other(Do what) const {
    for (int k = 1; k < world_.size; ++k) what((world_.rank + k) % world_.size);
  }

 private:
  static constexpr size_t kPayload = sizeof(Line::data);
  static constexpr uint64_t kRing = 256;   // lines from one rank to another
  static constexpr uint64_t kCredit = 64;  // how often a receiver tells how many it took
  struct Box {
    Line ring[kRing];
    alignas(64) std::atomic<uint64_t> taken;
  };
  static_assert(sizeof(Box) * kMostRanks * kMostRanks <= kMailBytes);

  void await_credit(const Box& box, int to, uint64_t number) {
    await(crowded_, [&] { return box.taken.load(std::memory_order_acquire) + kRing >= number; });
    taken_[to] = box.taken.load(std::memory_order_relaxed);
  }
  // 8 bytes are one load and one store: a call to memcpy costs as much as the rest.
  static void fill(char* to, const char* from, size_t bytes) {
    if (bytes == 8) {
      memcpy(to, from, 8);
    } else {
      memcpy(to, from, bytes);
    }
  }
  // Towards the cache that both cores share.
  static void hand_over(Line& line) {
#ifdef __CLDEMOTE__
    __builtin_ia32_cldemote(&line);
#else
    (void)line;
#endif
  }

  World& world_;
  const bool crowded_;
  Box* boxes_;
  uint64_t put_[kMostRanks] = {}, taken_[kMostRanks] = {}, got_[kMostRanks] = {};
};

}  // namespace limits
