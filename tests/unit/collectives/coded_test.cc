// Programs whose messages are encoded: proved like the rest, for every algorithm of the table.
#include "collectives/coded.h"

#include <map>
#include <set>

#include "collectives/chunkwise.h"
#include "collectives/compose.h"
#include "collectives/hierarchy.h"
#include "unit/collectives/programs.h"

namespace plait::collectives {
namespace {

// `between`: are messages of these two ranks encoded?
using Between = std::function<bool(int, int)>;

std::vector<Program> all_coded(Collective collective, const std::vector<Program>& programs, int root = 0,
                               bool exact = false, const Between& between = {}) {
  std::vector<Program> all;
  const int n = int(programs.size());
  for (const Program& p : programs) {
    Coded how{.outputs = output_of(collective, n, p.rank, root, p.chunks), .exact = exact};
    for (int r = 0; between && r < n; r++) how.peers.push_back(between(p.rank, r));
    auto made = coded(chunkwise(p), how);
    EXPECT_TRUE(made.ok()) << made.status().text();
    if (made.ok()) all.push_back(std::move(*made));
  }
  return all;
}

size_t count(const Program& p, Op op) {
  return size_t(std::count_if(p.steps.begin(), p.steps.end(), [&](const Step& s) { return s.op == op; }));
}

TEST(Coded, EveryProgramOfTheTableIsProvedWithNoMoreCredits) {
  for (const Algorithm& a : algorithms()) {
    if (a.collective == Collective::alltoall || a.collective == Collective::barrier) continue;
    for (int n : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 33}) {
      if (!a.accepts(n)) continue;
      for (bool in_place : {false, true}) {
        for (bool exact : {false, true}) {
          const int root = rooted(a.collective) ? n / 2 : 0;
          SCOPED_TRACE(testing::Message() << a.name << " " << name_of(a.collective) << ", " << n << " ranks"
                                          << (in_place ? ", in place" : "") << (exact ? ", exact" : ""));
          const Proof proof = prove({a.collective, root, exact},
                                    all_coded(a.collective, programs_of(a, n, in_place, root), root, exact));
          if (a.one_wire || exact || n < 3) {
            ASSERT_TRUE(proof.status.ok()) << proof.status.text();
            EXPECT_LE(proof.min_credits, n > 1 ? a.min_credits[in_place] : 0);
          } else {
            // A rank that has a result encodes it for one that lacks it, and others have it by themselves.
            expect_refused(proof, {"associated otherwise"});
          }
        }
      }
    }
  }
}

std::vector<Program> composed(const char* name, std::vector<std::vector<int>> sizes) {
  std::vector<Program> programs;
  auto hierarchy = Hierarchy::make(std::move(sizes), {});
  EXPECT_TRUE(hierarchy.ok()) << hierarchy.status().text();
  auto composition = Composition::make(Collective::allreduce, name, std::move(*hierarchy));
  EXPECT_TRUE(composition.ok()) << composition.status().text();
  for (int r = 0; r < composition->n(); r++) {
    auto program = composition->build(r, 0, true);
    EXPECT_TRUE(program.ok());
    programs.push_back(std::move(*program));
  }
  return programs;
}

// Hosts of two ranks, and of two and one, whose one rank owns two shards.
TEST(Coded, LevelsAreEncodedWhereTheyAreSlow) {
  for (const auto& sizes : {std::vector<std::vector<int>>{{2, 2, 2}, {3}}, {{2, 1}, {2}}, {{1, 3, 2}, {3}}}) {
    std::vector<int> host;
    for (size_t h = 0; h < sizes[0].size(); h++) host.insert(host.end(), size_t(sizes[0][h]), int(h));
    const Between hosts = [&](int a, int b) { return host[size_t(a)] != host[size_t(b)]; };
    for (const char* name : {"ring/ring", "direct/ring", "ring/all_to_all", "binomial/ring", "direct/direct",
                             "star/rabenseifner", "direct/all_to_all"}) {
      SCOPED_TRACE(name);
      auto made = all_coded(Collective::allreduce, composed(name, sizes), 0, false, hosts);
      const Proof proof = prove({Collective::allreduce}, made);
      ASSERT_TRUE(proof.status.ok()) << proof.status.text();
      EXPECT_EQ(proof.min_credits, 0);
      for (const Program& p : made) {
        for (const Step& s : p.steps) {
          const bool wire = s.src.in() == Buffer::wire;
          EXPECT_TRUE(!sends(s.op) || wire == hosts(p.rank, s.peer)) << describe(s);
        }
      }
      const Proof all =
          prove({Collective::allreduce}, all_coded(Collective::allreduce, composed(name, sizes)));
      // Who has a result by itself, as all have it, encodes it for its neighbours: each one's is another.
      const bool each_for_itself = std::string_view(name).ends_with("all_to_all");
      EXPECT_EQ(all.status.ok(), !each_for_itself) << all.status.text();
    }
  }
}

TEST(Coded, ARingEncodesEachChunkOnceAndForwardsWires) {
  auto programs =
      all_coded(Collective::allreduce, programs_of(algorithm(Collective::allreduce, "ring"), 4, true));
  for (const Program& p : programs) {
    EXPECT_EQ(count(p, Op::encode), 4u) << text_of(p);         // three partial sums, and its own result
    EXPECT_EQ(count(p, Op::decode_reduce), 3u) << text_of(p);  // at each hop
    EXPECT_EQ(count(p, Op::decode), 4u) << text_of(p);         // each result once, its own, too
    EXPECT_EQ(count(p, Op::send), 6u);
  }
}

// Compress once, exchange, decode and add: what is called "at the edge".
TEST(Coded, AllToAllEncodesOnceAndFoldsEveryWireAsItIsDecoded) {
  for (bool in_place : {false, true}) {
    auto programs = all_coded(Collective::allreduce,
                              programs_of(algorithm(Collective::allreduce, "all_to_all"), 5, in_place));
    for (const Program& p : programs) {
      EXPECT_EQ(count(p, Op::encode), 1u) << text_of(p);
      EXPECT_EQ(count(p, Op::decode), 1u) << text_of(p);  // rank 0's, which is folded on
      EXPECT_EQ(count(p, Op::decode_reduce), 4u) << text_of(p);
      EXPECT_EQ(count(p, Op::copy) + count(p, Op::reduce), 0u) << text_of(p);
    }
  }
}

TEST(Coded, AnExactCodecLeavesValuesWhereTheyAre) {
  auto programs = all_coded(Collective::allreduce,
                            programs_of(algorithm(Collective::allreduce, "ring"), 3, true), 0, true);
  for (const Program& p : programs) EXPECT_EQ(count(p, Op::decode), 2u) << text_of(p);  // not its own
}

TEST(Coded, ProgramsOfSeveralChunksAStepAreRefused) {
  Program p;
  p.chunks = 2;
  p.steps = {{.op = Op::send, .peer = 1, .src = place(Buffer::input, 0), .chunk = 0, .count = 2}};
  ASSERT_EQ(derive_dependencies(p), "");
  const auto made = coded(p, {});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), Code::unsupported);
}

// What the proof refuses.
std::vector<Program> pair_of(std::vector<Step> first, std::vector<Step> second) {
  std::vector<Program> programs(2);
  for (int r = 0; r < 2; r++) {
    Program& p = programs[size_t(r)];
    p.rank = r;
    p.chunks = p.scratch = 1;
    p.wires = 2;
    p.steps = r == 0 ? first : second;
    EXPECT_EQ(derive_dependencies(p), "");
  }
  return programs;
}
constexpr Place kIn = place(Buffer::input, 0), kOut = place(Buffer::output, 0),
                kWire = place(Buffer::wire, 0);
constexpr Place kScratch = place(Buffer::scratch, 0);

Step step(Op op, Place dst, Place src, Place src2 = kNowhere, int peer = -1) {
  return {.op = op, .peer = peer, .dst = dst, .src = src, .src2 = src2, .chunk = 0, .count = 1};
}

TEST(CodedProof, RefusesAWireThatIsFolded) {
  expect_refused(prove({Collective::allreduce},
                       pair_of({step(Op::encode, kWire, kIn), step(Op::reduce, kOut, kIn, kWire)}, {})),
                 {"rank 0 step 1", "folds a wire without decoding it"});
}
TEST(CodedProof, RefusesAWireThatIsTakenForAValue) {
  expect_refused(prove({Collective::allreduce},
                       pair_of({step(Op::encode, kWire, kIn), step(Op::send, kNowhere, kWire, kNowhere, 1)},
                               {step(Op::recv, kOut, kNowhere, kNowhere, 0)})),
                 {"one is of a wire, the other of a value"});
}
TEST(CodedProof, RefusesAWireThatWasNeverWritten) {
  expect_refused(prove({Collective::allreduce}, pair_of({step(Op::decode, kOut, kWire)}, {})),
                 {"wire[0], where nothing lies yet"});
}
TEST(CodedProof, RefusesCodecsBetweenOtherPlaces) {
  expect_refused(prove({Collective::allreduce}, pair_of({step(Op::encode, kScratch, kIn)}, {})),
                 {"encodes not from a value to a wire"});
  expect_refused(prove({Collective::allreduce}, pair_of({step(Op::decode, kOut, kIn)}, {})),
                 {"decodes not from a wire to a value"});
}
// Each rank's own value is what it had, the other's what the codec left.
TEST(CodedProof, RefusesRanksThatKeepWhatTheyEncoded) {
  auto steps = [](int peer, uint8_t swapped) {
    std::vector<Step> list = {step(Op::encode, kWire, kIn), step(Op::send, kNowhere, kWire, kNowhere, peer),
                              step(Op::recv, place(Buffer::wire, 1), kNowhere, kNowhere, peer),
                              step(Op::decode_reduce, kOut, kIn, place(Buffer::wire, 1))};
    list.back().flags = uint8_t(kLast | swapped);
    return list;
  };
  expect_refused(prove({Collective::allreduce}, pair_of(steps(1, 0), steps(0, kSwapped))),
                 {"associated otherwise", "encoded by rank 1 step 0"});
  EXPECT_TRUE(prove({Collective::allreduce, 0, true}, pair_of(steps(1, 0), steps(0, kSwapped))).status.ok());
}

}  // namespace
}  // namespace plait::collectives
