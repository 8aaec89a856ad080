// Types and operators end to end: float8, averages that must not overflow, premultiplied sums, functions of
// the user's. Ranks are threads; PLAIT_TEST_RANKS_PER_HOST puts a network between them.
#include <algorithm>
#include <cstring>
#include <memory>

#include "collectives/algorithms.h"
#include "support/ranks.h"
#include "unit/reduce/reference.h"

namespace plait::test {
namespace {

using collectives::Algorithm;
using collectives::Collective;
using collectives::reference::bfloat;
using collectives::reference::e4m3;
using collectives::reference::e5m2;
using collectives::reference::half;

// Two buffers that peers map, or none.
class Memory {
 public:
  Memory(size_t bytes, bool shared) : shared_(shared) {
    for (void*& p : data) {
      if (shared) {
        plait_mem_alloc(bytes, &p);
      } else {
        p = std::malloc(bytes);
      }
    }
  }
  ~Memory() {
    for (void* p : data) shared_ ? (void)plait_mem_free(p) : std::free(p);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* data[2] = {};

 private:
  bool shared_;
};

// A reduction, on a rank of a communicator.
struct Call {
  plait_comm* comm;
  int rank, size;
  Collective collective = Collective::allreduce;
  const char* algorithm = nullptr;
  bool in_place = false, shared = true;
  plait_dtype dtype = PLAIT_FLOAT32;
  plait_op op = PLAIT_SUM;
};

std::string name(const Call& c) {
  return std::string(collectives::name_of(c.collective)) + " by " +
         (c.algorithm != nullptr ? c.algorithm : "choice") + (c.in_place ? " in place" : "") +
         (c.shared ? "" : " of plain memory") + ", dtype " + std::to_string(c.dtype);
}

// Runs it. give(r, i): element i of rank r; want(i): of the result. `count` elements of the whole vector, or
// of each rank's share.
struct SameBits {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return std::memcmp(&a, &b, sizeof(T)) == 0;
  }
};
template <class T, class Give, class Want, class Same = SameBits>
std::string run(const Call& c, size_t count, const Give& give, const Want& want, const Same& same = {}) {
  const bool scattered = c.collective == Collective::reduce_scatter;
  const size_t ins = scattered ? count * size_t(c.size) : count,
               first = scattered ? size_t(c.rank) * count : 0;
  Memory memory((ins + 1) * sizeof(T), c.shared);
  T* in = static_cast<T*>(memory.data[0]);
  T* out = c.in_place ? in + first : static_cast<T*>(memory.data[1]);
  for (size_t i = 0; i < ins; i++) in[i] = give(c.rank, i);
  const std::vector<T> before(in, in + ins);
  plait_call_config config{};
  config.struct_size = sizeof config;
  config.algorithm = c.algorithm;
  const auto call = scattered ? plait_reduce_scatter : plait_allreduce;
  if (call(c.comm, in, out, count, c.dtype, c.op, &config, nullptr) != PLAIT_OK)
    return name(c) + ": " + plait_last_error(c.comm);
  for (size_t i = 0; i < count; i++) {
    if (!same(out[i], want(first + i)))
      return name(c) + ": element " + std::to_string(i) + " of " + std::to_string(count) + " is wrong";
  }
  // Nothing else was written to.
  for (size_t i = 0; i < ins; i++) {
    const bool result = c.in_place && i >= first && i < first + count;
    if (!result && std::memcmp(&in[i], &before[i], sizeof(T)) != 0)
      return name(c) + ": element " + std::to_string(i) + " of the input changed";
  }
  return {};
}

// `body` on each of n ranks that are threads of one process.
void on_ranks(int n, const std::function<std::string(Call)>& body) {
  const std::string job = fresh_job();
  run_ranks({n}, [&](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    return c.status != PLAIT_OK ? c.error : body({.comm = c.comm, .rank = rank, .size = size});
  });
}

// Calls body for each algorithm that folds and fits, in place and out of place, until it says something.
std::string each_algorithm(Call c, const std::function<std::string(const Call&, const Algorithm&)>& body) {
  int turn = 0;
  for (const Algorithm& algorithm : collectives::algorithms()) {
    const bool folds =
        algorithm.collective == Collective::allreduce || algorithm.collective == Collective::reduce_scatter;
    if (!folds || !algorithm.accepts(c.size)) continue;
    for (bool in_place : {false, true}) {
      c.collective = algorithm.collective;
      c.algorithm = algorithm.name.data();
      c.in_place = in_place;
      c.shared = turn++ % 3 != 2;
      if (std::string words = body(c, algorithm); !words.empty()) return words;
    }
  }
  return {};
}

template <class T>
T of(double v) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(v);
  else
    return collectives::reference::narrow<T>(v);
}

constexpr size_t kCounts[] = {1, 300, 20011};

// ---- float8

template <class T>
std::string float8(Call c, plait_dtype dtype) {
  c.dtype = dtype;
  return each_algorithm(c, [&](const Call& one, const Algorithm&) -> std::string {
    // Small enough to be exact whatever the order.
    auto value = [&](int r, size_t i) { return double((i + size_t(r)) % 3 == 0) * (i % 2 == 0 ? 1 : -1); };
    for (plait_op op : {PLAIT_SUM, PLAIT_PROD, PLAIT_MAX, PLAIT_MIN}) {
      auto result = [&](size_t i) {
        double all = value(0, i);
        for (int r = 1; r < c.size; r++) {
          const double v = value(r, i);
          all = op == PLAIT_SUM    ? all + v
                : op == PLAIT_PROD ? all * v
                : op == PLAIT_MAX  ? collectives::reference::greatest(all, v)
                                   : collectives::reference::least(all, v);
        }
        return of<T>(all);
      };
      Call with = one;
      with.op = op;
      for (size_t count : kCounts) {
        std::string words = run<T>(
            with, count, [&](int r, size_t i) { return of<T>(value(r, i)); }, result);
        if (!words.empty()) return "op " + std::to_string(op) + ": " + words;
      }
    }
    return {};
  });
}

class Operators : public testing::TestWithParam<int> {};

TEST_P(Operators, Float8) {
  on_ranks(GetParam(), [](const Call& c) {
    std::string words = float8<e4m3>(c, PLAIT_FLOAT8_E4M3);
    return words.empty() ? float8<e5m2>(c, PLAIT_FLOAT8_E5M2) : words;
  });
}

// ---- averages

// Each rank gives `value`, of which the average is `value`; by algorithms that round on the way within `ulps`
// of it.
template <class T>
std::string averages(Call c, plait_dtype dtype, double value, int ulps = 0) {
  c.dtype = dtype;
  c.op = PLAIT_AVG;
  return each_algorithm(c, [&](const Call& one, const Algorithm& algorithm) -> std::string {
    for (size_t count : kCounts) {
      auto give = [&](int, size_t i) { return of<T>(i % 2 == 0 ? value : -value); };
      auto close = [&](T got, T wanted) {
        return std::abs(int(got.bits) - int(wanted.bits)) <= (algorithm.deterministic ? 0 : ulps);
      };
      std::string words = run<T>(
          one, count, give, [&](size_t i) { return give(0, i); }, close);
      if (!words.empty()) return words;
    }
    return {};
  });
}

TEST_P(Operators, AveragesDoNotOverflow) {
  on_ranks(GetParam(), [](const Call& c) {
    std::string words = averages<half>(c, PLAIT_FLOAT16, 60000, c.size / 2);
    // Numbers of few digits: every partial sum is exact.
    if (words.empty()) words = averages<half>(c, PLAIT_FLOAT16, 61440);
    if (words.empty()) words = averages<bfloat>(c, PLAIT_BFLOAT16, 0x1.8p127);
    if (words.empty()) words = averages<e5m2>(c, PLAIT_FLOAT8_E5M2, 32768);
    if (words.empty()) words = averages<e4m3>(c, PLAIT_FLOAT8_E4M3, 256);
    return words;
  });
}

// The sum wraps, then it is divided.
TEST(Averages, OfIntegersWrapFirst) {
  on_ranks(4, [](Call c) {
    c.dtype = PLAIT_INT8;
    c.op = PLAIT_AVG;
    return each_algorithm(c, [](const Call& one, const Algorithm&) {
      return run<int8_t>(
          one, 300, [](int, size_t) { return int8_t(100); },
          [](size_t) { return int8_t(int8_t(400 - 512) / 4); });
    });
  });
}

// ---- premultiplied sums

template <class T>
struct Premultiplied {
  plait_dtype dtype;
  double factor(int rank) const { return double(1 + rank % 3); }
  double value(int rank, size_t i) const { return double((i + size_t(rank)) % (sizeof(T) == 1 ? 2 : 5)); }

  std::string run_all(Call c) const {
    plait_op_desc desc{};
    desc.struct_size = sizeof desc;
    const T factor_ = of<T>(factor(c.rank));
    desc.scaling = &factor_;
    desc.dtype = c.dtype = dtype;
    if (plait_op_create(&desc, &c.op) != PLAIT_OK) return plait_last_error(nullptr);
    std::string words = each_algorithm(c, [&](const Call& one, const Algorithm&) -> std::string {
      for (size_t count : {size_t(1), size_t(300), sizeof(T) == 4 ? size_t(150'001) : size_t(5000)}) {
        if (std::string w = run_one(one, count); !w.empty()) return w;
      }
      return {};
    });
    if (plait_op_free(c.op) != PLAIT_OK) words += plait_last_error(nullptr);
    return words;
  }

  std::string run_one(const Call& c, size_t count) const {
    return run<T>(
        c, count, [&](int r, size_t i) { return of<T>(value(r, i)); },
        [&](size_t i) {
          double sum = 0;
          for (int r = 0; r < c.size; r++) sum += factor(r) * value(r, i);
          return of<T>(sum);
        });
  }
};

TEST_P(Operators, PremultipliedSums) {
  on_ranks(GetParam(), [](const Call& c) {
    std::string words = Premultiplied<float>{PLAIT_FLOAT32}.run_all(c);
    if (words.empty()) words = Premultiplied<half>{PLAIT_FLOAT16}.run_all(c);
    if (words.empty()) words = Premultiplied<bfloat>{PLAIT_BFLOAT16}.run_all(c);
    if (words.empty()) words = Premultiplied<e4m3>{PLAIT_FLOAT8_E4M3}.run_all(c);
    if (words.empty()) words = Premultiplied<int8_t>{PLAIT_INT8}.run_all(c);
    if (words.empty()) words = Premultiplied<uint64_t>{PLAIT_UINT64}.run_all(c);
    return words;
  });
}

// ---- functions of the user's

// x -> a x + b, modulo 2^32: composition is associative and does not commute.
struct Affine {
  uint32_t a, b;
};
Affine composed(Affine l, Affine r) { return {l.a * r.a, l.a * r.b + l.b}; }

void compose(void* context, const void* left, const void* right, void* out, size_t count, plait_dtype dtype) {
  if (dtype != PLAIT_UINT64) abort();
  ++*static_cast<std::atomic<int>*>(context);
  for (size_t i = 0; i < count; i++) {
    const Affine both = composed(static_cast<const Affine*>(left)[i], static_cast<const Affine*>(right)[i]);
    std::memcpy(static_cast<Affine*>(out) + i, &both, sizeof both);
  }
}

void exclusive_or(void*, const void* left, const void* right, void* out, size_t count, plait_dtype) {
  for (size_t i = 0; i < count; i++)
    static_cast<int32_t*>(out)[i] =
        static_cast<const int32_t*>(left)[i] ^ static_cast<const int32_t*>(right)[i];
}

struct Made {
  plait_op op = -1;
  plait_status status;
  Made(decltype(plait_op_desc::function) function, void* context, bool commutes) {
    plait_op_desc desc{};
    desc.struct_size = sizeof desc;
    desc.function = function;
    desc.context = context;
    desc.commutative = commutes;
    status = plait_op_create(&desc, &op);
  }
};

Affine affine(int rank, size_t i) {
  return {uint32_t(i * 2654435761u + uint32_t(rank) * 40503u) | 1, uint32_t(i ^ (uint32_t(rank) << 20))};
}

std::string compositions(Call c) {
  std::atomic<int> calls{0};
  Made made(compose, &calls, false);
  if (made.status != PLAIT_OK) return plait_last_error(nullptr);
  c.dtype = PLAIT_UINT64;
  c.op = made.op;
  auto want = [&](size_t i) {
    Affine all = affine(0, i);
    for (int r = 1; r < c.size; r++) all = composed(all, affine(r, i));
    return all;
  };
  auto one_of_each = [&](const Call& one, const Algorithm& algorithm) -> std::string {
    for (size_t count : {size_t(1), size_t(31), size_t(5000), size_t(70'001)}) {
      std::string words = run<Affine>(one, count, affine, want);
      if (algorithm.rank_order || one.size == 1) {
        if (!words.empty()) return words;
      } else if (!contains(words, "does not fold in the order of ranks")) {
        return name(one) + " took an operator that does not commute: " + words;
      }
    }
    return {};
  };
  std::string words = each_algorithm(c, one_of_each);
  if (words.empty()) words = run<Affine>(c, 5000, affine, want);  // plait's choice
  if (words.empty() && (calls > 0) != (c.size > 1)) words = "the function was not called";
  if (words.empty() && plait_op_free(made.op) != PLAIT_OK) words = plait_last_error(nullptr);
  return words;
}

class OrderOfRanks : public testing::TestWithParam<int> {};
TEST_P(OrderOfRanks, IsKeptForFunctionsThatDoNotCommute) { on_ranks(GetParam(), compositions); }
INSTANTIATE_TEST_SUITE_P(Ranks, OrderOfRanks, testing::Range(1, 9));

TEST_P(Operators, FunctionsThatCommuteRunByEveryAlgorithm) {
  on_ranks(GetParam(), [](Call c) {
    Made made(exclusive_or, nullptr, true);
    c.dtype = PLAIT_INT32;
    c.op = made.op;
    return each_algorithm(c, [](const Call& one, const Algorithm&) -> std::string {
      for (size_t count : kCounts) {
        auto give = [](int r, size_t i) { return int32_t(i * 7919 + size_t(r) * 104729); };
        std::string words = run<int32_t>(one, count, give, [&](size_t i) {
          int32_t all = 0;
          for (int r = 0; r < one.size; r++) all ^= give(r, i);
          return all;
        });
        if (!words.empty()) return words;
      }
      return {};
    });
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Operators, testing::Values(1, 2, 3, 5, 8));

// ---- wrong uses

class Misuse : public testing::Test {
 protected:
  Misuse() { desc.struct_size = sizeof desc; }
  plait_status create() { return plait_op_create(&desc, &op); }
  bool says(const char* part) {
    return contains(plait_last_error(nullptr), part) || contains(plait_last_error(c.comm), part);
  }
  plait_status sum(plait_dtype dtype, plait_request** request = nullptr) {
    return plait_allreduce(c.comm, x, y, 8, dtype, op, nullptr, request);
  }
  Comm c{fresh_job(), 0, 1};
  plait_op_desc desc{};
  plait_op op = -1;
  float x[8] = {1, 2, 3}, y[8] = {}, factor = 3;
};

TEST_F(Misuse, OfPlaitOpCreate) {
  EXPECT_EQ(create(), PLAIT_ERR_INVALID);
  EXPECT_TRUE(says("neither function nor scaling"));
  desc.function = exclusive_or;
  desc.scaling = &factor;
  EXPECT_EQ(create(), PLAIT_ERR_INVALID);
  EXPECT_TRUE(says("exclude each other"));
  desc.function = nullptr;
  desc.dtype = 12;
  EXPECT_EQ(create(), PLAIT_ERR_INVALID);
  EXPECT_TRUE(says("dtype 12"));
  desc.struct_size = 0;
  EXPECT_EQ(create(), PLAIT_ERR_INVALID);
  EXPECT_EQ(plait_op_create(nullptr, &op), PLAIT_ERR_INVALID);
  EXPECT_EQ(plait_op_create(&desc, nullptr), PLAIT_ERR_INVALID);
  EXPECT_EQ(op, -1);
}

TEST_F(Misuse, OfNumbers) {
  for (plait_op none : {plait_op(PLAIT_SUM), plait_op(1'000'000), plait_op(-5)}) {
    EXPECT_EQ(plait_op_free(none), PLAIT_ERR_INVALID);
    EXPECT_TRUE(says("was not made by plait_op_create"));
  }
  op = 1'000'000;
  EXPECT_EQ(sum(PLAIT_FLOAT32), PLAIT_ERR_INVALID);
  EXPECT_TRUE(says("plait_allreduce: op 1000000 was not made by plait_op_create"));
  op = PLAIT_PREMULTIPLIED_SUM;
  EXPECT_EQ(sum(PLAIT_FLOAT32), PLAIT_ERR_INVALID);
  EXPECT_TRUE(says("needs a scaling"));
}

TEST_F(Misuse, OfAScalingOfAnotherType) {
  desc.scaling = &factor;
  desc.dtype = PLAIT_FLOAT32;
  ASSERT_EQ(create(), PLAIT_OK);
  EXPECT_GE(op, 1024);
  factor = 0;  // it was copied
  EXPECT_EQ(sum(PLAIT_INT32), PLAIT_ERR_INVALID);
  EXPECT_TRUE(says("scales by a float32, the call is of int32"));
  EXPECT_EQ(sum(PLAIT_FLOAT32), PLAIT_OK);
  EXPECT_EQ(y[2], 9);
  EXPECT_EQ(plait_op_free(op), PLAIT_OK);
  EXPECT_EQ(sum(PLAIT_FLOAT32), PLAIT_ERR_INVALID) << "of an operator that was freed";
  EXPECT_EQ(plait_op_free(op), PLAIT_ERR_INVALID);
}

TEST_F(Misuse, FreeingWhatIsInUse) {
  desc.function = exclusive_or;
  ASSERT_EQ(create(), PLAIT_OK);
  plait_request *request = nullptr, *plan = nullptr;
  ASSERT_EQ(sum(PLAIT_INT32, &request), PLAIT_OK);
  ASSERT_EQ(plait_plan_allreduce(c.comm, x, y, 8, PLAIT_INT32, op, nullptr, &plan), PLAIT_OK);
  EXPECT_EQ(plait_op_free(op), PLAIT_ERR_STATE);
  EXPECT_TRUE(says("2 requests or plans use op"));
  ASSERT_EQ(plait_wait(request), PLAIT_OK);
  EXPECT_EQ(plait_request_free(request), PLAIT_OK);
  EXPECT_EQ(plait_op_free(op), PLAIT_ERR_STATE);
  EXPECT_EQ(plait_request_free(plan), PLAIT_OK);
  EXPECT_EQ(sum(PLAIT_FLOAT16), PLAIT_OK) << "a blocking call lets go";
  EXPECT_EQ(plait_op_free(op), PLAIT_OK);
}

TEST_F(Misuse, NumbersAreNotUsedAgain) {
  desc.function = exclusive_or;
  ASSERT_EQ(create(), PLAIT_OK);
  const plait_op first = op;
  EXPECT_EQ(plait_op_free(op), PLAIT_OK);
  ASSERT_EQ(create(), PLAIT_OK);
  EXPECT_GT(op, first);
  // The last plait_finalize frees what is left.
  plait_comm_destroy(c.comm);
  c.comm = nullptr;
  ASSERT_EQ(plait_finalize(), PLAIT_OK);
  EXPECT_EQ(plait_op_free(op), PLAIT_ERR_STATE);
  ASSERT_EQ(plait_init(nullptr), PLAIT_OK);
  EXPECT_EQ(plait_op_free(op), PLAIT_ERR_INVALID);
}

TEST_F(Misuse, CommunicatorsLetGoOfTheirRequests) {
  desc.function = exclusive_or;
  ASSERT_EQ(create(), PLAIT_OK);
  plait_request* plan = nullptr;
  ASSERT_EQ(plait_plan_allreduce(c.comm, x, y, 8, PLAIT_INT32, op, nullptr, &plan), PLAIT_OK);
  plait_comm_destroy(c.comm);
  c.comm = nullptr;
  EXPECT_EQ(plait_op_free(op), PLAIT_OK);
}

// Ranks that give operators of different kinds learn of it; numbers and functions are their own affair.
TEST(Mismatch, OfKindsOfOperators) {
  on_ranks(2, [](const Call& c) -> std::string {
    Made other(exclusive_or, nullptr, true);  // so that numbers differ
    if (c.rank == 1 && plait_op_free(other.op) != PLAIT_OK) return "free";
    Made mine(exclusive_or, nullptr, true);
    int32_t v[4] = {1, 2, 3, 4};
    if (plait_allreduce(c.comm, v, v, 4, PLAIT_INT32, mine.op, nullptr, nullptr) != PLAIT_OK)
      return plait_last_error(c.comm);
    Made ordered(exclusive_or, nullptr, c.rank == 0);
    const plait_status status = plait_allreduce(c.comm, v, v, 4, PLAIT_INT32, ordered.op, nullptr, nullptr);
    const std::string words = plait_last_error(c.comm);
    if (status != PLAIT_ERR_MISMATCH) return "no mismatch: " + words;
    if (!contains(words, "user-defined in rank order") || !contains(words, "user-defined, in place")) return words;
    return {};
  });
}

}  // namespace
}  // namespace plait::test
