#include "collectives/chain.h"

#include "collectives/algorithm/direct.h"
#include "unit/collectives/programs.h"

namespace plait::collectives {
namespace {

using Ends = std::vector<uint32_t>;

Place scratch(uint32_t slot) { return place(Buffer::scratch, slot); }
Place out() { return place(Buffer::output, 0); }
Place in() { return place(Buffer::input, 0); }
Step recv(Place dst, int peer, uint8_t flags = kChain) {
  return {.op = Op::recv, .flags = flags, .peer = peer, .dst = dst, .chunk = 0, .count = 1};
}
Step fold(Place dst, Place left, Place right, uint8_t flags = 0) {
  return {.op = Op::reduce, .flags = flags, .dst = dst, .src = left, .src2 = right, .chunk = 0, .count = 1};
}
Step recv_fold(Place dst, Place src, int peer, uint8_t flags) {
  return {
      .op = Op::recv_reduce, .flags = flags, .peer = peer, .dst = dst, .src = src, .chunk = 0, .count = 1};
}

Result<Ends> ends(std::vector<Step> steps) {
  Program p;
  p.chunks = 2;
  p.scratch = 8;
  p.steps = std::move(steps);
  EXPECT_EQ(derive_dependencies(p), "");
  return chain_ends(p);
}
void expect_refused(std::vector<Step> steps, std::string_view part) {
  auto result = ends(std::move(steps));
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.status().text().find(part), std::string_view::npos) << result.status().text();
}

TEST(Chain, EachStepKnowsTheEnd) {
  auto result = ends({recv(scratch(0), 1), recv(scratch(1), 2), fold(scratch(2), in(), scratch(0), kChain),
                      fold(out(), scratch(2), scratch(1), kLast), recv(scratch(0), 1, 0)});
  ASSERT_TRUE(result.ok()) << result.status().text();
  EXPECT_EQ(*result, (Ends{3, 3, 3, 3, 4}));
}

TEST(Chain, OfReceivesThatFold) {
  auto result = ends({recv_fold(scratch(0), in(), 1, kChain), recv_fold(scratch(0), scratch(0), 2, kChain),
                      recv_fold(out(), scratch(0), 3, kLast)});
  ASSERT_TRUE(result.ok()) << result.status().text();
  EXPECT_EQ(*result, (Ends{2, 2, 2}));
}

TEST(Chain, Refused) {
  auto head = fold(scratch(2), in(), scratch(0), kChain);
  expect_refused(
      {recv(scratch(0), 1), fold(out(), in(), scratch(0)), fold(scratch(3), in(), scratch(0))},
      "rank 0 step 2 (reduce chunk 0+1 of input[0] and scratch[0] into scratch[3]): reads a value inside a "
      "chain once more");
  expect_refused({recv(scratch(0), 1)},
                 "rank 0 step 0 (recv chunk 0+1 from rank 1 lane 0 into scratch[0], chain): is "
                 "to be continued by a fold, and none reads it");
  expect_refused({recv(scratch(0), 1), recv(scratch(0), 1)}, "rank 0 step 0");
  expect_refused({recv(scratch(0), 1, 0), head, fold(out(), in(), scratch(2))}, "as the right operand");
  expect_refused({recv(scratch(0), 1, 0), head, recv_fold(out(), scratch(2), 1, kSwapped)},
                 "as the right operand");
  expect_refused(
      {recv(scratch(0), 1, 0), head, {.op = Op::copy, .dst = out(), .src = scratch(2), .count = 1}},
      "reads a value inside the chain of rank 0 step 1");
  expect_refused({recv(scratch(0), 1, 0), fold(out(), in(), scratch(0), kChain | kLast)},
                 "cannot be the last");
  expect_refused({{.op = Op::copy, .flags = kChain, .dst = out(), .src = in(), .count = 1}},
                 "neither a receive nor a");
  expect_refused({recv(scratch(0), 1, kLast)}, "only a fold can complete a chunk");
  Step wide = fold(out(), place(Buffer::input, 0), scratch(2));
  wide.count = 2;
  expect_refused({recv(scratch(2), 1), wide}, "folds other chunks than rank 0 step 0");
}

// A chain is one event: two receives of one stream, or two through one slot, would wait for each other for
// ever.
TEST(Chain, ThatWaitsForItselfDeadlocks) {
  auto append = [](Builder& b, const Group& g) {
    if (g.me == 0) {
      b.send(1, {0, 1});
      b.recv(1, {0, 1}, 1);
      return;
    }
    Place x = b.recv_aside(0, {0, 1}, 0, kChain);
    b.fold_chain({0, 1}, std::vector<Place>{x, kNowhere}, kLast);
    b.send(0, {0, 1}, 1);
  };
  Proof proof = prove({Collective::allreduce}, programs_of(Collective::allreduce, 2, 1, false, append));
  EXPECT_TRUE(proof.status.ok()) << proof.status.text();

  auto twice = [](Builder& b, const Group& g) {
    if (g.me == 0) {
      b.send(1, {0, 1});
      b.send(1, {0, 1});
      b.recv(1, {0, 1}, 1);
      return;
    }
    std::vector<Place> operands{kNowhere, b.recv_aside(0, {0, 1}, 0, kChain),
                                b.recv_aside(0, {0, 1}, 0, kChain)};
    b.fold_chain({0, 1}, operands, kLast);
    b.send(0, {0, 1}, 1);
  };
  proof = prove({Collective::allreduce}, programs_of(Collective::allreduce, 2, 1, false, twice));
  ASSERT_FALSE(proof.status.ok());
  EXPECT_NE(proof.status.text().find("deadlock with 1 credits a stream"), std::string_view::npos)
      << proof.status.text();
}

TEST(Chain, ThroughOneSlotDeadlocks) {
  auto append = [](Builder& b, const Group& g) {
    if (g.me != 0) {
      b.send(0, {0, 1});
      return b.recv(0, {0, 1}, 1);
    }
    Place slot = b.temp(), sum = b.temp();
    auto receive = [&](int peer) {
      b.emit({.op = Op::recv, .flags = kChain, .peer = peer, .dst = slot, .chunk = 0, .count = 1});
    };
    receive(1);
    b.reduce({0, 1}, sum, b.cur(0), slot, kChain);
    receive(2);
    b.reduce({0, 1}, b.home(0), sum, slot, kLast);
    b.settle({0, 1}, b.home(0));
    for (int peer : {1, 2}) b.send(peer, {0, 1}, 1);
  };
  Proof proof = prove({Collective::allreduce}, programs_of(Collective::allreduce, 3, 1, false, append));
  ASSERT_FALSE(proof.status.ok());
  EXPECT_NE(proof.status.text().find("rank 0 step 2 (recv chunk 0+1 from rank 2"), std::string_view::npos)
      << proof.status.text();
}

// Every rank's fold would overwrite what it is still sending, and all would wait for each other's folds.
TEST(Chain, AllToAllInPlaceNeedsACredit) {
  const Algorithm& all_to_all = algorithm(Collective::allreduce, "all_to_all");
  EXPECT_EQ(prove({Collective::allreduce}, programs_of(all_to_all, 4, true)).min_credits, 1);
  EXPECT_EQ(prove({Collective::allreduce}, programs_of(all_to_all, 4, false)).min_credits, 0);
}

TEST(Chain, RoundsOtherwiseThanPairs) {
  auto append = [](Builder& b, const Group& g) {  // the same tree, but only rank 0 declares the chain
    b.send(g.at(g.me + 1), {0, 1});
    b.send(g.at(g.me + 2), {0, 1});
    std::vector<Place> x(3, kNowhere);
    uint8_t flag = g.me == 0 ? kChain : 0;
    for (int k : {1, 2}) x[size_t(mod(g.me + k, 3))] = b.recv_aside(g.at(g.me + k), {0, 1}, 0, flag);
    if (g.me == 0) return b.fold_chain({0, 1}, x, kLast);
    x[size_t(g.me)] = b.cur(0);
    Place sum = b.temp();
    b.reduce({0, 1}, sum, x[0], x[1]);
    b.reduce({0, 1}, b.home(0), sum, x[2], kLast);
    b.settle({0, 1}, b.home(0));
  };
  Proof proof = prove({Collective::allreduce}, programs_of(Collective::allreduce, 3, 1, false, append));
  ASSERT_FALSE(proof.status.ok());
  EXPECT_NE(proof.status.text().find("((0+1)+2), there (0+1+2)"), std::string_view::npos)
      << proof.status.text();
}

}  // namespace
}  // namespace plait::collectives
