#include "collectives/algorithms.h"

#include "collectives/algorithm/ring.h"
#include "unit/collectives/programs.h"

namespace plait::collectives {
namespace {

TEST(Algorithms, AreFoundByCollectiveAndName) {
  for (const Algorithm& algorithm : algorithms()) {
    EXPECT_EQ(find_algorithm(algorithm.collective, algorithm.name), &algorithm);
    EXPECT_FALSE(algorithm.summary.empty());
  }
  EXPECT_EQ(find_algorithm(Collective::barrier, "ring"), nullptr);
  EXPECT_EQ(find_algorithm(Collective::allreduce, ""), nullptr);
}

TEST(Algorithms, OfACollectiveAreAdjacent) {
  for (size_t i = 1; i < algorithms().size(); i++) {
    EXPECT_LE(algorithms()[i - 1].collective, algorithms()[i].collective);
  }
}

// The worked example of docs/program.md.
TEST(Algorithms, RingOfThree) {
  EXPECT_EQ(text_of(algorithm(Collective::allreduce, "ring").build(3, 0, 0, false)),
            "send chunk 2+1 from input[2] to rank 1 lane 0\n"
            "recv_reduce chunk 1+1 from rank 2 lane 0 with input[1] into output[1]\n"
            "send chunk 1+1 from output[1] to rank 1 lane 0\n"
            "recv_reduce chunk 0+1 from rank 2 lane 0 with input[0] into output[0], last\n"
            "send chunk 0+1 from output[0] to rank 1 lane 0\n"
            "recv chunk 2+1 from rank 2 lane 0 into output[2]\n"
            "send chunk 2+1 from output[2] to rank 1 lane 0\n"
            "recv chunk 1+1 from rank 2 lane 0 into output[1]\n");
}

TEST(Algorithms, DirectFoldsInTheOrderOfRanks) {
  EXPECT_EQ(text_of(algorithm(Collective::reduce_scatter, "direct").build(3, 1, 0, true)),
            "send chunk 2+1 from input[2] to rank 2 lane 0\n"
            "send chunk 0+1 from input[0] to rank 0 lane 0\n"
            "recv chunk 1+1 from rank 0 lane 0 into scratch[0], chain\n"
            "recv chunk 1+1 from rank 2 lane 0 into scratch[1], chain\n"
            "reduce chunk 1+1 of scratch[0] and input[1] into scratch[0], chain\n"
            "reduce chunk 1+1 of scratch[0] and scratch[1] into output[1], last\n");
}

TEST(Algorithms, OneRankOnlyCopies) {
  for (const Algorithm& algorithm : algorithms()) {
    EXPECT_TRUE(algorithm.build(1, 0, 0, true).steps.empty()) << algorithm.name;
    Program apart = algorithm.build(1, 0, 0, false);
    ASSERT_EQ(apart.steps.size(), 1u) << algorithm.name;
    EXPECT_EQ(apart.steps[0].op, Op::copy);
    EXPECT_EQ(apart.min_credits, 0);
    EXPECT_TRUE(apart.rank_order);
  }
}

TEST(Algorithms, SayWhatTheyNeed) {
  Program p = algorithm(Collective::allreduce, "all_to_all").build(4, 2, 0, true);
  EXPECT_EQ(p.rank, 2);
  EXPECT_EQ(p.chunks, 1u);
  EXPECT_EQ(p.min_credits, 1);
  EXPECT_TRUE(p.rank_order);
  EXPECT_TRUE(p.in_place);
}

// Builders are appended: groups within groups, ranges within ranges, each with its lane (rule 11).
TEST(Algorithms, Compose) {
  constexpr int kHosts = 4, kLocal = 3;
  for (bool in_place : {false, true}) {
    auto append = [](Builder& b, const Group& all) {
      int host = all.me / kLocal, local = all.me % kLocal;
      Group in{.base = host * kLocal, .stride = 1, .count = kLocal, .me = local};
      Group across{.base = local, .stride = kLocal, .count = kHosts, .me = host};
      auto shards = split({0, kHosts * kLocal}, kLocal);
      b.complete(false);
      ring_reduce_scatter(b, in, shards, 0);
      b.complete(true);
      ring_allreduce(b, across, part(shards.all(), kLocal, local), 1);
      ring_allgather(b, in, shards, 0);
    };
    Proof proof = prove({Collective::allreduce}, programs_of(Collective::allreduce, kHosts * kLocal,
                                                             kHosts * kLocal, in_place, append));
    EXPECT_TRUE(proof.status.ok()) << proof.status.text();
    EXPECT_EQ(proof.min_credits, 0);
  }
}

TEST(Algorithms, CutLikeAnyVector) {
  EXPECT_EQ(input_of(Collective::allgather, 4, 2, 0, 8), (Range{4, 2}));
  EXPECT_EQ(output_of(Collective::allgather, 4, 2, 0, 8), (Range{0, 8}));
  EXPECT_EQ(output_of(Collective::reduce_scatter, 4, 3, 0, 8), (Range{6, 2}));
  EXPECT_EQ(input_of(Collective::broadcast, 4, 3, 3, 1), (Range{0, 1}));
  EXPECT_EQ(input_of(Collective::broadcast, 4, 2, 3, 1).count, 0u);
}

// More chunks than ranks, so that blocks are ranges, and fewer, so that some are empty.
TEST(Algorithms, AnyNumberOfChunks) {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective == Collective::barrier || algorithm.collective == Collective::alltoall) continue;
    for (int n : {2, 3, 4, 5}) {
      if (!algorithm.accepts(n)) continue;
      for (uint32_t chunks : {1u, 4u, 13u}) {
        for (bool in_place : {false, true}) {
          auto programs =
              programs_of(algorithm.collective, n, chunks, in_place, [&](Builder& b, const Group& g) {
                algorithm.append(b, g, 0, split({0, chunks}, n));
              });
          Proof proof = prove({algorithm.collective}, programs);
          EXPECT_TRUE(proof.status.ok())
              << algorithm.name << ", " << chunks << " chunks: " << proof.status.text();
        }
      }
    }
  }
}

}  // namespace
}  // namespace plait::collectives
