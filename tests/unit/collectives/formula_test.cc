// In the room of textbooks the cost machine finds what the literature says, exactly: for each row of the
// table that has a formula (choice/outline.cc), and those of the papers once more, written out here.
#include <cmath>

#include "collectives/choice/outline.h"
#include "collectives/machine/cost.h"
#include "unit/collectives/programs.h"

namespace plait::collectives {
namespace {

constexpr double kAlpha = 3e-6, kBeta = 1e-9, kGamma = 2.5e-10;
constexpr double kExact = 1e-9;

// The vector divides evenly into the chunks of every number of ranks below.
uint64_t bytes_for(const Algorithm& a, int n) {
  return a.collective == Collective::barrier ? 0 : uint64_t{4800} * a.chunks(n);
}

double simulated(const Algorithm& a, int n, bool in_place, int root = 0) {
  auto result = cost(programs_of(a, n, in_place, root), even_sizes(bytes_for(a, n), a.chunks(n)),
                     textbook_room(n, kAlpha, kBeta, kGamma));
  EXPECT_TRUE(result.ok()) << result.status().text();
  return result.ok() ? result->seconds : 0;
}

const int kRanks[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 31, 32, 33, 63, 64, 65};

class Formula : public testing::TestWithParam<Algorithm> {};

TEST_P(Formula, IsWhatTheCostMachineFinds) {
  const Algorithm& a = GetParam();
  for (int n : kRanks) {
    if (!a.accepts(n)) continue;
    auto outline = outline_of(a.collective, a.name, n);
    if (!outline) GTEST_SKIP() << "no formula";
    const double want = outline->textbook(double(bytes_for(a, n)), kAlpha, kBeta, kGamma);
    for (bool in_place : {false, true}) {
      const std::string where = std::to_string(n) + (in_place ? " ranks, in place" : " ranks");
      const double found = simulated(a, n, in_place);
      EXPECT_LE(found, want * (outline->rough ? 1.15 : 1 + kExact)) << where;
      EXPECT_GE(found, want * (outline->rough ? .5 : 1 - kExact)) << where;
      // What a root folds while messages come depends on which comes first.
      if (!rooted(a.collective) || outline->hidden > 0 || outline->rough) continue;
      EXPECT_NEAR(simulated(a, n, in_place, n / 2), want, want * kExact) << where << ", root " << n / 2;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Formula, testing::ValuesIn(algorithms().begin(), algorithms().end()),
                         [](const auto& test) {
                           return std::string(test.param.name) + "_" +
                                  std::string(name_of(test.param.collective));
                         });

// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in MPICH (2005).
double ring(double p, double m) {
  return 2 * (p - 1) * kAlpha + 2 * (p - 1) / p * m * kBeta + (p - 1) / p * m * kGamma;
}

double recursive_doubling(double p, double m) { return std::log2(p) * (kAlpha + m * kBeta + m * kGamma); }
double rabenseifner(double p, double m) {
  return 2 * std::log2(p) * kAlpha + 2 * (p - 1) / p * m * kBeta + (p - 1) / p * m * kGamma;
}
// The same with the ranks beyond the largest power of two below n, p', which hand over and hear from others.
double uneven_doubling(double p, double m) {
  const double d = std::floor(std::log2(p));
  return (d + 2) * (kAlpha + m * kBeta) + (d + 1) * m * kGamma;
}
double uneven_rabenseifner(double p, double m) {
  const double d = std::floor(std::log2(p)), q = std::exp2(d);
  return (2 * d + 2) * kAlpha + (2 * (q - 1) / q + 2) * m * kBeta + ((q - 1) / q + 1) * m * kGamma;
}

void expect_allreduce(std::string_view name, int n, double (*formula)(double p, double m),
                      double within = kExact) {
  const Algorithm* a = find_algorithm(Collective::allreduce, name);
  ASSERT_NE(a, nullptr) << name;
  const double want = formula(n, double(bytes_for(*a, n)));
  for (bool in_place : {false, true}) {
    EXPECT_NEAR(simulated(*a, n, in_place), want, want * within) << name << " of " << n;
  }
}

TEST(Papers, Ring) {
  for (int n : kRanks) expect_allreduce("ring", n, ring);
}

TEST(Papers, ButterfliesOfPowersOfTwo) {
  for (int n : {2, 4, 8, 16, 32, 64}) {
    expect_allreduce("recursive_doubling", n, recursive_doubling);
    expect_allreduce("rabenseifner", n, rabenseifner);
    expect_allreduce("swing", n, rabenseifner);
    expect_allreduce("bine", n, rabenseifner);
  }
}
// Here the papers count rounds in lockstep, but ranks without a partner outside run ahead of the others.
TEST(Papers, ButterfliesOfOtherNumbers) {
  for (int n : {3, 5, 6, 7, 12, 31, 33, 65}) {
    expect_allreduce("recursive_doubling", n, uneven_doubling, .12);
    expect_allreduce("rabenseifner", n, uneven_rabenseifner, .12);
  }
}

// Nothing is faster than what must be sent, received and folded (Chan, Heimlich, Purkayastha, van de Geijn
// 2007).
TEST(Papers, NothingBeatsTheLowerBounds) {
  for (const Algorithm& a : algorithms()) {
    for (int n : {2, 3, 4, 7, 8, 16, 33}) {
      if (!a.accepts(n)) continue;
      const double p = n, m = double(bytes_for(a, n)), share = (p - 1) / p * m;
      double least = 0;  // of one rank's port; a broadcast passes whole, or in parts to all
      if (a.collective == Collective::allreduce) least = 2 * share * kBeta + share * kGamma;
      if (a.collective == Collective::reduce_scatter) least = share * kBeta + share * kGamma;
      if (a.collective == Collective::allgather || a.collective == Collective::alltoall)
        least = share * kBeta;
      if (a.collective == Collective::gather || a.collective == Collective::scatter) least = share * kBeta;
      if (a.collective == Collective::broadcast || a.collective == Collective::reduce) least = m * kBeta;
      const double rounds = log2_up(n);  // to hear of all, or to tell all
      EXPECT_GE(simulated(a, n, true), least * (1 - kExact)) << a.name << " of " << n;
      EXPECT_GE(simulated(a, n, true), rounds * kAlpha * (1 - kExact)) << a.name << " of " << n;
    }
  }
}

}  // namespace
}  // namespace plait::collectives
