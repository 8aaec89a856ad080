// MSCCL algorithms become programs that are proved.
#include "unit/exchange/sets.h"

namespace plait::collectives::exchange {
namespace {

std::string steps_of(const ProgramSet& set, bool in_place, int rank) {
  std::string text;
  for (const Step& step : set.programs[in_place][size_t(rank)].steps) text += describe(step) + "\n";
  return text;
}

Result<Admitted> admitted(Xml xml) {
  auto set = xml.read();
  return set.ok() ? admit(std::move(*set)) : Result<Admitted>(set.status());
}

TEST(Msccl, RingAllreduceIsProved) {
  for (int n = 2; n <= 6; n++) {
    SCOPED_TRACE(n);
    const auto ring = admitted(ring_allreduce(n, 1, 1));
    ASSERT_TRUE(ring.ok()) << ring.status().text();
    EXPECT_EQ(ring->set.ranks(), n);
    EXPECT_EQ(ring->set.name, "test");
    for (bool in_place : {false, true}) {
      EXPECT_TRUE(ring->fits(Collective::allreduce, n, 0, in_place));
      EXPECT_EQ(ring->min_credits(in_place), 0);
    }
  }
}

TEST(Msccl, VariantsAreThoseOfTheFile) {
  EXPECT_TRUE(admitted(ring_allreduce(3, 1, 0))->set.has(true));
  EXPECT_FALSE(admitted(ring_allreduce(3, 1, 0))->set.has(false));
  EXPECT_FALSE(admitted(ring_allreduce(3, 0, 1))->set.has(true));
  // Old files know 'inplace' alone: they are for one of the two.
  std::string text = ring_allreduce(3, 1, 1).text();
  text.erase(text.find(" outofplace=\"1\""), std::string(" outofplace=\"1\"").size());
  const auto old = from_msccl(text, "a.xml");
  ASSERT_TRUE(old.ok()) << old.status().text();
  EXPECT_TRUE(old->has(true));
  EXPECT_FALSE(old->has(false));
}

// s, rrs, rrcs, rcs and r: what each becomes. Sums on the way go to a temporary, finished ones to the output.
TEST(Msccl, StepsOfTheRing) {
  auto set = ring_allreduce(3, 0, 1).read();
  ASSERT_TRUE(set.ok()) << set.status().text();
  EXPECT_EQ(steps_of(*set, false, 0),
            "send chunk 0+1 from input[0] to rank 1 lane 0\n"
            "recv_reduce chunk 2+1 from rank 2 lane 0 with input[2] into scratch[1]\n"
            "send chunk 2+1 from scratch[1] to rank 1 lane 0\n"
            "recv_reduce chunk 1+1 from rank 2 lane 0 with input[1] into output[1], last\n"
            "send chunk 1+1 from output[1] to rank 1 lane 0\n"
            "recv chunk 0+1 from rank 2 lane 0 into output[0]\n"
            "send chunk 0+1 from output[0] to rank 1 lane 0\n"
            "recv chunk 2+1 from rank 2 lane 0 into output[2]\n");
  EXPECT_EQ(set->origin.lines[0][0], (std::vector<uint32_t>{4, 5, 5, 6, 6, 7, 7, 8}));
}

// Temporaries are used by turns, so that many steps need few.
TEST(Msccl, TemporariesAreUsedAgain) {
  auto set = ring_allreduce(8, 0, 1).read();
  ASSERT_TRUE(set.ok()) << set.status().text();
  EXPECT_EQ(set->programs[0][0].scratch, 2u);
}

TEST(Msccl, CopyAndReduceThroughScratch) {
  Xml xml("allreduce", 2, 2);
  for (int r = 0; r < 2; r++) {
    xml.gpu(2, 2, 2).block(1 - r, 1 - r, 3);
    xml.step("s", at("i", 1 - r, 2), "s0").step("r", "i0", "s1").step("cpy", at("i", r, 2), at("o", r, 2));
    xml.step("re", "s1", at("o", r, 2))
        .step("s", at("o", r, 2), at("o", r, 2))
        .step("r", at("o", 1 - r, 2), at("o", 1 - r, 2));
  }
  const auto set = xml.read();
  ASSERT_TRUE(set.ok()) << set.status().text();
  EXPECT_EQ(steps_of(*set, false, 1),
            "send chunk 0+1 from input[0] to rank 0 lane 3\n"
            "recv chunk 1+1 from rank 0 lane 3 into scratch[1]\n"
            "copy chunk 1+1 from input[1] into output[1]\n"
            "reduce chunk 1+1 of output[1] and scratch[1] into output[1], last\n"
            "send chunk 1+1 from output[1] to rank 0 lane 3\n"
            "recv chunk 0+1 from rank 0 lane 3 into output[0]\n");
  EXPECT_TRUE(admitted(xml).ok()) << admitted(xml).status().text();
}

// In place, input and output are one: a copy between them is nothing, and a write to the input is one to the
// output.
TEST(Msccl, InPlaceInputIsOutput) {
  Xml xml("allreduce", 2, 1, 1, 0);
  xml.gpu(1, 1).block(1, 1).step("cpy", "i0", "o0").step("rrc", "i0", "i0").step("s", "o0", "o0");
  xml.gpu(1, 1).block(0, 0).step("s", "i0", "i0").step("r", "i0", "i0");
  const auto set = xml.read();
  ASSERT_TRUE(set.ok()) << set.status().text();
  EXPECT_EQ(steps_of(*set, true, 0),
            "recv_reduce chunk 0+1 from rank 1 lane 0 with input[0] into output[0], last\n"
            "send chunk 0+1 from output[0] to rank 1 lane 0\n");
  EXPECT_EQ(steps_of(*set, true, 1),
            "send chunk 0+1 from input[0] to rank 0 lane 0\n"
            "recv chunk 0+1 from rank 0 lane 0 into output[0]\n");
  EXPECT_TRUE(admitted(xml).ok()) << admitted(xml).status().text();
}

// Partial sums in the input, which is none of plait's results, move to scratch.
TEST(Msccl, ReduceScatterInPlace) {
  Xml xml("reducescatter", 3, 3, 1, 0);
  for (int r = 0; r < 3; r++) {
    xml.gpu(3, 1).block((r + 1) % 3, (r + 2) % 3);
    xml.step("s", at("i", r + 2, 3), at("i", r + 2, 3)).step("rrc", at("i", r + 1, 3), at("i", r + 1, 3));
    xml.step("s", at("i", r + 1, 3), at("i", r + 1, 3)).step("rrc", "o0", "o0");
  }
  const auto set = xml.read();
  ASSERT_TRUE(set.ok()) << set.status().text();
  EXPECT_EQ(steps_of(*set, true, 1),
            "send chunk 0+1 from input[0] to rank 2 lane 0\n"
            "recv_reduce chunk 2+1 from rank 0 lane 0 with input[2] into scratch[0]\n"
            "send chunk 2+1 from scratch[0] to rank 2 lane 0\n"
            "recv_reduce chunk 1+1 from rank 0 lane 0 with input[1] into output[1], last\n");
  EXPECT_TRUE(admitted(xml).ok()) << admitted(xml).status().text();
}

TEST(Msccl, Allgather) {
  for (bool in_place : {false, true}) {
    for (int n = 2; n <= 5; n++) {
      // Two chunks a rank; all pairs; a thread block for each peer.
      Xml xml("allgather", n, 2 * n, in_place, !in_place);
      for (int r = 0; r < n; r++) {
        xml.gpu(2, 2 * n);
        for (int k = 1; k < n; k++) {
          const int to = (r + k) % n, from = (r + n - k) % n;
          xml.block(to, from, k - 1).step("s", "i0", at("o", 2 * r, 2 * n), 2);
          xml.step("r", "i0", at("o", 2 * from, 2 * n), 2);
        }
        xml.block(-1, -1).step("cpy", "i0", at("o", 2 * r, 2 * n), 2);
      }
      const auto all = admitted(xml);
      ASSERT_TRUE(all.ok()) << all.status().text();
      EXPECT_EQ(all->min_credits(in_place), 0);
      EXPECT_TRUE(all->rank_order(in_place));
      // In place, nothing is copied.
      EXPECT_EQ(all->program(0, in_place).steps.size(), size_t(2 * (n - 1) + (in_place ? 0 : 1)));
    }
  }
}

TEST(Msccl, Alltoall) {
  for (int n = 2; n <= 5; n++) {
    Xml xml("alltoall", n, n);
    for (int r = 0; r < n; r++) {
      xml.gpu(n, n).block(-1, -1).step("cpy", at("i", r, n), at("o", r, n));
      for (int k = 1; k < n; k++) {
        const int to = (r + k) % n, from = (r + n - k) % n;
        xml.block(to, from, k - 1)
            .step("s", at("i", to, n), at("o", r, n))
            .step("r", at("i", r, n), at("o", from, n));
      }
    }
    const auto all = admitted(xml);
    ASSERT_TRUE(all.ok()) << all.status().text();
    EXPECT_TRUE(all->fits(Collective::alltoall, n, 0, false));
    EXPECT_EQ(all->min_credits(false), 0);
  }
}

// Two chunks that are not neighbours, packed side by side in scratch: one message, of two steps.
TEST(Msccl, PackedChunksAreOneMessage) {
  Xml xml("broadcast", 2, 3);
  xml.gpu(3, 3, 2).block(1, -1).step("cpy", "i0", "o0", 3).step("cpy", "i2", "s0").step("cpy", "i0", "s1");
  xml.step("s", "s0", "s0", 2).step("s", "i1", "o1");
  xml.gpu(3, 3, 2).block(-1, 0).step("r", "s0", "s0", 2).step("r", "o1", "o1");
  xml.step("cpy", "s0", "o2").step("cpy", "s1", "o0");
  const auto set = xml.read();
  ASSERT_TRUE(set.ok()) << set.status().text();
  EXPECT_EQ(steps_of(*set, false, 1),
            "recv chunk 2+1 from rank 0 lane 0 into scratch[0], more\n"
            "recv chunk 0+1 from rank 0 lane 0 into scratch[1]\n"
            "recv chunk 1+1 from rank 0 lane 0 into output[1]\n"
            "copy chunk 2+1 from scratch[0] into output[2]\n"
            "copy chunk 0+1 from scratch[1] into output[0]\n");
  EXPECT_TRUE(admitted(xml).ok()) << admitted(xml).status().text();
}

// Thread blocks wait for each other, also by a nop; the order of the list keeps that, the dependencies are
// plait's.
TEST(Msccl, ThreadBlocksWaitForEachOther) {
  Xml xml("allreduce", 2, 2);
  for (int r = 0; r < 2; r++) {
    xml.gpu(2, 2, 2);
    xml.block(1 - r, 1 - r).step("s", "i0", "s0", 2).step("r", "s0", "s0", 2).step("cpy", "i0", "o0", 2);
    xml.block(-1, -1).step("nop", "i-1", "o-1", 0, 0, 1).step("re", "s0", "o0", 2, 0, 2);
  }
  // The two ranks fold in different orders, which a fold of two is free to do.
  const auto both = admitted(xml);
  ASSERT_TRUE(both.ok()) << both.status().text();
  const Program& p = both->program(0, false);
  ASSERT_EQ(p.steps.size(), 4u);
  EXPECT_EQ(p.steps[3].op, Op::reduce);
  EXPECT_EQ(p.steps[3].count, 2u);
  EXPECT_EQ(p.deps, (std::vector<uint32_t>{1, 2}));
}

TEST(Msccl, CommentsAndOtherAttributesArePassedOver) {
  std::string text = ring_allreduce(2, 1, 1).text();
  text = "<!-- a comment -->\n<?xml-something else?>\n" + text;
  const auto set = from_msccl(text, "a.xml");
  ASSERT_TRUE(set.ok()) << set.status().text();
  EXPECT_EQ(set->origin.lines[0][0][0], 6u);
}

TEST(Msccl, AgainThroughJson) {
  const auto ring = admitted(ring_allreduce(4, 1, 1));
  ASSERT_TRUE(ring.ok());
  const auto again = from_json(to_json(ring->set), "a.json");
  ASSERT_TRUE(again.ok()) << again.status().text();
  expect_alike(ring->set, *again);
}

// Longer than what is handed to the parser at once.
TEST(Msccl, LongFiles) {
  std::string text = ring_allreduce(3, 1, 1).text();
  text.insert(text.find('\n') + 1, std::string(3 << 20, ' '));
  EXPECT_TRUE(from_msccl(text, "a.xml").ok());
}

}  // namespace
}  // namespace plait::collectives::exchange
