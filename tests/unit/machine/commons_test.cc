// Allreduces on the commons, among operations that are not, with a core each and crowded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "job.h"
#include "moods.h"

namespace plait::collectives::real::test {
namespace {

using How = World::Common;

World world(int ranks, uint64_t seed, How how) {
  return {.ranks = ranks, .fabric = moods(2 * seed), .eager_bytes = eager(2 * seed), .common = how};
}

const Algorithm* allreduce(const char* name) { return find_algorithm(Collective::allreduce, name); }

class OnTheCommons : public testing::TestWithParam<std::tuple<How, int>> {
 protected:
  How how() const { return std::get<0>(GetParam()); }
  uint64_t seed() const { return uint64_t(std::get<1>(GetParam())); }
};

// Half of the jobs are such allreduces, the others whatever the table has.
TEST_P(OnTheCommons, EveryElementIsRight) {
  for (int ranks : {2, 3, 4, 8}) {
    SCOPED_TRACE(ranks);
    run_ranks(world(ranks, seed(), how()), [&](int rank, Rank& r) -> Status {
      std::mt19937_64 random(seed() * 77 + uint64_t(ranks));
      const auto table = algorithms();
      for (int k = 0; k < 24; k++) {
        const Algorithm* common = allreduce(random() % 2 == 0 ? "direct" : "all_to_all");
        const Algorithm& row = random() % 2 == 0 ? *common : table[random() % table.size()];
        const Job job = random_job(random, row, ranks);
        if (row.accepts(ranks)) PLAIT_TRY(run_job(job, rank, r));
      }
      return {};
    });
  }
}

// From nothing over what fits a line, what is shown, and what is told the place of, to several pieces and
// strides.
TEST_P(OnTheCommons, OfEverySize) {
  constexpr uint64_t kCounts[] = {0,   1,    2,    13,   14,     15,      255,    256,
                                  257, 4096, 8191, 8193, 50'000, 100'003, 300'000};
  for (int ranks : {2, 5}) {
    run_ranks(world(ranks, seed(), how()), [&](int rank, Rank& r) -> Status {
      for (bool in_place : {true, false}) {
        for (uint64_t count : kCounts) {
          const Job job{
              .algorithm = allreduce("direct"), .ranks = ranks, .in_place = in_place, .count = count};
          PLAIT_TRY(run_job(job, rank, r));
        }
      }
      return {};
    });
  }
}

// Where somebody has plain memory, and nothing that peers map to stage it in, all go the usual way, and
// nobody asks again for a while.
TEST_P(OnTheCommons, PlainMemoryWithoutAStageTakesTheUsualWay) {
  World setup = world(4, seed(), how());
  setup.shared = [](int rank) { return rank == 2 ? Shared::none : Shared::input_and_output; };
  setup.shared_scratch = [](int rank) { return rank != 2; };
  run_ranks(setup, [&](int rank, Rank& r) -> Status {
    std::mt19937_64 random(seed());
    for (uint32_t k = 0; k < 2 * kCommonPause + 5; k++) {
      const Job job{
          .algorithm = allreduce("direct"), .ranks = 4, .in_place = k % 3 == 0, .count = random() % 2000};
      PLAIT_TRY(run_job(job, rank, r));
    }
    return {};
  });
}

// All ranks' memory is plain, or that of some; one piece, and more than there are in a stage.
TEST_P(OnTheCommons, PlainMemoryGoesThroughStages) {
  constexpr uint64_t kPiece = kStagePiece / 8;
  for (int ranks : {2, 3, 5}) {
    for (int plain : {1, ranks}) {
      World setup = world(ranks, seed() + uint64_t(plain), how());
      setup.shared = [=](int rank) { return rank < plain ? Shared::none : Shared::input_and_output; };
      run_ranks(setup, [&](int rank, Rank& r) -> Status {
        std::mt19937_64 random(seed());
        for (uint64_t count :
             {uint64_t(300), kPiece - 1, kPiece, 2 * kPiece + 3, 6 * kPiece + random() % 999}) {
          const Job job{.algorithm = allreduce(random() % 2 == 0 ? "direct" : "all_to_all"),
                        .ranks = ranks,
                        .in_place = random() % 2 == 0,
                        .count = count};
          PLAIT_TRY(run_job(job, rank, r));
        }
        return {};
      });
    }
  }
}

// Where this thread's rank read rank 0's vector, in its order.
thread_local std::vector<const std::byte*> read_at;
void noted_sum(const Fold& fold) noexcept {
  read_at.push_back(fold.inputs[0]);
  fold_kernel(Dtype::float32, ReduceOp::sum)(fold);
}

// What one operation had last, and what is in the caches then, the next one has first.
TEST(Commons, EachLargeOperationGoesTheOtherWayRound) {
  for (bool staged : {false, true}) {
    World setup;
    setup.common = How::a_core_each;
    setup.shared = [=](int rank) { return staged && rank == 1 ? Shared::none : Shared::input_and_output; };
    run_ranks(setup, [&](int rank, Rank& r) -> Status {
      const Job job{.algorithm = allreduce("direct"),
                    .ranks = 2,
                    .in_place = true,
                    .count = 600'005,
                    .fold = noted_sum};
      std::vector<const std::byte*> orders[3];
      for (auto& order : orders) {
        read_at.clear();
        PLAIT_TRY(run_job(job, rank, r));
        order = read_at;
      }
      EXPECT_GE(orders[0].size(), 3u) << staged;
      EXPECT_TRUE(std::equal(orders[1].begin(), orders[1].end(), orders[0].rbegin(), orders[0].rend()))
          << staged;
      EXPECT_EQ(orders[2], orders[0]) << staged;
      EXPECT_EQ(r.on_commons(), 3u);
      return {};
    });
  }
}

// Each rank copies its share of what the root has; some have plain memory now and then.
TEST_P(OnTheCommons, Broadcasts) {
  for (int ranks : {2, 3, 5}) {
    for (bool plain : {false, true}) {
      World setup = world(ranks, seed(), how());
      if (plain) setup.shared = [](int rank) { return rank == 1 ? Shared::none : Shared::input_and_output; };
      run_ranks(setup, [&](int rank, Rank& r) -> Status {
        std::mt19937_64 random(seed());
        for (uint64_t count : {0u, 3u, 256u, 257u, 1025u, 8193u, 100'003u, 400'000u}) {
          const Job job{.algorithm = find_algorithm(Collective::broadcast, "binomial"),
                        .ranks = ranks,
                        .root = int(random() % uint64_t(ranks)),
                        .in_place = random() % 2 == 0,
                        .count = count};
          PLAIT_TRY(run_job(job, rank, r));
        }
        return {};
      });
    }
  }
}

// What cannot be done there for want of a stage is not asked for again for a while; what can is.
TEST_P(OnTheCommons, APauseIsOfOneKindOnly) {
  World setup = world(3, seed(), how());
  setup.shared = [](int rank) { return rank == 1 ? Shared::none : Shared::input_and_output; };
  // Where ranks share cores there are no stages, and no broadcasts on the commons.
  const bool apart = how() == How::a_core_each;
  run_ranks(setup, [&](int rank, Rank& r) -> Status {
    const Job broadcast{
        .algorithm = find_algorithm(Collective::broadcast, "binomial"), .ranks = 3, .root = 1, .count = 4096};
    const Job sum{.algorithm = allreduce("direct"), .ranks = 3, .count = 4096};
    const std::pair<Job, uint32_t> all[] = {
        {broadcast, apart ? 1 : 0}, {broadcast, apart ? 1 : 0}, {sum, apart ? 2 : 1}, {sum, apart ? 3 : 1}};
    for (const auto& [job, tried] : all) {
      PLAIT_TRY(run_job(job, rank, r));
      EXPECT_EQ(r.on_commons(), r.has_commons() ? tried : 0) << "rank " << rank;
    }
    return {};
  });
}

// Who folds an element does not show, nor where it lies.
TEST_P(OnTheCommons, TheBitsAreThoseOfTheProgram) {
  constexpr int kRanks = 5;
  for (uint64_t count : {11u, 200u, 30'000u, 200'000u}) {
    std::vector<float> results[2][kRanks];
    for (How each : {How::none, how()}) {
      World setup = world(kRanks, seed(), each);
      setup.shared = [&](int rank) {
        return (seed() >> (rank % 2) & 1) != 0 ? Shared::none : Shared::input_and_output;
      };
      run_ranks(setup, [&](int rank, Rank& r) -> Status {
        std::mt19937_64 random(seed() * kRanks + uint64_t(rank));
        std::uniform_real_distribution<float> values(-1, 1);
        const Job job{.algorithm = allreduce("direct"), .ranks = kRanks, .in_place = true, .count = count};
        const View view(job, rank);
        auto* data = reinterpret_cast<float*>(r.output());
        for (uint64_t i = 0; i < count; i++) data[i] = values(random) * std::exp2(float(random() % 20));
        PLAIT_TRY(call_job(job, view, rank, r));
        results[each != How::none][rank].assign(data, data + count);
        return {};
      });
    }
    for (const auto& result : results[1]) {
      ASSERT_EQ(result.size(), count);
      EXPECT_EQ(std::memcmp(result.data(), results[0][0].data(), count * sizeof(float)), 0) << count;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, OnTheCommons,
                         testing::Combine(testing::Values(How::a_core_each, How::crowded),
                                          testing::Range(1, 4)));

}  // namespace
}  // namespace plait::collectives::real::test
