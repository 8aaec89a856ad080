// Functions of the user's as operators end to end, and wrong uses of operators.
#include <atomic>

#include "runtime/operators.h"

namespace plait::test {
namespace {

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

class Commuting : public testing::TestWithParam<int> {};
TEST_P(Commuting, FunctionsRunByEveryAlgorithm) {
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

INSTANTIATE_TEST_SUITE_P(Ranks, Commuting, testing::Values(1, 2, 3, 5, 8));

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
    if (!contains(words, "user-defined in rank order") || !contains(words, "user-defined, in place"))
      return words;
    return {};
  });
}

}  // namespace
}  // namespace plait::test
