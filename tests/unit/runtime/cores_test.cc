// Who competes for cores with whom.
#include "runtime/cores.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace plait::runtime {
namespace {

Seat seat(uint64_t kernel, std::initializer_list<int> cpus) {
  Seat s;
  s.kernel = kernel;
  CPU_ZERO(&s.cpus);
  for (int cpu : cpus) CPU_SET(cpu, &s.cpus);
  return s;
}

void expect_share(const std::vector<Seat>& seats, size_t mine, int ranks, int cores) {
  const Share share = share_of(seats, mine);
  EXPECT_EQ(share.ranks, ranks) << "rank " << mine;
  EXPECT_EQ(share.cores, cores) << "rank " << mine;
  EXPECT_EQ(share.crowded(), ranks > cores);
}

TEST(Cores, RanksThatAreNotBoundShareAll) {
  const std::vector<Seat> seats(4, seat(1, {0, 1}));
  for (size_t r = 0; r < 4; r++) expect_share(seats, r, 4, 2);
}

TEST(Cores, RanksBoundToACoreEachDoNotCompete) {
  const std::vector<Seat> seats = {seat(1, {0}), seat(1, {1}), seat(1, {700})};
  for (size_t r = 0; r < 3; r++) expect_share(seats, r, 1, 1);
}

TEST(Cores, TwoOnOneCoreAreCrowdedThoughTheOthersAreNot) {
  const std::vector<Seat> seats = {seat(1, {0}), seat(1, {0}), seat(1, {1})};
  expect_share(seats, 0, 2, 1);
  expect_share(seats, 1, 2, 1);
  expect_share(seats, 2, 1, 1);
}

TEST(Cores, CompetitionIsPassedOn) {
  const std::vector<Seat> seats = {seat(1, {0}), seat(1, {1}), seat(1, {0, 1}), seat(1, {2})};
  for (size_t r = 0; r < 3; r++) expect_share(seats, r, 3, 2);
  expect_share(seats, 3, 1, 1);
}

TEST(Cores, OtherKernelsHaveOtherCores) {
  const std::vector<Seat> seats = {seat(1, {0, 1}), seat(2, {0, 1}), seat(1, {0, 1}), seat(2, {0, 1})};
  for (size_t r = 0; r < 4; r++) expect_share(seats, r, 2, 2);
}

TEST(Cores, WhatIsNotKnownIsAllCoresOrNobodyElse) {
  const std::vector<Seat> seats = {seat(1, {}), seat(1, {0}), seat(0, {0}), seat(0, {0})};
  EXPECT_EQ(share_of(seats, 0).ranks, 2);
  EXPECT_EQ(share_of(seats, 1).ranks, 2);
  EXPECT_EQ(share_of(seats, 2).ranks, 1);
  const std::vector<Seat> more = {seat(1, {}), seat(1, {0}), seat(1, {1})};
  for (size_t r = 0; r < 3; r++) EXPECT_EQ(share_of(more, r).ranks, 3) << "rank " << r;
}

std::vector<int32_t> first_cores(const std::vector<Seat>& seats, int32_t near) {
  std::vector<int32_t> cores;
  for (size_t r = 0; r < seats.size(); r++)
    cores.push_back(first_core(share_of(seats, r), near, int32_t(r) % near));
  return cores;
}

TEST(Cores, RanksOfAHostBeginOnOneEach) {
  const std::vector<int32_t> alone = {0, 1, 2, 3}, two = {0, 1, 0, 1};
  EXPECT_EQ(first_cores(std::vector<Seat>(4, seat(1, {0, 1})), 4), alone);
  const Seat here = seat(1, {0}), there = seat(2, {0});
  EXPECT_EQ(first_cores({here, here, there, there}, 2), two);
}

TEST(Cores, RanksOfAHostBeginOnTheSameWhereHostsShareThem) {
  const std::vector<int32_t> two = {0, 0, 1, 1}, three = {0, 0, 0, 1, 1, 1}, wide = {0, 0, 1, 2, 2, 3};
  const Seat here = seat(1, {0, 1});
  EXPECT_EQ(first_cores(std::vector<Seat>(4, here), 2), two);
  EXPECT_EQ(first_cores(std::vector<Seat>(6, here), 2), three);
  EXPECT_EQ(first_cores(std::vector<Seat>(6, seat(1, {0, 1, 2, 3})), 2), wide);
}

TEST(Cores, ThisThreadHasSome) {
  const Seat mine = my_seat();
  EXPECT_NE(mine.kernel, 0U);
  EXPECT_GT(CPU_COUNT(&mine.cpus), 0);
  EXPECT_EQ(my_seat().kernel, mine.kernel);
}

TEST(Cores, FewestOfAllHosts) {
  const std::vector<int32_t> one(4, 0), two = {0, 0, 1, 1};
  const Seat both = seat(1, {0, 1});
  EXPECT_EQ(fewest_cores(std::vector<Seat>(4, both), one), 2);
  EXPECT_EQ(fewest_cores(std::vector<Seat>(4, seat(1, {0, 1, 2, 3})), one), 0);
  // Containers of one machine share its cores.
  EXPECT_EQ(fewest_cores(std::vector<Seat>(4, both), two), 1);
  const std::vector<Seat> crowded = {both, both, seat(2, {0}), seat(2, {0})};
  EXPECT_EQ(fewest_cores(crowded, two), 1);
  EXPECT_EQ(fewest_cores(std::vector<Seat>{both, both, seat(2, {5}), seat(2, {6})}, two), 0);
  // Where one does not say where it may run, nothing is concluded.
  EXPECT_EQ(fewest_cores(std::vector<Seat>{both, both, both, seat(1, {})}, one), 0);
  EXPECT_EQ(fewest_cores(std::vector<Seat>{both, both, both, seat(0, {0})}, one), 0);
}

}  // namespace
}  // namespace plait::runtime
