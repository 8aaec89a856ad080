// Calls that are like earlier ones go a shorter way: their results are as right as the first ones', and what
// is wrong with one is seen all the same.
#include <sched.h>

#include <array>
#include <cstdlib>
#include <random>
#include <vector>

#include "support/ranks.h"

namespace plait::test {
namespace {

constexpr size_t kMostShort = 40, kMost = 20'000;  // elements of a block
constexpr int kMostRanks = 5;

enum class Kind {
  allreduce,
  reduce_scatter,
  allgather,
  broadcast,
  alltoall,
  reduce,
  gather,
  scatter,
  barrier
};
constexpr int kKinds = 9;

struct Shape {
  Kind kind = Kind::allreduce;
  size_t count = 2;  // of a block
  int root = 0;
  bool in_place = false, is_max = false;
};

// What rank `rank` gives as element `i` of its input in round `round`.
int32_t value(int rank, size_t i, int round) {
  return int32_t(unsigned(rank * 1000 + int(i) * 7 + round * 31) % 10'007);
}

class Caller {
 public:
  Caller(plait_comm* comm, int rank, int size) : comm_(comm), rank_(rank), size_(size) {}

  // Where the buffers of the next calls lie: room for kMost elements a block.
  void place(int32_t* in, int32_t* out) { in_ = in, out_ = out; }

  // The call of a round, and whether its result is right.
  std::string run(const Shape& s, int round) {
    const size_t blocks = size_t(size_) * s.count;
    std::fill_n(out_, blocks, -1);
    int32_t* in = place_input(s);
    for (size_t i = 0; i < blocks; i++) in[i] = value(rank_, i, round);
    if (s.kind == Kind::broadcast && s.in_place && rank_ != s.root) std::fill_n(out_, blocks, -1);
    if (call(s, in, out_) != PLAIT_OK) return plait_last_error(comm_);
    return check(s, round);
  }

  plait_status call(const Shape& s, const void* in, void* out) {
    const plait_op op = s.is_max ? PLAIT_MAX : PLAIT_SUM;
    switch (s.kind) {
      case Kind::allreduce:
        return plait_allreduce(comm_, in, out, s.count, PLAIT_INT32, op, nullptr, nullptr);
      case Kind::reduce_scatter:
        return plait_reduce_scatter(comm_, in, out, s.count, PLAIT_INT32, op, nullptr, nullptr);
      case Kind::allgather:
        return plait_allgather(comm_, in, out, s.count, PLAIT_INT32, nullptr, nullptr);
      case Kind::broadcast:
        return plait_broadcast(comm_, in, out, s.count, PLAIT_INT32, s.root, nullptr, nullptr);
      case Kind::alltoall:
        return plait_alltoall(comm_, in, out, s.count, PLAIT_INT32, nullptr, nullptr);
      case Kind::reduce:
        return plait_reduce(comm_, in, out, s.count, PLAIT_INT32, op, s.root, nullptr, nullptr);
      case Kind::gather:
        return plait_gather(comm_, in, out, s.count, PLAIT_INT32, s.root, nullptr, nullptr);
      case Kind::scatter:
        return plait_scatter(comm_, in, out, s.count, PLAIT_INT32, s.root, nullptr, nullptr);
      case Kind::barrier:
        return plait_barrier(comm_, nullptr, nullptr);
    }
    return PLAIT_ERR_INTERNAL;
  }

 private:
  // In place: of those calls where it means the same as out of place.
  static bool may_be_in_place(Kind kind) {
    return kind == Kind::allreduce || kind == Kind::broadcast || kind == Kind::reduce;
  }
  int32_t* place_input(const Shape& s) { return s.in_place && may_be_in_place(s.kind) ? out_ : in_; }

  int32_t reduced(const Shape& s, size_t i, int round) const {
    int32_t all = value(0, i, round);
    for (int r = 1; r < size_; r++)
      all = s.is_max ? std::max(all, value(r, i, round)) : all + value(r, i, round);
    return all;
  }

  // The right element `i` of the output, where there is one.
  int32_t wanted(const Shape& s, size_t i, int round) const {
    const size_t block = s.count == 0 ? 0 : i / s.count, within = s.count == 0 ? 0 : i % s.count;
    const size_t mine = size_t(rank_) * s.count;
    switch (s.kind) {
      case Kind::allreduce:
      case Kind::reduce:
        return reduced(s, i, round);
      case Kind::reduce_scatter:
        return reduced(s, mine + i, round);
      case Kind::allgather:
      case Kind::gather:
        return value(int(block), within, round);
      case Kind::broadcast:
        return value(s.root, i, round);
      case Kind::alltoall:
        return value(int(block), mine + within, round);
      case Kind::scatter:
        return value(s.root, mine + i, round);
      case Kind::barrier:
        return -1;
    }
    return -1;
  }

  size_t outputs(const Shape& s) const {
    const bool rooted = s.kind == Kind::reduce || s.kind == Kind::gather;
    if (s.kind == Kind::barrier || (rooted && rank_ != s.root)) return 0;
    const bool many = s.kind == Kind::allgather || s.kind == Kind::alltoall || s.kind == Kind::gather;
    return many ? size_t(size_) * s.count : s.count;
  }

  std::string check(const Shape& s, int round) const {
    for (size_t i = 0; i < outputs(s); i++) {
      if (out_[i] != wanted(s, i, round)) {
        return "kind " + std::to_string(int(s.kind)) + ", count " + std::to_string(s.count) + ", root " +
               std::to_string(s.root) + ", round " + std::to_string(round) + ": element " +
               std::to_string(i) + " is " + std::to_string(out_[i]) + ", not " +
               std::to_string(wanted(s, i, round));
      }
    }
    return {};
  }

  plait_comm* comm_;
  int rank_, size_;
  std::vector<int32_t> plain_ = std::vector<int32_t>(2 * kMost * kMostRanks);
  int32_t *in_ = plain_.data(), *out_ = in_ + kMost * kMostRanks;
};

unsigned fresh_seed() {
  const char* given = std::getenv("PLAIT_TEST_SEED");
  const unsigned seed = given != nullptr ? unsigned(std::atoi(given)) : std::random_device()();
  std::printf("seed %u (PLAIT_TEST_SEED)\n", seed);
  return seed;
}

constexpr std::array<size_t, 7> kShort = {0, 1, 2, 3, 14, 15, kMostShort};
constexpr std::array<size_t, 7> kLonger = {14, 65, 257, 1024, 1025, 4096, kMost};

Shape random_shape(std::mt19937& random, int size, const std::array<size_t, 7>& counts) {
  return {.kind = Kind(random() % kKinds),
          .count = counts[random() % counts.size()],
          .root = int(random() % unsigned(size)),
          .in_place = random() % 2 == 0,
          .is_max = random() % 2 == 0};
}

// Each shape once or many times in a row, some come again after others.
TEST(Again, IsRightInAnyOrder) {
  const unsigned seed = fresh_seed();
  for (int ranks : {2, 3}) {
    const std::string job = fresh_job();
    run_ranks(processes(ranks), [&](int rank, int size) -> std::string {
      Comm c(job, rank, size);
      if (c.status != PLAIT_OK) return c.error;
      Caller caller(c.comm, rank, size);
      std::mt19937 random(seed);
      std::vector<Shape> shapes;
      for (int k = 0; k < 12; k++) shapes.push_back(random_shape(random, size, kShort));
      std::string bad;
      for (int round = 0; round < 15000 && bad.empty();) {
        if (random() % 16 == 0) shapes[random() % shapes.size()] = random_shape(random, size, kShort);
        const Shape shape = shapes[random() % shapes.size()];
        for (auto times = random() % 4 == 0 ? random() % 20 : 1ul; times > 0 && bad.empty(); times--)
          bad = caller.run(shape, round++);
      }
      return bad;
    });
  }
}

// Who has sent what a call takes, and waits in vain for a while, goes on in another way.
TEST(Again, IsRightThoughRanksAreLate) {
  const unsigned seed = fresh_seed();
  const std::string job = fresh_job();
  run_ranks(processes(2), [&](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    if (c.status != PLAIT_OK) return c.error;
    Caller caller(c.comm, rank, size);
    std::mt19937 random(seed), own(seed + unsigned(rank) + 1);
    std::string bad;
    for (int round = 0; round < 6000 && bad.empty();) {
      const Shape shape = random_shape(random, size, kShort);
      for (auto times = random() % 50; times > 0 && bad.empty(); times--) {
        if (own() % 8 == 0) usleep(unsigned(own() % 60));
        bad = caller.run(shape, round++);
      }
    }
    return bad;
  });
}

TEST(Again, AnAverageIsRight) {
  const std::string job = fresh_job();
  run_ranks(processes(2), [&](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    if (c.status != PLAIT_OK) return c.error;
    std::array<float, kMostShort> in{}, out{};
    for (int round = 0; round < 100; round++) {
      const size_t count = kShort[size_t(round / 10) % kShort.size()];
      for (size_t i = 0; i < count; i++) in[i] = float(2 * round + int(i) + 4 * rank);
      if (plait_allreduce(c.comm, in.data(), out.data(), count, PLAIT_FLOAT32, PLAIT_AVG, nullptr, nullptr) !=
          PLAIT_OK)
        return c.last();
      for (size_t i = 0; i < count; i++)
        if (out[i] != float(2 * round + int(i) + 2)) return "round " + std::to_string(round);
    }
    return "";
  });
}

// Room in memory of plait, and in plain memory.
struct Both {
  explicit Both(size_t elements) : plain(elements) {
    if (plait_mem_alloc(elements * sizeof(int32_t), &arena) != PLAIT_OK) arena = nullptr;
  }
  ~Both() { (void)plait_mem_free(arena); }
  int32_t* of(bool is_plain) { return is_plain ? plain.data() : static_cast<int32_t*>(arena); }
  void* arena = nullptr;
  std::vector<int32_t> plain;
};

// Longer ones, with buffers in memory of plait or elsewhere, as each rank likes each time.
std::string run_anywhere(const std::string& job, int rank, int size, unsigned seed, int rounds) {
  constexpr size_t kRoom = kMost * kMostRanks + 64;
  Comm c(job, rank, size);
  if (c.status != PLAIT_OK) return c.error;
  Both memory(2 * kRoom);
  if (memory.arena == nullptr) return c.last();
  Caller caller(c.comm, rank, size);
  std::mt19937 random(seed), own(seed + unsigned(rank) + 1);
  std::vector<Shape> shapes;
  for (int k = 0; k < 6; k++) shapes.push_back(random_shape(random, size, kLonger));
  std::string bad;
  for (int round = 0; round < rounds && bad.empty();) {
    if (random() % 16 == 0) shapes[random() % shapes.size()] = random_shape(random, size, kLonger);
    const Shape shape = shapes[random() % shapes.size()];
    for (auto times = random() % 4 == 0 ? random() % 20 : 1ul; times > 0 && bad.empty(); times--) {
      int32_t* const in = memory.of(own() % 8 == 0) + own() % 64;
      caller.place(in, memory.of(own() % 8 == 0) + kRoom + own() % 64);
      bad = caller.run(shape, round++);
    }
  }
  return bad;
}

TEST(Again, IsRightWhereverBuffersLie) {
  const unsigned seed = fresh_seed();
  for (int ranks : {2, 3}) {
    const std::string job = fresh_job();
    run_ranks(processes(ranks),
              [&](int rank, int size) -> std::string { return run_anywhere(job, rank, size, seed, 1500); });
  }
}

// What a call is prepared as takes the place of what another one was: so many kinds that all places are taken
// again, short ones by longer ones.
TEST(Again, IsRightInThePlaceOfAnotherCall) {
  for (int ranks : {2, 3}) {
    const std::string job = fresh_job();
    run_ranks(processes(ranks), [&](int rank, int size) -> std::string {
      Comm c(job, rank, size);
      if (c.status != PLAIT_OK) return c.error;
      Both memory(kMost * kMostRanks);
      if (memory.arena == nullptr) return c.last();
      Caller caller(c.comm, rank, size);
      int32_t* const in = memory.of(false);
      caller.place(in, in);
      std::string bad;
      for (int round = 0; round < 6000 && bad.empty();) {
        const auto k = size_t(round / 6);
        for (size_t count : {1 + k % 28, 300 + k % 97 * 64}) {
          const Shape shape{.kind = Kind::allreduce, .count = count, .in_place = true};
          for (int times = 0; times < 3 && bad.empty(); times++) bad = caller.run(shape, round++);
        }
      }
      return bad;
    });
  }
}

// There plain memory goes by the arena, as long as it is not large, for some calls and not for others.
TEST(Again, IsRightWhereRanksShareACore) {
  const unsigned seed = fresh_seed();
  for (int ranks : {2, 5}) {
    const std::string job = fresh_job();
    run_ranks(processes(ranks), [&](int rank, int size) -> std::string {
      cpu_set_t cores;
      sched_getaffinity(0, sizeof cores, &cores);
      int core = 0;
      while (!CPU_ISSET(core, &cores)) core++;
      CPU_ZERO(&cores);
      CPU_SET(core, &cores);
      if (sched_setaffinity(0, sizeof cores, &cores) != 0) return "cannot stay on a core";
      return run_anywhere(job, rank, size, seed, 600);
    });
  }
}

// How a call goes depends on what all ranks know, not on where one has its buffers: of calls that may be done
// in memory that all share, each rank has them now here, now there, for longer than that is not tried again.
TEST(Again, IsRightThoughOneRankMovesItsBuffers) {
  const unsigned seed = fresh_seed();
  for (const Kind kind : {Kind::broadcast, Kind::allreduce}) {
    const std::string job = fresh_job();
    run_ranks(processes(2), [&](int rank, int size) -> std::string {
      constexpr size_t kCount = 1024, kRoom = 2 * kCount;
      Comm c(job, rank, size);
      if (c.status != PLAIT_OK) return c.error;
      Both memory(2 * kRoom);
      if (memory.arena == nullptr) return c.last();
      Caller caller(c.comm, rank, size);
      std::mt19937 own(seed + unsigned(rank));
      std::string bad;
      for (int round = 0; round < 400 && bad.empty(); round++) {
        int32_t* const in = memory.of(own() % 4 == 0);
        caller.place(in, memory.of(own() % 4 == 0) + kRoom);
        bad = caller.run({.kind = kind, .count = kCount}, round);
      }
      return bad;
    });
  }
}

// A pair in memory of plait's, in the same buffers mostly: who waits in vain, before the fold or behind it,
// or sees that the peer's lie elsewhere now, goes on in another way.
TEST(Again, IsRightThoughOneOfAPairIsLateOrMoves) {
  const unsigned seed = fresh_seed();
  const std::string job = fresh_job();
  run_ranks(processes(2), [&](int rank, int size) -> std::string {
    constexpr size_t kCount = 2048, kRoom = 2 * kCount;
    Comm c(job, rank, size);
    if (c.status != PLAIT_OK) return c.error;
    Both memory(4 * kRoom);
    if (memory.arena == nullptr) return c.last();
    Caller caller(c.comm, rank, size);
    std::mt19937 random(seed), own(seed + unsigned(rank) + 1);
    std::string bad;
    int32_t* at = memory.of(false);
    for (int round = 0; round < 3000 && bad.empty(); round++) {
      if (own() % 16 == 0) usleep(unsigned(own() % 200));
      if (own() % 8 == 0) at = memory.of(false) + own() % 2 * 2 * kRoom;
      caller.place(at, at + kRoom);
      const bool other = random() % 16 == 0, in_place = random() % 4 != 0;
      bad = caller.run({.count = other ? 1024 : kCount, .in_place = in_place, .is_max = random() % 16 == 0},
                       round);
    }
    return bad;
  });
}

// After good calls of a kind, one that is wrong in a single point.
TEST(Again, AWrongCallIsRefused) {
  const std::string job = fresh_job();
  run_ranks(processes(2), [&](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    if (c.status != PLAIT_OK) return c.error;
    Caller caller(c.comm, rank, size);
    int round = 0;
    std::array<int32_t, 4> x{}, y{};
    for (const bool in_place : {false, true}) {
      const Shape good{.in_place = in_place};
      for (int k = 0; k < 3; k++)
        if (std::string bad = caller.run(good, round++); !bad.empty()) return bad;
      const auto refused = [&](const void* in, void* out, int dtype, int op) {
        return plait_allreduce(c.comm, in, out, 2, plait_dtype(dtype), plait_op(op), nullptr, nullptr) ==
               PLAIT_ERR_INVALID;
      };
      void* const out = in_place ? x.data() : y.data();
      if (!refused(nullptr, out, PLAIT_INT32, PLAIT_SUM)) return "no input was taken";
      if (!refused(x.data(), nullptr, PLAIT_INT32, PLAIT_SUM)) return "no output was taken";
      if (!refused(nullptr, nullptr, PLAIT_INT32, PLAIT_SUM)) return "no buffer was taken";
      if (!refused(x.data(), out, 99, PLAIT_SUM)) return "a type that is none was taken";
      if (!refused(x.data(), out, PLAIT_INT32, 99)) return "an operator that is none was taken";
      if (!refused(x.data(), x.data() + 1, PLAIT_INT32, PLAIT_SUM)) return "buffers that overlap were taken";
      if (std::string bad = caller.run(good, round++); !bad.empty()) return "after a refusal: " + bad;
    }
    const Shape broadcast{.kind = Kind::broadcast};
    for (int k = 0; k < 3; k++)
      if (std::string bad = caller.run(broadcast, round++); !bad.empty()) return bad;
    for (int root : {-1, size})
      if (plait_broadcast(c.comm, x.data(), y.data(), 2, PLAIT_INT32, root, nullptr, nullptr) !=
          PLAIT_ERR_INVALID)
        return "a root that is none was taken";
    return caller.run(broadcast, round);
  });
}

// What ranks call alike is compared in each call, the short ones too.
TEST(Again, CallsThatDifferAreSeen) {
  const std::string job = fresh_job();
  run_ranks(processes(2), [&](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    if (c.status != PLAIT_OK) return c.error;
    Caller caller(c.comm, rank, size);
    for (int round = 0; round < 40; round++)
      if (std::string bad = caller.run({.is_max = round % 2 == 0}, round); !bad.empty()) return bad;
    std::array<int32_t, 4> x{}, y{};
    const plait_status status = caller.call({.is_max = rank == 0}, x.data(), y.data());
    const bool named = contains(c.last(), "sum") && contains(c.last(), "max");
    return status == PLAIT_ERR_MISMATCH && named ? "" : "not seen: " + c.last();
  });
}

}  // namespace
}  // namespace plait::test
