// Nothing wrong, ever: every collective, number of ranks, count, dtype, op, kind of memory, in place and out
// of place, every element compared.
#include <algorithm>
#include <memory>

#include "runtime/value.h"
#include "support/ranks.h"

namespace plait::test {
namespace {

enum class Kind : uint8_t { allreduce, reduce_scatter, allgather, broadcast };
enum class Memory : uint8_t { shared, plain, registered, mixed };

struct Case {
  Kind kind;
  size_t count;
  plait_dtype dtype;
  plait_op op;
  bool in_place;
  int root = 0;
  const char* algorithm = nullptr;
};

std::string name(const Case& c) {
  static constexpr const char* kKinds[] = {"allreduce", "reduce_scatter", "allgather", "broadcast"};
  return std::string(kKinds[int(c.kind)]) + " count=" + std::to_string(c.count) +
         " dtype=" + std::to_string(c.dtype) + " op=" + std::to_string(c.op) +
         (c.in_place ? " in place" : "") + (c.algorithm != nullptr ? std::string(" ") + c.algorithm : "");
}

// Two buffers of `bytes` bytes of the given kind.
class Buffers {
 public:
  Buffers(Memory memory, int rank, size_t bytes)
      : shared_(memory == Memory::shared || (memory == Memory::mixed && rank % 2 == 0)) {
    for (void*& p : data) {
      if (shared_) {
        plait_mem_alloc(bytes, &p);
      } else {
        p = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
      }
    }
    plait_memory m{};
    m.struct_size = sizeof m;
    m.bytes = bytes;
    for (int i = 0; memory == Memory::registered && i < 2; i++) {
      m.base = data[i];
      plait_register(&m, &regions_[i]);
    }
  }
  ~Buffers() {
    for (auto* r : regions_) {
      if (r != nullptr) plait_deregister(r);
    }
    for (void* p : data) shared_ ? (void)plait_mem_free(p) : std::free(p);
  }
  void* data[2] = {};

 private:
  bool shared_;
  plait_region* regions_[2] = {};
};

plait_status call(const Case& c, plait_comm* comm, const void* in, void* out) {
  plait_call_config config{};
  config.struct_size = sizeof config;
  config.algorithm = c.algorithm;
  switch (c.kind) {
    case Kind::allreduce:
      return plait_allreduce(comm, in, out, c.count, c.dtype, c.op, &config, nullptr);
    case Kind::reduce_scatter:
      return plait_reduce_scatter(comm, in, out, c.count, c.dtype, c.op, &config, nullptr);
    case Kind::allgather:
      return plait_allgather(comm, in, out, c.count, c.dtype, &config, nullptr);
    case Kind::broadcast:
      return plait_broadcast(comm, in, out, c.count, c.dtype, c.root, &config, nullptr);
  }
  return PLAIT_ERR_INTERNAL;
}

// The first wrong element of the result of `rank`.
std::optional<size_t> first_wrong(const Case& c, int rank, int size, const char* out) {
  auto check = [&](auto value) { return test::first_wrong(out, c.dtype, c.count, value); };
  switch (c.kind) {
    case Kind::allreduce:
      return check([&](size_t i) { return reduced(size, i, c.op, c.dtype); });
    case Kind::reduce_scatter:
      return check([&](size_t i) { return reduced(size, size_t(rank) * c.count + i, c.op, c.dtype); });
    case Kind::broadcast:
      return check([&](size_t i) { return element(c.root, size, i, PLAIT_SUM, c.dtype); });
    case Kind::allgather:
      for (int r = 0; r < size; r++, out += c.count * size_of(c.dtype)) {
        auto wrong = check([&](size_t i) { return element(r, size, i, PLAIT_SUM, c.dtype); });
        if (wrong) return *wrong + size_t(r) * c.count;
      }
  }
  return {};
}

std::string run(const Case& c, plait_comm* comm, Buffers& b, int rank, int size) {
  const size_t e = size_of(c.dtype), n = size_t(size);
  const size_t ins = c.kind == Kind::reduce_scatter ? c.count * n : c.count;
  const size_t outs = c.kind == Kind::allgather ? c.count * n : c.count;
  auto* in = static_cast<char*>(b.data[0]);
  auto* out = static_cast<char*>(b.data[1]);
  std::memset(out, 0x5a, (outs + 1) * e);
  if (c.in_place) {
    const size_t shift = size_t(rank) * c.count * e;
    if (c.kind == Kind::reduce_scatter) {
      out = in + shift;
    } else {
      in = c.kind == Kind::allgather ? out + shift : out;
    }
  }
  const bool gives = c.kind != Kind::broadcast || rank == c.root;
  const plait_op op = c.kind == Kind::allgather || c.kind == Kind::broadcast ? plait_op(PLAIT_SUM) : c.op;
  if (gives) store_all(in, c.dtype, ins, [&](size_t i) { return element(rank, size, i, op, c.dtype); });
  if (call(c, comm, in, out) != PLAIT_OK) return name(c) + ": " + plait_last_error(comm);
  if (auto i = first_wrong(c, rank, size, out))
    return name(c) + ": element " + std::to_string(*i) + " is wrong";
  if (!c.in_place && out[outs * e] != 0x5a) return name(c) + ": wrote behind the output";
  return {};
}

// Sanitizers look for other things than large counts do, ten times slower.
#ifdef PLAIT_SANITIZED
constexpr size_t kLargest = 40009;
#else
constexpr size_t kLargest = 1000003;
#endif
constexpr size_t kCounts[] = {0, 1, 7, kLargest};

// Every case of one kind of memory on one communicator.
void sweep(const std::vector<int>& shape, Memory memory,
           const std::function<void(const std::function<bool(const Case&)>&, int)>& cases) {
  const std::string job = fresh_job();
  run_ranks(shape, [&](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    if (c.status != PLAIT_OK) return c.error;
    std::string words;
    {
      Buffers buffers(memory, rank, (kLargest + 64) * 8);
      cases([&](const Case& k) { return (words = run(k, c.comm, buffers, rank, size)).empty(); }, size);
    }
    return words;
  });
}

// The count of reduce_scatter and allgather is a rank's: the whole vector is about as long as that of an
// allreduce.
size_t share(Kind kind, size_t count, int size) {
  return kind == Kind::reduce_scatter || kind == Kind::allgather ? (count + size_t(size) - 1) / size_t(size)
                                                                 : count;
}

class Sweep : public testing::TestWithParam<std::tuple<int, Memory>> {};

TEST_P(Sweep, AllreduceOfEveryDtypeAndOp) {
  const auto [n, memory] = GetParam();
  sweep(processes(n), memory, [](auto& run_case, int) {
    for (size_t count : kCounts) {
      for (int t = 0; t <= PLAIT_BFLOAT16; t++) {
        for (plait_op op = 0; op <= PLAIT_AVG; op++) {
          for (bool in_place : {false, true}) {
            if (!run_case({Kind::allreduce, count, plait_dtype(t), op, in_place})) return;
          }
        }
      }
    }
  });
}

TEST_P(Sweep, OtherCollectivesAndAlgorithms) {
  const auto [n, memory] = GetParam();
  sweep(processes(n), memory, [](auto& run_case, int size) {
    for (Kind kind : {Kind::allreduce, Kind::reduce_scatter, Kind::allgather, Kind::broadcast}) {
      for (size_t count : {size_t(0), size_t(1), size_t(7), size_t(300), size_t(5000), kLargest}) {
        for (bool in_place : {false, true}) {
          for (const char* algorithm : {static_cast<const char*>(nullptr), "ring", "direct", "all_to_all"}) {
            if (algorithm != nullptr && kind == Kind::broadcast) continue;
            if (algorithm != nullptr && kind != Kind::allreduce && algorithm[0] == 'a') continue;
            for (auto [t, op] : {std::pair(PLAIT_FLOAT32, plait_op(PLAIT_SUM)),
                                 {PLAIT_BFLOAT16, PLAIT_AVG},
                                 {PLAIT_INT64, PLAIT_MAX}}) {
              if (!run_case({kind, share(kind, count, size), t, op, in_place, int(count % size_t(size)),
                             algorithm}))
                return;
            }
          }
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Sweep,
                         testing::Combine(testing::Values(1, 2, 3, 4, 5, 8),
                                          testing::Values(Memory::shared, Memory::plain)));
INSTANTIATE_TEST_SUITE_P(MemoryOfEachRank, Sweep,
                         testing::Combine(testing::Values(2, 4),
                                          testing::Values(Memory::registered, Memory::mixed)));

// More ranks in a process, more processes, mixed, with memory of both kinds in the same call.
TEST(Shapes, ThreadsAndProcessesMixed) {
  for (const std::vector<int>& shape : {std::vector<int>{3}, {2, 1}, {1, 2, 2}, {4, 4}}) {
    sweep(shape, Memory::mixed, [](auto& run_case, int size) {
      for (Kind kind : {Kind::allreduce, Kind::reduce_scatter, Kind::allgather, Kind::broadcast}) {
        for (size_t count : {size_t(1), size_t(300), std::min(size_t(200000), kLargest)}) {
          for (bool in_place : {false, true}) {
            if (!run_case({kind, share(kind, count, size), PLAIT_FLOAT32, PLAIT_SUM, in_place})) return;
          }
        }
      }
    });
  }
}

}  // namespace
}  // namespace plait::test
