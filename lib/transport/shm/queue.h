// What endpoints hold between post() and the Done, out of pools of their domain: nothing is allocated after
// open(), and an endpoint that moves nothing holds nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/slab.h"
#include "transport/transfers.h"

namespace plait::transport::shm {

constexpr size_t kDepth = 64;
constexpr size_t kInline = 64;
constexpr size_t kPiece = size_t{256} << 10;

// A transfer that post() took and poll() moves.
struct Op {
  Op* next = nullptr;
  Transfer transfer;
  size_t moved = 0;
  std::array<std::byte, kInline> bytes;  // a small source is read in post()
};

// Of a domain: each endpoint may hold kDepth ops and as many Dones, and one more for its own.
struct Pools {
  Slab<Op> ops;
  Slab<DoneItem> dones;
  bool reserve() { return ops.reserve(kDepth) && dones.reserve(kDepth + 1); }
  void unreserve() noexcept {
    ops.unreserve(kDepth);
    dones.unreserve(kDepth + 1);
  }
  void trim() noexcept {
    ops.trim();
    dones.trim();
  }
};

// Copies up to kInline bytes. The last whole aligned 8 bytes of the target appear last.
inline void copy_word_last(std::byte* to, const std::byte* from, size_t bytes) noexcept {
  const auto start = reinterpret_cast<uintptr_t>(to), last = ((start + bytes) & ~uintptr_t{7}) - 8;
  if (last + 8 < start + 8 || bytes < 8) {
    std::memmove(to, from, bytes);
    return;
  }
  const size_t before = last - start;
  uint64_t word = 0;
  std::memcpy(&word, from + before, sizeof word);
  std::memmove(to + before + 8, from + before + 8, bytes - before - 8);
  std::memmove(to, from, before);
  std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(to + before)).store(word, std::memory_order_release);
}

}  // namespace plait::transport::shm
