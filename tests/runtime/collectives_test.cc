// Every collective, even and uneven, in and out of place, by every algorithm: every element compared, and
// what lies between the blocks.
#include <memory>

#include "runtime/collective.h"
#include "runtime/value.h"
#include "support/ranks.h"

namespace plait::test {
namespace {

enum class Memory : uint8_t { shared, plain, registered, mixed };

// Two buffers of the given kind.
class Buffers {
 public:
  Buffers(Memory memory, int rank, size_t bytes)
      : room{nullptr, nullptr, bytes},
        shared_(memory == Memory::shared || (memory == Memory::mixed && rank % 2 == 0)) {
    for (void*& p : data_) {
      if (shared_) {
        plait_mem_alloc(bytes, &p);
      } else {
        p = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
      }
    }
    room.first = static_cast<char*>(data_[0]);
    room.second = static_cast<char*>(data_[1]);
    plait_memory m{};
    m.struct_size = sizeof m;
    m.bytes = bytes;
    for (int i = 0; memory == Memory::registered && i < 2; i++) {
      m.base = data_[i];
      plait_register(&m, &regions_[i]);
    }
  }
  ~Buffers() {
    for (auto* r : regions_) {
      if (r != nullptr) plait_deregister(r);
    }
    for (void* p : data_) shared_ ? (void)plait_mem_free(p) : std::free(p);
  }
  // As much of it as the case needs.
  Room for_case(const Case& c, int size) const {
    return {room.first, room.second, std::min(room.bytes, room_for(c, size))};
  }
  Room room;

 private:
  bool shared_;
  void* data_[2] = {};
  plait_region* regions_[2] = {};
};

// Sanitizers look for other things than large counts do, ten times slower.
#ifdef PLAIT_SANITIZED
constexpr size_t kLarge = 9001;
#else
constexpr size_t kLarge = 70001;
#endif

// A rank of a test, with buffers that are large enough for `kLarge` elements in all.
struct Rank {
  Comm& c;
  Buffers buffers;
  int rank, size;

  std::string operator()(const Case& k, int times = 1) {
    return run_case(k, c.comm, buffers.for_case(k, size), rank, size, times);
  }
};

void on_ranks(const std::vector<int>& shape, Memory memory, const std::function<std::string(Rank&)>& main,
              size_t elements = kLarge) {
  const std::string job = fresh_job();
  run_ranks(shape, [&](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    if (c.status != PLAIT_OK) return c.error;
    Rank r{c, Buffers(memory, rank, (elements + 2000 * size_t(size)) * 8), rank, size};
    return main(r);
  });
}

unsigned fresh_seed() {
  const char* given = std::getenv("PLAIT_TEST_SEED");
  const unsigned seed = given != nullptr ? unsigned(std::atoi(given)) : std::random_device()();
  std::printf("seed %u (PLAIT_TEST_SEED)\n", seed);
  return seed;
}

// A count of an even call that makes a vector of about `elements`.
size_t share(Kind kind, size_t elements, int size) {
  return has_blocks(kind) ? (elements + size_t(size) - 1) / size_t(size) : elements;
}

#define RETURN_WORDS(call) \
  if (std::string words = call; !words.empty()) return words

class Collectives : public testing::TestWithParam<std::tuple<int, Memory>> {};

TEST_P(Collectives, AreRight) {
  const auto [n, memory] = GetParam();
  on_ranks(processes(n), memory, [](Rank& r) -> std::string {
    for (Kind kind : kKinds) {
      for (size_t count : {size_t(0), size_t(1), size_t(7), size_t(1000), share(kind, kLarge, r.size)}) {
        for (bool in_place : {false, true}) {
          for (int root : {0, r.size - 1}) {
            if (root > 0 && (!rooted(kind) || root == 0)) continue;
            for (auto [t, op] : {std::pair(PLAIT_FLOAT32, plait_op(PLAIT_SUM)),
                                 {PLAIT_BFLOAT16, PLAIT_AVG},
                                 {PLAIT_INT8, PLAIT_MAX}}) {
              if (count > 1000 && t != PLAIT_FLOAT32) continue;
              RETURN_WORDS(r(
                  {.kind = kind, .count = count, .dtype = t, .op = op, .in_place = in_place, .root = root}));
            }
          }
        }
      }
    }
    return plait_barrier(r.c.comm, nullptr, nullptr) == PLAIT_OK ? "" : r.c.last();
  });
}

// Algorithms that cannot do with counts that ranks do not know say so, on all ranks alike.
std::string run_unless_unsupported(Rank& r, const Case& c, int* ran) {
  const Room room = r.buffers.for_case(c, r.size);
  if (call(c, r.c.comm, room, r.rank, r.size) == PLAIT_ERR_UNSUPPORTED) return {};
  ++*ran;
  return r(c);
}

TEST_P(Collectives, AreRightByEveryAlgorithm) {
  const auto [n, memory] = GetParam();
  on_ranks(processes(n), memory, [](Rank& r) -> std::string {
    std::mt19937 random(unsigned(r.size) * 77);  // alike on all ranks
    for (Kind kind : kKinds) {
      const auto names = algorithms_of(r.c.comm, kind, r.buffers.room, r.rank, r.size);
      if (names.empty()) return "no algorithms are listed: " + r.c.last();
      int even = 0, uneven = 0;
      for (const std::string& algorithm : names) {
        for (size_t elements : {size_t(5), size_t(3000), size_t(9000)}) {
          for (bool in_place : {false, true}) {
            Case c{.kind = kind,
                   .count = share(kind, elements, r.size),
                   .in_place = in_place,
                   .root = r.size / 2,
                   .algorithm = algorithm.c_str()};
            RETURN_WORDS(run_unless_unsupported(r, c, &even));
            if (!has_blocks(kind)) continue;
            c.counts = random_counts(kind, r.size, elements / 2, random);
            c.count = 0;
            if (kind == Kind::alltoall && in_place) {
              // What a rank sends to another is as long as what it gets from it.
              for (size_t a = 0; a < size_t(r.size); a++)
                for (size_t b = 0; b < a; b++)
                  c.counts[a * size_t(r.size) + b] = c.counts[b * size_t(r.size) + a];
            }
            RETURN_WORDS(run_unless_unsupported(r, c, &uneven));
          }
        }
      }
      if (even == 0 || (has_blocks(kind) && uneven == 0)) return "nothing ran: " + r.c.last();
    }
    return {};
  });
}

std::string random_calls(Rank& r, unsigned seed, int rounds) {
  std::mt19937 random(seed);
  for (int k = 0; k < rounds; k++) {
    for (Kind kind : kKinds) {
      if (!has_blocks(kind)) continue;
      Case c{.kind = kind};
      c.counts = random_counts(kind, r.size, random() % 3 == 0 ? kLarge / size_t(r.size) / 2 : 300, random);
      c.gaps = random() % 3 == 0 ? 0 : unsigned(random() % 1000 + 1);
      c.in_place = random() % 2 == 0;
      c.root = int(random() % unsigned(r.size));
      c.dtype = random() % 2 == 0 ? PLAIT_INT32 : PLAIT_FLOAT16;
      c.how = How(random() % 3);
      for (size_t a = 0; kind == Kind::alltoall && c.in_place && a < size_t(r.size); a++)
        for (size_t b = 0; b < a; b++) c.counts[a * size_t(r.size) + b] = c.counts[b * size_t(r.size) + a];
      if (std::string words = r(c, 2); !words.empty()) return "seed " + std::to_string(seed) + ": " + words;
    }
  }
  return {};
}

// Blocks of any size with gaps between them, in any order; requests and plans outlive the arrays.
TEST_P(Collectives, AreRightWithAnyCounts) {
  const auto [n, memory] = GetParam();
  const unsigned seed = fresh_seed();
  on_ranks(processes(n), memory, [&](Rank& r) { return random_calls(r, seed, 12); });
}

TEST(CollectiveShapes, ThreadsAndProcessesMixed) {
  for (const std::vector<int>& shape : {std::vector<int>{3}, {2, 1}, {4, 4}}) {
    const unsigned seed = fresh_seed();
    on_ranks(shape, Memory::mixed, [&](Rank& r) -> std::string {
      for (Kind kind : kKinds) {
        for (size_t elements : {size_t(10), size_t(3000), kLarge}) {
          for (bool in_place : {false, true})
            RETURN_WORDS(
                r({.kind = kind, .count = share(kind, elements, r.size), .in_place = in_place, .root = 1}));
        }
      }
      return random_calls(r, seed, 4);
    });
  }
}

// What one rank has planned, another may call.
TEST(CollectivePlans, MeetCallsAndRunAgain) {
  on_ranks(processes(3), Memory::shared, [](Rank& r) -> std::string {
    for (Kind kind : kKinds) {
      for (bool in_place : {false, true}) {
        Case c{
            .kind = kind, .count = 40, .in_place = in_place, .how = r.rank == 1 ? How::plan : How::blocking};
        RETURN_WORDS(r(c, 5));
        if (!has_blocks(kind)) continue;
        c.counts = {3, 0, 400};
        if (kind == Kind::alltoall) c.counts = {5, 0, 70, 0, 6, 800, 70, 800, 0};
        RETURN_WORDS(r(c, 5));
      }
    }
    return {};
  });
}

#ifndef PLAIT_SANITIZED
// Long enough for all that is done otherwise with long ones: stores past the cache, and longer pieces of
// stages.
TEST(LongVectors, AreRight) {
  constexpr size_t kElements = (size_t{33} << 20) / sizeof(float) + 333;
  for (const Memory memory : {Memory::shared, Memory::plain, Memory::mixed}) {
    on_ranks(
        processes(2), memory,
        [&](Rank& r) -> std::string {
          for (const Kind kind : {Kind::allreduce, Kind::allgather, Kind::broadcast}) {
            for (const bool in_place : {false, true})
              RETURN_WORDS(
                  r({.kind = kind, .count = share(kind, kElements, r.size), .in_place = in_place}, 2));
          }
          return {};
        },
        kElements);
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives,
                         testing::Combine(testing::Values(1, 2, 3, 4, 5, 8),
                                          testing::Values(Memory::shared, Memory::plain)));
INSTANTIATE_TEST_SUITE_P(MemoryOfEachRank, Collectives,
                         testing::Combine(testing::Values(3),
                                          testing::Values(Memory::registered, Memory::mixed)));

}  // namespace
}  // namespace plait::test
