// Every program of the table, run by the real machine over the fake fabric in all its moods, every element
// checked.
#include <gtest/gtest.h>

#include <atomic>
#include <random>

#include "job.h"
#include "moods.h"

namespace plait::collectives::real::test {
namespace {

// A random sequence of jobs, the same on every rank.
void run_sequence(const World& setup, uint64_t seed, int jobs) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  run_ranks(setup, [&](int rank, Rank& r) -> Status {
    std::mt19937_64 random(seed);
    for (int k = 0; k < jobs; k++) {
      const auto table = algorithms();
      const Job job = random_job(random, table[random() % table.size()], setup.ranks);
      if (job.algorithm->accepts(setup.ranks)) PLAIT_TRY(run_job(job, rank, r));
    }
    return {};
  });
}

// Sanitizers look at how ranks meet, which the same code does again and again, several times as slowly.
#ifdef PLAIT_SANITIZED
constexpr int kTimes = 1, kJobs = 10;
#else
constexpr int kTimes = 3, kJobs = 25;
#endif

// Each row of the table, for each number of ranks, `kTimes` each.
class EveryRow : public testing::TestWithParam<int> {};

TEST_P(EveryRow, OfTheTable) {
  const int ranks = GetParam();
  for (bool mapped : {false, true}) {
    World setup;
    setup.ranks = ranks;
    setup.fabric.mapped = mapped;
    run_ranks(setup, [&](int rank, Rank& r) -> Status {
      std::mt19937_64 random(uint64_t(ranks) * 2 + uint64_t(mapped));
      for (const Algorithm& algorithm : algorithms()) {
        for (int k = 0; k < kTimes && algorithm.accepts(ranks); k++)
          PLAIT_TRY(run_job(random_job(random, algorithm, ranks), rank, r));
      }
      return {};
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, EveryRow, testing::Range(1, 9));

class MachineOnFake : public testing::TestWithParam<int> {};

TEST_P(MachineOnFake, RunsEveryProgram) {
  const uint64_t seed = uint64_t(GetParam());
  for (int ranks : {1, 2, 3, 4, 5, 8}) {
    World setup{.ranks = ranks, .fabric = moods(seed), .eager_bytes = eager(seed)};
    run_sequence(setup, seed * 100 + uint64_t(ranks), kJobs);
  }
}

TEST_P(MachineOnFake, MixesMemoryThatPeersMapWithMemoryTheyDoNot) {
  const uint64_t seed = uint64_t(GetParam());
  World setup{.ranks = 4, .fabric = moods(2 * seed), .eager_bytes = eager(2 * seed)};
  setup.shared = [](int rank) {
    return rank == 0 ? Shared::none : rank == 1 ? Shared::output_only : Shared::input_and_output;
  };
  run_sequence(setup, seed * 1000, 40);
}

// Ranks of one host, some of which have peers on another: these run no round where the others run one.
TEST_P(MachineOnFake, MixesRanksThatRunARoundWithRanksThatDoNot) {
  const uint64_t seed = uint64_t(GetParam());
  World setup{.ranks = 4, .fabric = moods(2 * seed), .eager_bytes = eager(2 * seed)};
  setup.network = [&](int rank) { return (seed >> (rank % 3) & 1) != 0; };
  run_sequence(setup, seed * 2000, 60);
}

// Messages of 256 KiB fill windows over and over, with credit that messages carry and credit by itself in
// turn; the program that sends all before it receives needs it for whole messages.
TEST_P(MachineOnFake, FillsWindowsOverAndOver) {
  const uint64_t seed = uint64_t(GetParam());
  World setup{.ranks = 2, .fabric = moods(2 * seed + 1)};
  run_ranks(setup, [&](int rank, Rank& r) -> Status {
    for (int k = 0; k < 8; k++) {
      const char* name = k % 3 == 2 ? "direct" : "all_to_all";
      const Job job{.algorithm = find_algorithm(Collective::allreduce, name),
                    .ranks = 2,
                    .in_place = true,
                    .count = k % 4 == 3 ? 500u : 65536u};
      PLAIT_TRY(run_job(job, rank, r));
    }
    return {};
  });
}

// More messages in each stream than its ring has parts, within one call: what lands where it is wanted in one
// turn of the ring, lands elsewhere in the next.
TEST_P(MachineOnFake, GoesRoundTheRingOfParts) {
  const uint64_t seed = uint64_t(GetParam());
  World setup{.ranks = 2, .fabric = moods(2 * seed + 1)};
  run_ranks(setup, [&](int rank, Rank& r) -> Status {
    constexpr size_t kMessages = transport::kStreams * (transport::kRingParts + 3);
    const Job job{.algorithm = find_algorithm(Collective::broadcast, "binomial"),
                  .ranks = 2,
                  .count = kMessages * transport::kPartBytes / sizeof(float),
                  .segment_bytes = transport::kPartBytes};
    return run_job(job, rank, r);
  });
}

// Rounds of up to whole segments whose senders have memory that peers map, or have not: told of, or copied
// into up to all the parts that a message has, by whoever runs a volley and by whoever does not.
TEST_P(MachineOnFake, LongMessagesOfARoundComeInParts) {
  const uint64_t seed = uint64_t(GetParam());
  World setup{.ranks = 3, .fabric = moods(2 * seed)};
  setup.shared = [&](int rank) {
    return (seed >> (rank % 3) & 1) != 0 ? Shared::none : Shared::input_and_output;
  };
  const std::pair<Collective, const char*> rounds[] = {
      {Collective::allgather, "direct"},     {Collective::reduce_scatter, "direct"},
      {Collective::allreduce, "all_to_all"}, {Collective::alltoall, "pairwise"},
      {Collective::reduce, "direct"},        {Collective::gather, "linear"}};
  SCOPED_TRACE("seed " + std::to_string(seed));
  run_ranks(setup, [&](int rank, Rank& r) -> Status {
    std::mt19937_64 random(seed);
    for (const auto& [collective, name] : rounds) {
      for (uint64_t parts : {uint64_t(1), uint64_t(2), random() % transport::kParts + 1, uint64_t(16)}) {
        const uint64_t elements = parts * (transport::kPartBytes / sizeof(float)) - random() % 2 * 13;
        const Algorithm* const algorithm = find_algorithm(collective, name);
        const Job job{.algorithm = algorithm,
                      .ranks = 3,
                      .root = int(random() % 3),
                      .in_place = random() % 2 == 0,
                      .count = elements * (algorithm->chunks(3) == 1 ? 1 : 3)};
        PLAIT_TRY(run_job(job, rank, r));
      }
    }
    return {};
  });
}

// Own blocks of several segments are copied as they go into parts, or by themselves where that does not go
// on: in shorter messages, and where parts come from where the block lies.
TEST_P(MachineOnFake, OwnBlocksAreCopiedAlongWithSends) {
  const uint64_t seed = uint64_t(GetParam());
  World setup{.ranks = 2 + int(seed % 2), .fabric = moods(seed)};
  setup.shared = [&](int rank) { return rank == 0 ? Shared::none : Shared::output_only; };
  SCOPED_TRACE("seed " + std::to_string(seed));
  run_ranks(setup, [&](int rank, Rank& r) -> Status {
    std::mt19937_64 random(seed);
    for (int k = 0; k < 12; k++) {
      const Job job{.algorithm = find_algorithm(Collective::allgather, k % 4 == 3 ? "direct" : "ring"),
                    .ranks = setup.ranks,
                    .count = (k % 3 == 0 ? 200'000 : 50'000) + random() % 9,
                    .segment_bytes = k % 2 == 0 ? kSegmentBytes : 5 * transport::kPartBytes,
                    .store = random() % 2 == 0 ? Store::past_cache : Store::plain};
      PLAIT_TRY(run_job(job, rank, r));
    }
    return {};
  });
}

// What is short enough carries credit, whether it is a round's or not: none travels alone.
TEST_P(MachineOnFake, ShortMessagesCarryCredit) {
  const uint64_t seed = uint64_t(GetParam());
  World setup{.ranks = 2, .fabric = moods(2 * seed + 1)};
  run_ranks(setup, [&](int rank, Rank& r) -> Status {
    for (uint32_t k = 0; k < 5 * transport::kLines; k++) {
      const Job job{.algorithm = find_algorithm(Collective::allreduce, "all_to_all"),
                    .ranks = 2,
                    .in_place = k % 2 == 0,
                    .count = 1 + k % 12};
      PLAIT_TRY(run_job(job, rank, r));
    }
    EXPECT_EQ(r.credit_alone(1 - rank), 0U);
    return {};
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, MachineOnFake, testing::Range(1, 7));

// A root of a broadcast that others are not ready for goes on, as long as messages are copied.
TEST(Eager, SendersDoNotWaitForReceivers) {
  for (size_t bytes : {size_t(512), kInlineBytes, size_t(1000), kEagerBytes}) {
    SCOPED_TRACE(bytes);
    World setup;
    setup.fabric.mapped = true;
    setup.eager_bytes = kEagerBytes;
    std::atomic<bool> sent{false};
    run_ranks(setup, [&](int rank, Rank& r) -> Status {
      const Deadline deadline = Deadline::in_ms(10'000);
      for (; rank == 1 && !sent && !deadline.passed();) r.poll();
      const Job job{.algorithm = find_algorithm(Collective::broadcast, "binomial"),
                    .ranks = 2,
                    .count = bytes / sizeof(float)};
      Status status = run_job(job, rank, r);
      if (rank == 1 && deadline.passed()) return {Code::timeout, "rank 0 waited for rank 1"};
      sent = true;
      return status;
    });
  }
}

}  // namespace
}  // namespace plait::collectives::real::test
