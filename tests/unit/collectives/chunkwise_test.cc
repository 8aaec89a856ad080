// Programs taken apart chunk by chunk: what the machine runs when chunks are large is proved like the rest.
#include "collectives/chunkwise.h"

#include "unit/collectives/programs.h"

namespace plait::collectives {
namespace {

std::vector<Program> apart(const std::vector<Program>& programs) {
  std::vector<Program> all;
  for (const Program& p : programs) all.push_back(chunkwise(p));
  return all;
}

TEST(Chunkwise, EveryProgramOfTheTableIsProvedWithNoMoreCredits) {
  for (const Algorithm& a : algorithms()) {
    for (int n : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 33}) {
      if (!a.accepts(n)) continue;
      for (bool in_place : {false, true}) {
        const int root = rooted(a.collective) ? n / 2 : 0;
        SCOPED_TRACE(testing::Message() << a.name << " " << name_of(a.collective) << ", " << n << " ranks"
                                        << (in_place ? ", in place" : ""));
        const Proof proof = prove({a.collective, root}, apart(programs_of(a, n, in_place, root)));
        ASSERT_TRUE(proof.status.ok()) << proof.status.text();
        EXPECT_LE(proof.min_credits, n > 1 ? a.min_credits[in_place] : 0);
        EXPECT_TRUE(proof.rank_order || !a.rank_order);
      }
    }
  }
}

TEST(Chunkwise, EachStepIsOneChunkAndKeepsItsPlacesAndFlags) {
  Builder b(0, 6, Range{0, 6}, Range{0, 6});
  Ranges list;
  for (Range range : {Range{4, 2}, Range{0, 4}}) list.add(range);
  b.recv_reduce(1, list, 0, kLast);
  auto whole = b.finish(false);
  ASSERT_TRUE(whole.ok());
  const Program program = chunkwise(*whole);
  ASSERT_EQ(program.steps.size(), 6u);
  EXPECT_EQ(program.dep_begin.size(), 7u);
  const uint32_t chunks[] = {4, 5, 0, 1, 2, 3};
  for (uint32_t i = 0; i < 6; i++) {
    const Step& s = program.steps[i];
    EXPECT_EQ(s.chunk, chunks[i]);
    EXPECT_EQ(s.count, 1u);
    EXPECT_EQ(s.flags, kLast);
    EXPECT_EQ(s.dst, place(Buffer::output, chunks[i]));
    EXPECT_EQ(s.src, place(Buffer::input, chunks[i]));
  }
}

}  // namespace
}  // namespace plait::collectives
