// Messages that are encoded, on the real machine: with a codec of the tests, whose wires are of any length.
#include <gtest/gtest.h>

#include <cmath>

#include "job.h"
#include "moods.h"

namespace plait::collectives::real::test {
namespace {

// Values that are not 0, with where they are: a wire is as long as there are such. Exact; or, losing, it
// keeps multiples of 8 only, and adds what is left to what is encoded of the same element the next time.
class Sparse : public codec::Codec {
 public:
  explicit Sparse(bool exact) : exact_(exact) {}
  std::string name() const override { return "sparse"; }
  bool exact() const noexcept override { return exact_; }
  size_t bound(size_t count) const noexcept override { return count * 8; }
  size_t state_bytes() const noexcept override { return exact_ ? 0 : 4; }
  size_t work_bytes(size_t count) const noexcept override { return count; }
  codec::Cost cost() const noexcept override { return {}; }

  size_t encode(const codec::Piece& piece, const std::byte* values, std::byte* state, std::byte* work,
                std::byte* wire) const noexcept override {
    std::memset(work, 0x5a, work_bytes(piece.count));
    size_t length = 0;
    for (uint32_t i = 0; i < piece.count; i++) {
      float value, left = 0;
      std::memcpy(&value, values + i * 4, 4);
      if (!exact_) {
        std::memcpy(&left, state + i * 4, 4);
        const float whole = std::trunc((value + left) / 8) * 8;
        left += value - whole;
        std::memcpy(state + i * 4, &left, 4);
        value = whole;
      }
      if (value == 0) continue;
      std::memcpy(wire + length, &i, 4);
      std::memcpy(wire + length + 4, &value, 4);
      length += 8;
    }
    return length;
  }

  const char* decode(const std::byte* wire, size_t bytes, size_t count, std::byte*,
                     std::byte* values) const noexcept override {
    for (size_t i = 0; i < count * 4; i++) values[i] = {};
    return each(wire, bytes, count, [&](uint32_t i, float value) { std::memcpy(values + i * 4, &value, 4); });
  }
  const char* decode_add(const std::byte* wire, size_t bytes, size_t count, std::byte*,
                         std::byte* values) const noexcept override {
    return each(wire, bytes, count, [&](uint32_t i, float value) {
      float sum;
      std::memcpy(&sum, values + i * 4, 4);
      sum += value;
      std::memcpy(values + i * 4, &sum, 4);
    });
  }

 private:
  template <class F>
  static const char* each(const std::byte* wire, size_t bytes, size_t count, F f) {
    if (bytes % 8 != 0) return "half an entry";
    for (size_t at = 0; at < bytes; at += 8) {
      uint32_t i;
      float value;
      std::memcpy(&i, wire + at, 4);
      std::memcpy(&value, wire + at + 4, 4);
      if (i >= count) return "an index too large";
      f(i, value);
    }
    return nullptr;
  }
  const bool exact_;
};

class Coded : public testing::TestWithParam<int> {
 protected:
  // Runs `body` on every rank of a world of the seed's kind.
  void run(int ranks, const std::function<Status(int, Rank&)>& body) {
    const uint64_t seed = uint64_t(GetParam());
    run_ranks({.ranks = ranks, .fabric = moods(seed), .eager_bytes = eager(seed)}, body);
  }
};

TEST_P(Coded, EveryAlgorithmGivesTheSameByAnExactCodec) {
  const Sparse codec(true);
  for (int ranks : {1, 2, 3, 4, 6}) {
    run(ranks, [&](int rank, Rank& r) -> Status {
      std::mt19937_64 random(uint64_t(GetParam() * 10 + ranks));
      for (const Algorithm& a : algorithms()) {
        if (!a.accepts(ranks) || !encodes(a.collective)) continue;
        for (int k = 0; k < 3; k++) {
          Job job = random_job(random, a, ranks);
          job.uneven = false;
          job.apart = true;
          job.codec = &codec;
          PLAIT_TRY(run_job(job, rank, r));
        }
      }
      return {};
    });
  }
}

constexpr uint64_t kElements = 30'000;
constexpr int kCalls = 3, kRanks = 4;

float value(int rank, int turn, uint64_t i) { return float((i * 37 + uint64_t(rank * 11 + turn * 5)) % 101); }

// What a rank got by each call, of one tensor.
using Results = std::vector<std::vector<float>>;

Status reduce_lossily(const Algorithm& a, const codec::Codec& codec, int rank, Rank& r, Results& results) {
  Planner planner(rank, kRanks);
  Call call;
  call.layout = even_layout(kElements, 4, a.chunks(kRanks));
  if (!fit_segments(call.layout, codec, 8192)) return {Code::internal, "no segments"};
  auto schedule = planner.schedule(*planner.methods().find(a.collective, a.name), 0, true, false, false,
                                   {Encoded::all, false});
  if (!schedule.ok()) return schedule.status();
  call.schedule = *schedule;
  call.fold = fold_kernel(Dtype::float32, ReduceOp::sum);
  call.buffered = (*schedule)->program.min_credits > 0;
  call.codec = &codec;
  std::vector<std::byte> state(kElements * codec.state_bytes() * (*schedule)->sites);
  call.state = state.data();
  auto* out = reinterpret_cast<float*>(r.output());
  for (int turn = 0; turn < kCalls; turn++) {
    for (uint64_t i = 0; i < kElements; i++) out[i] = value(rank, turn, i);
    call.turn = uint64_t(turn);
    PLAIT_TRY(r.run(call, true));
    results.emplace_back(out, out + kElements);
  }
  return {};
}

TEST_P(Coded, RanksGetTheSameBitsAndNothingIsLostForGood) {
  const Sparse codec(false);
  for (const Algorithm& a : algorithms()) {
    if (a.collective != Collective::allreduce || !a.one_wire) continue;
    SCOPED_TRACE(a.name);
    Results results[kRanks];
    run(kRanks, [&](int rank, Rank& r) { return reduce_lossily(a, codec, rank, r, results[rank]); });
    ASSERT_EQ(results[0].size(), size_t(kCalls));
    for (int rank = 1; rank < kRanks; rank++) EXPECT_TRUE(results[rank] == results[0]) << rank;
    // What is left of an element is less than 8 wherever it was encoded, which is nowhere more than twice.
    for (uint64_t i = 0; i < kElements; i++) {
      float sum = 0, want = 0;
      for (int turn = 0; turn < kCalls; turn++) {
        sum += results[0][size_t(turn)][i];
        for (int rank = 0; rank < kRanks; rank++) want += value(rank, turn, i);
      }
      ASSERT_NEAR(sum, want, 8.0 * 2 * kRanks) << i;
      ASSERT_NE(sum, 0) << i;
    }
  }
}

// Most of it is what a rank computes by itself, over which sanitizers take long and see the same each time.
#ifdef PLAIT_SANITIZED
constexpr int kSeeds = 2;
#else
constexpr int kSeeds = 6;
#endif
INSTANTIATE_TEST_SUITE_P(Seeds, Coded, testing::Range(1, 1 + kSeeds));

// A wire that cannot be: each rank that decodes it says what of it is wrong, and from whom it came.
TEST(CodedErrors, ABadWireIsNamed) {
  struct Bad : Sparse {
    Bad() : Sparse(true) {}
    size_t encode(const codec::Piece&, const std::byte*, std::byte*, std::byte*,
                  std::byte* wire) const noexcept override {
      std::memset(wire, 0xff, 8);
      return 8;
    }
  };
  const Bad codec;
  run_ranks(World(), [&](int rank, Rank& r) -> Status {
    const Job job{.algorithm = find_algorithm(Collective::broadcast, "star"),
                  .ranks = 2,
                  .count = 100,
                  .apart = true,
                  .codec = &codec};
    const Status status = call_job(job, View(job, rank), rank, r);
    if (rank == 0) return {};
    EXPECT_EQ(status.code(), Code::internal);
    EXPECT_NE(status.text().find("what rank 0 encoded of chunk 0 cannot be decoded: an index too large"),
              std::string_view::npos)
        << status.text();
    return {};
  });
}

}  // namespace
}  // namespace plait::collectives::real::test
