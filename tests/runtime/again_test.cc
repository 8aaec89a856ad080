// Calls that are like earlier ones go a shorter way: their results are as right as the first ones', and what
// is wrong with one is seen all the same.
#include "again.h"

#include <sched.h>

#include <array>
#include <cstdlib>
#include <random>

namespace plait::test {
namespace {

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

// `body` of a rank's caller and of room for so many elements.
template <class Body>
std::string with_both(const std::string& job, int rank, int size, size_t elements, const Body& body) {
  Comm c(job, rank, size);
  if (c.status != PLAIT_OK) return c.error;
  Both memory(elements);
  if (memory.arena == nullptr) return c.last();
  Caller caller(c.comm, rank, size);
  return body(caller, memory);
}

// Longer ones, with buffers in memory of plait or elsewhere, as each rank likes each time.
std::string call_anywhere(Caller& caller, Both& memory, int rank, int size, unsigned seed, int rounds) {
  constexpr size_t kRoom = kMost * kMostRanks + 64;
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

std::string run_anywhere(const std::string& job, int rank, int size, unsigned seed, int rounds) {
  return with_both(job, rank, size, 2 * (kMost * kMostRanks + 64), [&](Caller& caller, Both& memory) {
    return call_anywhere(caller, memory, rank, size, seed, rounds);
  });
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
  constexpr size_t kCount = 1024, kRoom = 2 * kCount;
  const unsigned seed = fresh_seed();
  for (const Kind kind : {Kind::broadcast, Kind::allreduce}) {
    const std::string job = fresh_job();
    run_ranks(processes(2), [&](int rank, int size) -> std::string {
      return with_both(job, rank, size, 2 * kRoom, [&](Caller& caller, Both& memory) {
        std::mt19937 own(seed + unsigned(rank));
        std::string bad;
        for (int round = 0; round < 400 && bad.empty(); round++) {
          int32_t* const in = memory.of(own() % 4 == 0);
          caller.place(in, memory.of(own() % 4 == 0) + kRoom);
          bad = caller.run({.kind = kind, .count = kCount}, round);
        }
        return bad;
      });
    });
  }
}

// A pair in memory of plait's, in the same buffers mostly: who waits in vain, before the fold or behind it,
// or sees that the peer's lie elsewhere now, goes on in another way.
TEST(Again, IsRightThoughOneOfAPairIsLateOrMoves) {
  constexpr size_t kCount = 2048, kRoom = 2 * kCount;
  const unsigned seed = fresh_seed();
  const std::string job = fresh_job();
  run_ranks(processes(2), [&](int rank, int size) -> std::string {
    return with_both(job, rank, size, 4 * kRoom, [&](Caller& caller, Both& memory) {
      std::mt19937 random(seed), own(seed + unsigned(rank) + 1);
      std::string bad;
      int32_t* at = memory.of(false);
      for (int round = 0; round < 3000 && bad.empty(); round++) {
        if (own() % 16 == 0) usleep(unsigned(own() % 200));
        if (own() % 8 == 0) at = memory.of(false) + own() % 2 * 2 * kRoom;
        caller.place(at, at + kRoom);
        const size_t count = random() % 16 == 0 ? 1024 : kCount;
        const bool in_place = random() % 4 != 0, is_max = random() % 16 == 0;
        bad = caller.run({.count = count, .in_place = in_place, .is_max = is_max}, round);
      }
      return bad;
    });
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
