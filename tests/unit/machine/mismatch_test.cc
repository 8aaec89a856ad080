// Two ranks that disagree about how long a message is: whoever receives it says so, in whatever form it
// comes.
#include <gtest/gtest.h>

#include "job.h"

namespace plait::collectives::real::test {
namespace {

constexpr uint64_t kSegment = 1024;  // elements

// Elements that rank 0 sends, and that rank 1 expects.
struct Disagreement {
  uint64_t sent, expected;
};

void disagree(World setup, const Disagreement& d) {
  SCOPED_TRACE(std::to_string(d.sent) + " elements sent, " + std::to_string(d.expected) + " expected" +
               (setup.fabric.mapped ? ", mapped" : ""));
  setup.ranks = 2;
  run_ranks(setup, [&](int rank, Rank& r) -> Status {
    const Job job{.algorithm = find_algorithm(Collective::alltoall, "pairwise"),
                  .ranks = 2,
                  .uneven = true,
                  .segment_bytes = kSegment * 4};
    View view(job, rank);
    for (auto* parts : {&view.inputs(), &view.outputs()}) *parts = {{0, 3}, {3, 3}};
    (rank == 0 ? view.inputs()[1] : view.outputs()[0]).elements = rank == 0 ? d.sent : d.expected;
    if (rank == 1) view.outputs()[1].offset = 10000;
    std::fill_n(r.input(), Rank::kRoom, std::byte{7});
    const Status status = call_job(job, view, rank, r);
    if (rank == 0) {
      EXPECT_TRUE(status.ok() || status.code() == Code::aborted) << status.text();
      return {};
    }
    EXPECT_EQ(status.code(), Code::mismatch) << status.text();
    const std::string want = "rank 0 sends " + std::to_string(4 * d.sent) + " bytes, rank 1 expects " +
                             std::to_string(4 * d.expected);
    EXPECT_NE(status.text().find(want), std::string::npos) << status.text();
    EXPECT_TRUE(std::all_of(r.output(), r.output() + 64, [](std::byte b) { return b == std::byte{0}; }))
        << "something was written before the lengths were compared";
    return {};
  });
}

TEST(Mismatch, OfLengthsIsSaidByTheReceiver) {
  for (bool mapped : {false, true}) {
    for (const Disagreement& d : {Disagreement{4, 5},
                                  {5, 4},
                                  {0, 4},
                                  {4, 0},
                                  {0, 5000},
                                  {5000, 0},
                                  {300, 301},
                                  {301, 300},
                                  {10, 700},
                                  {700, 10},
                                  {kSegment, kSegment + 1},
                                  {kSegment + 1, kSegment},
                                  {4 * kSegment, 9 * kSegment}}) {
      World setup;
      setup.fabric.mapped = mapped;
      disagree(setup, d);
    }
  }
}

// What no message would tell, as no message is sent.
TEST(Mismatch, OfARanksOwnPartsIsRefused) {
  World setup;
  setup.ranks = 1;
  run_ranks(setup, [&](int rank, Rank& r) -> Status {
    const Job job{.algorithm = find_algorithm(Collective::alltoall, "pairwise"), .ranks = 1, .uneven = true};
    View view(job, rank);
    view.inputs() = {{0, 5}};
    view.outputs() = {{0, 4}};
    const Status status = call_job(job, view, rank, r);
    EXPECT_EQ(status.code(), Code::invalid) << status.text();
    return {};
  });
}

}  // namespace
}  // namespace plait::collectives::real::test
