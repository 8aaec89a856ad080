// The flight recorder of a communicator: its last operations, what it waits for, who is with it, why it
// broke. The driving thread writes; any thread may read at any moment, a signal handler too, which may have
// interrupted the writer. So whatever changes is atomic, and nothing here waits or allocates once it is set
// up.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/status.h"
#include "runtime/board.h"
#include "runtime/rail_record.h"

namespace plait::runtime {

class Recorder {
 public:
  static constexpr uint32_t kEntries = 64;   // operations that are remembered
  static constexpr size_t kTextBytes = 480;  // of a text that is kept; what is longer is cut
  static constexpr int64_t kLongWaitNs = 50'000'000;

  // Whose record it is; fixed before anything else is called.
  struct Identity {
    int32_t rank = 0, size = 1;
    uint32_t communicator = 0;  // counts those of the job in this process; alike on all ranks
    std::string job, host;
    std::string path;  // where it is written by itself; empty: nowhere
    // Of one that was made from another: its name (Family::name) below that of its parent, "7.0" or
    // "7.0-3.1", and this rank's number in the one from which all of them come. `communicator` is that one's.
    std::string split = {};
    int32_t job_rank = -1;
  };
  // What the running operation waits for, as it was when the driving thread last came by.
  struct Wait {
    uint64_t operation = 0;
    int64_t since_ns = 0, seen_ns = 0;  // found waiting; seen to wait still (base/clock.h)
    char peers[kTextBytes] = {};        // NUL-terminated; empty before it has waited long
  };
  struct Failure {
    Code code = Code::ok;
    int32_t culprit = -1;
    uint64_t operation = 0;
    char text[kTextBytes] = {};
  };

  void identify(Identity who);
  const Identity& who() const noexcept { return who_; }
  // Where to look for what rank `rank` has called; null takes it back. Any thread.
  void watch(int32_t rank, const Board* board) noexcept;
  // The communicator is there, with these ways to do a collective, which stay as they are and outlive this.
  void created(const collectives::Methods& methods) noexcept {
    methods_.store(&methods, std::memory_order_release);
  }

  // Several rails join it to other hosts. Once at most, before created().
  RailRecord& have_rails(RailCounts counts) {
    own_rails_ = std::make_unique<RailRecord>(std::move(counts));
    rails_.store(own_rails_.get(), std::memory_order_release);
    return *own_rails_;
  }

  // The hot path: stores to one line for each operation, and one store when it is done.
  void started(uint64_t number, const CallId& call) noexcept {
    Entry& e = entries_[number % kEntries];
    e.number.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
#pragma GCC unroll 6
    for (size_t i = 0; i < kCallWords; i++) e.call[i].store(word_of(call, i), std::memory_order_relaxed);
    e.number.store(number, std::memory_order_release);
  }
  // Operations end in the order of their numbers.
  void finished(uint64_t number) noexcept { done_.store(number, std::memory_order_relaxed); }

  // The driving thread waits in `operation`, at `now_ns`. True when it has for so long that it should say for
  // whom by waiting_for().
  bool waiting(uint64_t operation, int64_t now_ns) noexcept;
  void waiting_for(std::string_view peers) noexcept;
  // The first failure; later ones are not kept.
  void failed(const Status& status, int32_t culprit, uint64_t operation) noexcept;

  // Reading: any thread, a signal handler too.
  bool is_created() const noexcept { return methods_.load(std::memory_order_acquire) != nullptr; }
  // The name of what runs `call`; empty where it has none.
  std::string_view algorithm(const CallId& call) const noexcept {
    const auto* methods = methods_.load(std::memory_order_acquire);
    return methods != nullptr ? algorithm_name(call, *methods) : "";
  }
  // False when the operation is not, or no longer, recorded.
  bool read(uint64_t number, CallId* call) const noexcept;
  uint64_t latest() const noexcept;  // the number of the latest that was started, 0: none
  uint64_t done() const noexcept { return done_.load(std::memory_order_relaxed); }
  // False when operation `number` has not been found waiting.
  bool read_wait(uint64_t number, Wait* wait) const noexcept;
  // Null where there are not several rails.
  const RailRecord* rails() const noexcept { return rails_.load(std::memory_order_acquire); }
  // Null when nothing failed.
  const Failure* failure() const noexcept {
    return has_failed_.load(std::memory_order_acquire) ? &failure_ : nullptr;
  }
  // The latest operation that `rank` is known to have called; false when nothing is known of it.
  bool arrived(int32_t rank, uint64_t* number) const noexcept;

  // Whether somebody asked for what is at who().path, which then outlives the communicator.
  void keep() const noexcept { kept_.store(true, std::memory_order_relaxed); }
  bool is_kept() const noexcept { return kept_.load(std::memory_order_relaxed); }

 private:
  struct alignas(64) Entry {
    std::atomic<uint64_t> number{0};  // written last; 0: none, or being written
    std::atomic<uint64_t> call[kCallWords]{};
  };
  using Words = std::array<std::atomic<uint64_t>, (kTextBytes + 7) / 8>;
  // Two, so that a reader that interrupted the writer finds the one before whole.
  struct Text {
    std::atomic<uint64_t> operation{0};
    Words words{};
  };

  Entry entries_[kEntries];
  std::atomic<uint64_t> done_{0};
  std::atomic<uint64_t> waits_in_{0};
  std::atomic<int64_t> since_ns_{0}, seen_ns_{0};
  int64_t told_ns_ = 0;  // the driving thread's own
  std::atomic<uint64_t> texts_{0};
  Text text_[2];
  std::atomic<const collectives::Methods*> methods_{nullptr};
  std::atomic<bool> has_failed_{false};
  mutable std::atomic<bool> kept_{false};
  Failure failure_;  // written once, before has_failed_
  Identity who_;
  std::unique_ptr<RailRecord> own_rails_;
  std::atomic<const RailRecord*> rails_{nullptr};
  std::unique_ptr<std::atomic<const Board*>[]> boards_;  // by rank
};

}  // namespace plait::runtime
