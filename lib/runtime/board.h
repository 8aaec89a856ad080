// What a rank shows its peers besides messages: which calls it made, whom it waits for, and whether it failed
// or left. Where peers map memory it lies in shared memory: writing it costs the owner a store to its own
// line, peers look only while they wait long. Other peers are sent copies, by ranks that wait long or failed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/status.h"
#include "collectives/method.h"
#include "plait/plait.h"

namespace plait::runtime {

// A call as ranks compare it.
struct CallId {
  uint32_t kind = 0;  // collectives::Collective
  int32_t dtype = 0, op = 0, root = 0;
  uint32_t algorithm = 0;  // 1 + number of its collectives::Method, 0: not chosen (a call of no data)
  uint32_t in_place = 0;
  uint64_t count = 0;        // as in the C call; uneven: of all blocks, where all ranks know their counts
  uint32_t counts = 0;       // how many counts an uneven call has, one a rank; 0: an even call
  uint32_t counts_hash = 0;  // of these, where all ranks know them
  uint32_t codec = 0, unused = 0;  // CodecUse::hash; 0: none
  friend bool operator==(const CallId&, const CallId&) = default;
};

// Kinds of calls that are no collectives, far from the numbers of those.
constexpr uint32_t kSplitCall = 256, kDupCall = 257;
// "comm_split", "comm_dup"; empty for other kinds.
std::string_view maker_name(uint32_t kind) noexcept;

// "allreduce(count=1024, float32, sum, in place) by ring", "allgatherv(3 counts #1c5a90f2, 300 elements,
// int8)". `methods`: of the communicator, whose ranks number them alike.
std::string describe(const CallId& call, const collectives::Methods& methods);
// Of its algorithm; empty where it has none, or a number that is none. No more than reads: a signal handler
// may.
std::string_view algorithm_name(const CallId& call, const collectives::Methods& methods) noexcept;

constexpr uint32_t kRecords = 16;

// As it is written and read: word by word, since others read meanwhile.
constexpr size_t kCallWords = sizeof(CallId) / sizeof(uint64_t);
static_assert(std::is_trivially_copyable_v<CallId> && sizeof(CallId) == kCallWords * sizeof(uint64_t));
inline uint64_t word_of(const CallId& call, size_t i) noexcept {
  uint64_t word;
  std::memcpy(&word, reinterpret_cast<const std::byte*>(&call) + i * sizeof word, sizeof word);
  return word;
}

// One call, in one cache line. Written by its owner, number last. A copy that travels may land in pieces, in
// any order: `sum` says whether all of it is there.
struct alignas(64) CallRecord {
  std::atomic<uint64_t> number;  // of the operation, from 1; 0: none yet
  std::atomic<uint64_t> call[kCallWords];
  std::atomic<uint64_t> sum;  // sum_of() the rest
};
// The products do not wait for one another: it is computed in each operation.
inline uint64_t sum_of(uint64_t number, const CallId& call) noexcept {
  constexpr uint64_t kOdd[kCallWords] = {0x165667B19E3779F9ull, 0xD6E8FEB86659FD93ull, 0xFF51AFD7ED558CCDull,
                                         0xC2B2AE3D27D4EB4Full, 0xC4CEB9FE1A85EC53ull, 0x94D049BB133111EBull};
  uint64_t sum = number * 0x9E3779B97F4A7C15ull;
#pragma GCC unroll 6
  for (size_t i = 0; i < kCallWords; i++) sum += word_of(call, i) * kOdd[i];
  return sum;
}

// Keeps a rank out of its peers' memory once one of them gave up: that peer revokes and waits for the step
// under way to end, after which it may free or reuse what the others could touch.
struct alignas(64) Gate {
  std::atomic<uint32_t> inside;   // 1: the owner may be storing to or reading from its peers' memory
  std::atomic<uint32_t> revoked;  // 1: a peer gave up; written by it

  // False when the gate is shut. `fences`: every rank joined them (base/fence.h), so a store is enough here.
  bool enter(bool fences) noexcept {
    if (fences) {
      inside.store(1, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      inside.exchange(1, std::memory_order_seq_cst);
    }
    return revoked.load(std::memory_order_acquire) == 0;
  }
  void leave() noexcept { inside.store(0, std::memory_order_release); }
};

// Why a rank is the one that all others wait for in the end.
enum class Blame : uint32_t { nobody = 0, not_called = 1, not_connected = 2, silent = 3 };

struct Suspicion {
  int32_t rank = -1;
  Blame blame = Blame::nobody;
  uint32_t hops = 0;  // through how many ranks the news came
};

struct alignas(64) Board {
  std::atomic<int32_t> code;      // Code of the failure that broke the communicator there; 0: none
  std::atomic<int32_t> culprit;   // the rank it names, -1: none
  std::atomic<uint64_t> number;   // of the operation it happened in
  std::atomic<uint32_t> leaving;  // 1: destroying, has nothing pending
  std::atomic<uint32_t> beat;     // grows while this rank waits and looks about
  // Whom operation `blamed_in` waits for in the end, as far as this rank knows: the one it waits for itself,
  // or whom that one blames.
  std::atomic<int32_t> blamed;
  std::atomic<uint32_t> blame;  // a Blame
  std::atomic<uint64_t> blamed_in;
  std::atomic<uint32_t> hops;  // of the Suspicion
  CallRecord records[kRecords];
  Gate gate;

  void write(uint64_t call_number, const CallId& call) noexcept {
    CallRecord& r = record_of(call_number);
    r.number.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
#pragma GCC unroll 6
    for (size_t i = 0; i < kCallWords; i++) r.call[i].store(word_of(call, i), std::memory_order_relaxed);
    r.sum.store(sum_of(call_number, call), std::memory_order_relaxed);
    r.number.store(call_number, std::memory_order_release);
  }
  CallRecord& record_of(uint64_t call_number) noexcept { return records[call_number % kRecords]; }
  // False when operation `call_number` is not, or no longer, recorded, or has not landed whole.
  bool read(uint64_t call_number, CallId* call) const noexcept;
  // The number of the latest recorded call, 0: none.
  uint64_t latest() const noexcept;
};

// The line of a board before its records, as it travels.
struct alignas(64) BoardHead {
  int32_t code = 0, culprit = -1;
  uint64_t number = 0;
  uint32_t leaving = 0, beat = 0;
  int32_t blamed = -1;
  uint32_t blame = 0;
  uint64_t blamed_in = 0;
  uint32_t hops = 0;

  // Another thread may be writing the code.
  static BoardHead of(const Board& b) noexcept {
    constexpr auto relaxed = std::memory_order_relaxed;
    BoardHead h;
    h.code = b.code.load(std::memory_order_acquire);
    h.culprit = b.culprit.load(relaxed);
    h.number = b.number.load(relaxed);
    h.leaving = b.leaving.load(relaxed);
    h.beat = b.beat.load(relaxed);
    h.blamed = b.blamed.load(relaxed);
    h.blame = b.blame.load(relaxed);
    h.blamed_in = b.blamed_in.load(relaxed);
    h.hops = b.hops.load(relaxed);
    return h;
  }
  // Differs when anything but the beat does.
  uint64_t state() const noexcept {
    uint64_t h = 0;
    for (uint64_t v : {uint64_t(uint32_t(code)), uint64_t(uint32_t(culprit)), number, uint64_t(leaving),
                       uint64_t(uint32_t(blamed)), uint64_t(blame), blamed_in, uint64_t(hops)}) {
      h = (h ^ v) * 0x9E3779B97F4A7C15ull;
      h ^= h >> 32;
    }
    return h;
  }
};
static_assert(sizeof(BoardHead) == 64 && offsetof(Board, records) == sizeof(BoardHead) &&
              offsetof(BoardHead, number) == offsetof(Board, number) &&
              offsetof(BoardHead, leaving) == offsetof(Board, leaving) &&
              offsetof(BoardHead, blamed) == offsetof(Board, blamed) &&
              offsetof(BoardHead, blamed_in) == offsetof(Board, blamed_in) &&
              offsetof(BoardHead, hops) == offsetof(Board, hops));

}  // namespace plait::runtime
