// What the table says after predictions were put into it.
#include <vector>

#include "costs_table.h"
#include "nccl-tuner/costs.h"

namespace plait::nccl::tuner {
namespace {

// NCCL's numbers, as its headers have them.
static_assert(int(TunerAlgorithm::tree) == 0 && int(TunerAlgorithm::ring) == 1 &&
              int(TunerAlgorithm::pat) == 6);
static_assert(int(TunerAlgorithm::nvls) == 4 && int(TunerAlgorithm::nvls_tree) == 5);
static_assert(int(Protocol::ll) == 0 && int(Protocol::ll128) == 1 && int(Protocol::simple) == 2);
static_assert(int(Function::broadcast) == 0 && int(Function::allreduce) == 4 && not_offered == -1.0F);
static_assert(offsetof(TunerV4, get_coll_info) == 16 && offsetof(TunerV4, destroy) == 24);
static_assert(offsetof(TunerV5, init) == 8 && offsetof(TunerV5, finalize) == 24);
static_assert(sizeof(TunerConstantsV5) == 1152 && sizeof(NvlDomainsV5) == 12);

using A = TunerAlgorithm;
using P = Protocol;

// Tree 10, 20, 30 us; ring 1, 2, 3; PAT has none.
Times some_times() { return {{{10e-6, 20e-6, 30e-6}, {1e-6, 2e-6, 3e-6}, {-1, -1, -1}}}; }
void put(const Times& times, CostsTable& t) {
  put_costs(times, Table(&t.time[0][0], tuner_algorithms, tuner_protocols));
}

TEST(CostsTable, HasPredictionsWhereNcclOffersThem) {
  CostsTable t;
  t.at(A::tree, P::ll) = 7;
  t.at(A::ring, P::simple) = 9;
  put(some_times(), t);
  EXPECT_FLOAT_EQ(t.at(A::tree, P::ll), 10);
  EXPECT_FLOAT_EQ(t.at(A::ring, P::simple), 3);
  for (int a = 0; a < tuner_algorithms; a++)
    for (int p = 0; p < tuner_protocols; p++) {
      const bool offered = (A(a) == A::tree && P(p) == P::ll) || (A(a) == A::ring && P(p) == P::simple);
      if (!offered) {
        EXPECT_EQ(t.time[a][p], not_offered) << a << ", " << p;
      }
    }
}

// NCCL took NVLS over the best that plait knows, and PAT not: so it stays.
TEST(CostsTable, WhatPlaitDoesNotKnowKeepsItsPlace) {
  CostsTable t = ring_and_tree();
  t.at(A::ring, P::ll128) = 50;
  t.at(A::ring, P::ll) = t.at(A::ring, P::simple) = 80;
  for (int p = 0; p < tuner_protocols; p++) t.time[int(A::tree)][p] = 60;
  t.at(A::nvls, P::simple) = 25;
  t.at(A::pat, P::simple) = 100;
  put(some_times(), t);
  EXPECT_FLOAT_EQ(t.at(A::nvls, P::simple), 0.5);  // half of the best: of 1 us now
  EXPECT_FLOAT_EQ(t.at(A::pat, P::simple), 2);
  EXPECT_EQ(t.best(), std::pair(A::nvls, P::simple));
}

TEST(CostsTable, NothingIsWrittenWherePlaitKnowsNone) {
  CostsTable t;
  t.at(A::nvls, P::simple) = 25;
  t.at(A::pat, P::simple) = 26;
  put(some_times(), t);
  EXPECT_EQ(t.at(A::nvls, P::simple), 25);
  EXPECT_EQ(t.at(A::pat, P::simple), 26);
}

// Sums of 8-bit floats: NCCL makes rings 1024 times as dear, and they have to stay the last.
TEST(CostsTable, ARingThatNcclPutLastStaysThere) {
  CostsTable t = ring_and_tree();
  for (int p = 0; p < tuner_protocols; p++) t.time[int(A::ring)][p] = 1024;
  put(some_times(), t);
  EXPECT_FLOAT_EQ(t.at(A::tree, P::ll), 10);
  EXPECT_FLOAT_EQ(t.at(A::ring, P::ll), 10240);
  EXPECT_EQ(t.best().first, A::tree);
}

TEST(CostsTable, MayBeOfAnotherSize) {
  float small[1][2] = {{5, 6}};  // trees only
  put_costs(some_times(), Table(&small[0][0], 1, 2));
  EXPECT_FLOAT_EQ(small[0][1], 20);
  std::vector<float> large(size_t{9} * 5, 4);
  put_costs(some_times(), Table(large.data(), 9, 5));
  EXPECT_FLOAT_EQ(large[5], 1);      // ring, LL
  EXPECT_FLOAT_EQ(large[5 + 4], 1);  // a protocol of the future: as good as the best then, and now
  put_costs(some_times(), Table(nullptr, 0, 0));
}

TEST(CostsTable, NoTimeOfNcclsIsNoScale) {
  CostsTable t(0);
  put(some_times(), t);
  EXPECT_FLOAT_EQ(t.at(A::ring, P::ll), 1);
  EXPECT_FLOAT_EQ(t.at(A::nvls, P::simple), 0);
}

}  // namespace
}  // namespace plait::nccl::tuner
