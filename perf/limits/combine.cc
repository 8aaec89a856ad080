// The limit of more ranks than cores: whoever runs does the work of all. Small vectors are told in lines, and
// the last rank to come sums them; of large ones whoever has a core claims pieces, of anybody's memory.
// Nobody spins: a rank that waits leaves its core some times, then sleeps. Allreduce alone. RANKS is 2, 4
// or 8.
#include "kernels.h"
#include "world.h"

namespace {

constexpr size_t kSmall = 48;                                  // bytes that are told in a line
constexpr size_t kPiece = (size_t{32} << 10) / sizeof(float);  // elements that are claimed at once
constexpr int kYields = 150;

using limits::Store;
using Count = std::atomic<uint32_t>;

// What ranks share. Calls take turns with two of each, so that a rank that is late finds its own; so do, by
// themselves, those of large vectors, of which each makes ready what the next one counts.
struct Desk {
  struct Turn {
    limits::Line told[limits::kMostRanks];
    limits::Line result;
  } turns[2];
  struct Pieces {
    alignas(64) Count claimed;
    alignas(64) Count done;
  } pieces[2];
  alignas(64) Count arrived;   // ranks, in all calls
  alignas(64) Count ready;     // the last call to which all have come
  alignas(64) Count finished;  // the last call that is done; ranks sleep on it
  alignas(64) Count sleepers;
};

long futex(Count& word, int op, uint32_t value) {
  return syscall(SYS_futex, &word, op, value, nullptr, nullptr, 0);
}
bool reached(const Count& count, uint32_t call) {
  return int32_t(count.load(std::memory_order_acquire) - call) >= 0;
}

// New processes may all lie on one core, and the kernel takes its time to spread them.
void nudge(int rank) {
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof all, &all);
  CPU_ZERO(&one);
  CPU_SET(rank % sysconf(_SC_NPROCESSORS_ONLN), &one);
  sched_setaffinity(0, sizeof one, &one);
  sched_setaffinity(0, sizeof all, &all);
}

class Combine final : public limits::Ranks {
 public:
  explicit Combine(limits::World& world) : Ranks(world), desk_(*reinterpret_cast<Desk*>(world.control)) {
    if (size() != 2 && size() != 4 && size() != 8) exit(2);
    nudge(rank());
  }
  float* alloc(size_t bytes) override { return world_.alloc(bytes); }
  bool prepare(const std::string& c, const float*, float*, size_t) override {
    return limits::is_allreduce(c) || c == "barrier";
  }
  void allreduce(const float* in, float* out, size_t n) override {
    ++call_;
    if (n * sizeof(float) <= kSmall) {
      small(in, out, n);
    } else {
      large(in, out, n);
    }
  }
  void barrier() override {
    float nothing = 0;
    allreduce(&nothing, &nothing, 0);
  }

 private:
  Desk::Turn& turn() { return desk_.turns[call_ % 2]; }
  Desk::Pieces& its() { return desk_.pieces[large_ % 2]; }
  bool is_last() { return desk_.arrived.fetch_add(1) + 1 == uint32_t(size()) * call_; }

  void small(const float* in, float* out, size_t n) {
    memcpy(turn().told[rank()].data, in, n * sizeof(float));
    if (is_last()) {
      float sum[kSmall / sizeof(float)] = {}, one[kSmall / sizeof(float)];
      for (int q = 0; q < size(); ++q) {
        memcpy(one, turn().told[q].data, n * sizeof(float));
        for (size_t i = 0; i < n; ++i) sum[i] += one[i];
      }
      memcpy(turn().result.data, sum, n * sizeof(float));
      finish();
    } else {
      wait_until_finished([] { return false; });
    }
    memcpy(out, turn().result.data, n * sizeof(float));
  }

  void large(const float* in, float* out, size_t n) {
    const uint64_t mine[] = {world_.offset_of(in), world_.offset_of(out)};
    memcpy(turn().told[rank()].data, mine, sizeof mine);
    found_ = false;
    ++large_;
    const uint32_t pieces = uint32_t((n + kPiece - 1) / kPiece);
    if (is_last()) {
      Desk::Pieces& next = desk_.pieces[(large_ + 1) % 2];
      next.claimed = next.done = 0;
      desk_.ready.store(call_, std::memory_order_seq_cst);
      if (pieces > 1 && desk_.sleepers.load() > 0) futex(desk_.finished, FUTEX_WAKE, 1);
    }
    wait_until_finished([&] { return do_piece(in == out, n, pieces); });
  }
  // False: there is none to do.
  bool do_piece(bool in_place, size_t n, uint32_t pieces) {
    if (!reached(desk_.ready, call_) || its().claimed.load(std::memory_order_relaxed) >= pieces) return false;
    const uint32_t claim = its().claimed.fetch_add(1);
    if (claim >= pieces) return false;
    // Every other time from the end on, which is in the caches.
    const uint32_t piece = large_ % 2 == 0 ? claim : pieces - 1 - claim;
    if (!found_) find_buffers();
    const size_t from = piece * kPiece, to = std::min(n, from + kPiece);
    if (in_place) {
      sum_all<Store::cached>(from, to);
    } else {
      sum_all<Store::ahead>(from, to);
    }
    if (its().done.fetch_add(1) + 1 == pieces) finish();
    return true;
  }
  void find_buffers() {
    found_ = true;
    for (int q = 0; q < size(); ++q) {
      uint64_t its[2];
      memcpy(its, turn().told[q].data, sizeof its);
      ins_[q] = world_.at(q, its[0]);
      outs_[q] = world_.at(q, its[1]);
    }
  }
  template <Store How>
  void sum_all(size_t from, size_t to) {
    if (size() == 2) limits::sum<2, 2, How>(ins_, outs_, from, to);
    if (size() == 4) limits::sum<4, 4, How>(ins_, outs_, from, to);
    if (size() == 8) limits::sum<8, 8, How>(ins_, outs_, from, to);
  }

  void finish() {
    desk_.finished.store(call_, std::memory_order_seq_cst);
    if (desk_.sleepers.load() > 0) futex(desk_.finished, FUTEX_WAKE, INT32_MAX);
  }
  template <class Work>
  void wait_until_finished(Work work) {
    for (int yields = 0; !reached(desk_.finished, call_);) {
      if (work()) {
        yields = 0;
      } else if (++yields <= kYields) {
        sched_yield();
      } else {
        sleep();
      }
    }
  }
  void sleep() {
    desk_.sleepers.fetch_add(1);
    const uint32_t seen = desk_.finished.load();
    if (int32_t(seen - call_) < 0) futex(desk_.finished, FUTEX_WAIT, seen);
    desk_.sleepers.fetch_sub(1);
  }

  Desk& desk_;
  uint32_t call_ = 0;
  uint32_t large_ = 0;  // of these, those that are done in pieces
  bool found_ = false;  // where the buffers of this call lie
  const float* ins_[limits::kMostRanks] = {};
  float* outs_[limits::kMostRanks] = {};
};

}  // namespace

int main(int argc, char** argv) { return limits::launch<Combine>(argc, argv); }
