// What families promise beyond what the sweep proves: who talks to whom, how far, and in how much scratch.
#include <set>

#include "collectives/algorithm/pat.h"
#include "collectives/algorithm/ring.h"
#include "collectives/algorithm/swing.h"
#include "unit/collectives/programs.h"

namespace plait::collectives {
namespace {

uint32_t messages(const Program& p) {
  uint32_t count = 0;
  for (const Step& s : p.steps) count += s.op == Op::send && !(s.flags & kMore);
  return count;
}
// Of the message that has the most, where in and output are one.
uint32_t pieces(const Program& p) {
  uint32_t most = 0, now = 0, end = 0;
  for (const Step& s : p.steps) {
    if (s.op != Op::send) continue;
    if (now == 0 || s.chunk != end) now++;
    end = s.chunk + s.count;
    most = std::max(most, now);
    if (!(s.flags & kMore)) now = 0;
  }
  return most;
}

TEST(Families, RefuseWhatTheyDoNotTake) {
  for (Collective c : {Collective::allreduce, Collective::reduce_scatter, Collective::allgather}) {
    for (const char* name : {"swing", "bine"}) {
      for (int n : {1, 2, 4, 64, 1024}) EXPECT_TRUE(algorithm(c, name).accepts(n)) << name << n;
      for (int n : {0, 3, 6, 12, 1000}) EXPECT_FALSE(algorithm(c, name).accepts(n)) << name << n;
    }
  }
}

// Partial sums at any time, and messages, of a rank of 1000.
TEST(Families, PatIsBounded) {
  const Algorithm& one = algorithm(Collective::reduce_scatter, "pat");
  const Algorithm& many = algorithm(Collective::reduce_scatter, "pat_16");
  for (int rank : {0, 1, 500, 999}) {
    Program p = one.build(1000, rank, 0, false), q = many.build(1000, rank, 0, false);
    EXPECT_LE(p.scratch, 9u);
    EXPECT_EQ(messages(p), 999u);
    EXPECT_LE(q.scratch, 16u * 9);
    EXPECT_LE(messages(q), 4u + 64);
  }
}

TEST(Families, TreesAndButterfliesAreLogarithmic) {
  struct {
    Collective collective;
    const char* name;
    uint32_t messages;
  } const kMost[] = {
      {Collective::allreduce, "recursive_doubling", 7},
      {Collective::allreduce, "rabenseifner", 14},
      {Collective::allreduce, "swing", 14},
      {Collective::allreduce, "bine", 14},
      {Collective::allgather, "recursive_doubling", 7},
      {Collective::reduce_scatter, "recursive_halving", 7},
      {Collective::broadcast, "binomial", 7},
      {Collective::broadcast, "bine", 7},
      {Collective::broadcast, "knomial_4", 3 * 3 + 1},
      {Collective::allreduce, "double_tree", 2 * 4},
      {Collective::alltoall, "bruck", 7},
      {Collective::barrier, "dissemination", 7},
  };
  for (const auto& most : kMost) {
    for (int rank = 0; rank < 128; rank++) {
      EXPECT_LE(messages(algorithm(most.collective, most.name).build(128, rank, 0, false)), most.messages)
          << most.name << " rank " << rank;
    }
  }
}

TEST(Families, BlocksStayTogether) {
  for (int rank = 0; rank < 64; rank++) {
    EXPECT_EQ(pieces(algorithm(Collective::allreduce, "swing").build(64, rank, 0, true)), 1u);
    EXPECT_EQ(pieces(algorithm(Collective::allreduce, "rabenseifner").build(64, rank, 0, true)), 1u);
    EXPECT_LE(pieces(algorithm(Collective::allgather, "bine").build(64, rank, 0, true)), 2u);
  }
}

TEST(Families, SwingStaysNear) {
  EXPECT_EQ(swing_distance(0), 1);
  EXPECT_EQ(swing_distance(1), -1);
  EXPECT_EQ(swing_distance(4), 11);
  for (int k = 0; k < 6; k++) {
    for (int r = 0; r < 64; r++) EXPECT_EQ(swing_partner(swing_partner(r, k, 64), k, 64), r);
  }
}

// Who is an inner node of one tree is a leaf of the other.
TEST(Families, NobodyIsInnerInBothTrees) {
  for (int n : {2, 3, 4, 7, 8, 33, 64, 100}) {
    for (int rank = 1; rank < n; rank++) {
      std::set<int> lanes;
      for (const Step& s : algorithm(Collective::broadcast, "double_tree").build(n, rank, 0, false).steps) {
        if (s.op == Op::send) lanes.insert(s.lane);
      }
      EXPECT_LE(lanes.size(), 1u) << n << " ranks, rank " << rank;
    }
  }
}

// Rings of coprime strides, each on a lane of its own: as many as there are.
TEST(Families, RingsShareNoLane) {
  for (int n : {1, 2, 3, 6, 7, 12}) {
    for (int rings : {1, 3, 4}) {
      const auto chunks = uint32_t(4 * n);
      auto append = [&](Builder& b, const Group& g) { multi_ring_allreduce(b, g, {0, chunks}, rings); };
      auto programs = programs_of(Collective::allreduce, n, chunks, true, append);
      Proof proof = prove({Collective::allreduce}, programs);
      ASSERT_TRUE(proof.status.ok()) << proof.status.text();
      EXPECT_EQ(proof.min_credits, 0);
      std::set<int> lanes, peers;
      for (const Step& s : programs[0].steps) {
        if (s.op == Op::send) lanes.insert(s.lane), peers.insert(s.peer);
      }
      EXPECT_EQ(lanes.size(), peers.size());  // strides differ, so do neighbours
      EXPECT_TRUE(n != 7 || lanes.size() == size_t(rings));
      EXPECT_TRUE(n != 6 || lanes.size() == size_t(std::min(rings, 2)));
    }
  }
}

// A step of several chunks may be run chunk by chunk: as pieces of one message, or as messages of their own.
TEST(Families, StepsMayBeSplitChunkByChunk) {
  for (const Algorithm& a : algorithms()) {
    for (int n : {2, 3, 4, 8, 13}) {
      if (!a.accepts(n)) continue;
      for (bool joined : {false, true}) {
        auto programs = programs_of(a, n, true, n - 1);
        for (Program& p : programs) {
          std::vector<Step> split;
          for (Step s : p.steps) {
            const bool message = s.op == Op::send || receives(s.op);
            for (uint32_t left = std::exchange(s.count, 1); left > 0; left--) {
              Step one = s;
              if (message && joined && left > 1) one.flags |= kMore;
              if (!joined) one.flags &= uint8_t(~kMore);
              split.push_back(one);
              s.chunk++;
              for (Place* at : {&s.dst, &s.src, &s.src2}) {
                if (at->in() != Buffer::none) *at = place(at->in(), at->slot + 1);
              }
            }
          }
          p.steps = std::move(split);
          ASSERT_EQ(derive_dependencies(p), "");
        }
        Proof proof = prove({a.collective, n - 1}, programs);
        EXPECT_TRUE(proof.status.ok()) << a.name << " " << n << ": " << proof.status.text();
        EXPECT_LE(proof.min_credits, n > 1 ? a.min_credits[1] : 0) << a.name << " " << n;
      }
    }
  }
}

}  // namespace
}  // namespace plait::collectives
