#include <random>

#include "collectives/cells.h"
#include "collectives/machine/check.h"
#include "unit/collectives/programs.h"

namespace plait::collectives {
namespace {

using Lists = std::vector<std::vector<uint32_t>>;

Place in(uint32_t slot) { return place(Buffer::input, slot); }
Place out(uint32_t slot) { return place(Buffer::output, slot); }
Step send(Place src, uint32_t chunk, uint32_t count = 1, uint8_t flags = 0) {
  return {.op = Op::send, .flags = flags, .peer = 1, .src = src, .chunk = chunk, .count = count};
}
Step recv(Place dst, uint32_t chunk, uint32_t count = 1, uint8_t flags = 0) {
  return {.op = Op::recv, .flags = flags, .peer = 1, .dst = dst, .chunk = chunk, .count = count};
}

Program program(std::vector<Step> steps, bool in_place = false) {
  Program p;
  p.chunks = 4;
  p.scratch = 2;
  p.in_place = in_place;
  p.steps = std::move(steps);
  return p;
}
Lists lists(Program p) {
  EXPECT_EQ(derive_dependencies(p), "");
  Lists lists;
  for (size_t i = 0; i < p.steps.size(); i++) {
    lists.emplace_back(p.deps.begin() + p.dep_begin[i], p.deps.begin() + p.dep_begin[i + 1]);
  }
  return lists;
}

TEST(Dependencies, ReadAfterWrite) {
  EXPECT_EQ(lists(program({recv(out(0), 0), send(out(0), 0)})), (Lists{{}, {0}}));
}
TEST(Dependencies, WriteAfterRead) {
  EXPECT_EQ(lists(program({recv(out(0), 0), send(out(0), 0), send(out(0), 0), recv(out(0), 0)})),
            (Lists{{}, {0}, {0}, {1, 2}}));
}
TEST(Dependencies, WriteAfterWrite) {
  EXPECT_EQ(lists(program({recv(out(0), 0), recv(out(0), 0)})), (Lists{{}, {0}}));
}
TEST(Dependencies, OtherPlacesAreFree) {
  EXPECT_EQ(lists(program({recv(out(0), 0), send(out(1), 1), recv(place(Buffer::scratch, 0), 0)})),
            (Lists{{}, {}, {}}));
}
TEST(Dependencies, InPlaceInputIsOutput) {
  std::vector<Step> steps{send(in(2), 2), recv(out(2), 2), send(in(2), 2)};
  EXPECT_EQ(lists(program(steps)), (Lists{{}, {}, {}}));
  EXPECT_EQ(lists(program(steps, true)), (Lists{{}, {0}, {1}}));
}
TEST(Dependencies, RangesOverlap) {
  EXPECT_EQ(lists(program({recv(out(0), 0, 2), recv(out(2), 2, 2), send(out(1), 1, 2)})),
            (Lists{{}, {}, {0, 1}}));
}
TEST(Dependencies, AMessageIsOneNode) {
  EXPECT_EQ(lists(program({recv(out(3), 3), recv(out(0), 0, 1, kMore), recv(out(1), 1),
                           send(out(2), 2, 1, kMore), send(out(3), 3, 1, kMore), send(out(1), 1)})),
            (Lists{{}, {}, {}, {0, 1}, {}, {}}));
}

TEST(Dependencies, ErrorsNameTheStep) {
  auto error = [](std::vector<Step> steps) {
    Program p = program(std::move(steps));
    return derive_dependencies(p);
  };
  EXPECT_EQ(error({recv(out(0), 0), send(out(3), 2, 2)}),
            "rank 0 step 1 (send chunk 2+2 from output[3] to rank 1 lane 0): output[3]+2 is out of bounds, "
            "there are 4 "
            "slots");
  EXPECT_EQ(error({recv(place(Buffer::scratch, 2), 0)}),
            "rank 0 step 0 (recv chunk 0+1 from rank 1 lane 0 into scratch[2]): scratch[2]+1 is out of "
            "bounds, there "
            "are 2 slots");
  EXPECT_NE(error({send(out(kMaxSlot), 0)}).find("step 0"), std::string::npos);
  EXPECT_NE(error({send(out(0), 4)}).find("no such chunks"), std::string::npos);
  EXPECT_NE(error({send(out(0), 0, UINT32_MAX)}).find("no such chunks"), std::string::npos);
  EXPECT_NE(error({send(out(0), 0, 0)}).find("no such chunks"), std::string::npos);
  EXPECT_NE(error({send(out(0), 0, 1, kMore)}).find("cannot be one message"), std::string::npos);
  EXPECT_NE(error({send(out(0), 0, 1, kMore), recv(out(1), 1)}).find("cannot be one message"),
            std::string::npos);
  EXPECT_NE(error({{.op = Op::copy, .flags = kMore, .dst = out(0), .src = in(0), .chunk = 0, .count = 1},
                   send(out(0), 0)})
                .find("cannot be one message"),
            std::string::npos);
}

// The checker of races knows nothing of how dependencies were derived, and must find nothing to say about any
// program but of two steps of one message that touch one place.
TEST(Dependencies, OrderEveryConflictAtRandom) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  auto below = [&](uint32_t limit) { return uint32_t(random() % limit); };
  for (int i = 0; i < 2000; i++) {
    std::vector<Step> steps;
    for (uint32_t k = 0, n = below(30); k < n; k++) {
      uint32_t chunk = below(4), count = 1 + below(4 - chunk);
      Place read = place(below(2) ? Buffer::input : Buffer::output, chunk), write = out(chunk);
      switch (below(4)) {
        case 0:
          steps.push_back(send(read, chunk, count));
          break;
        case 1:
          steps.push_back(recv(write, chunk, count));
          break;
        case 2:
          steps.push_back({.op = Op::copy, .dst = write, .src = read, .chunk = chunk, .count = count});
          break;
        default:
          steps.push_back(
              {.op = Op::recv_reduce, .peer = 1, .dst = write, .src = read, .chunk = chunk, .count = count});
      }
    }
    Program p = program(std::move(steps), below(2) == 1);
    ASSERT_EQ(derive_dependencies(p), "");
    Status status = check_races(p);
    EXPECT_TRUE(status.ok()) << status.text() << "\n" << text_of(p);
  }
}

TEST(Races, InsideOneMessage) {
  Program p = program({recv(out(0), 0, 2, kMore), recv(out(1), 1)});
  ASSERT_EQ(derive_dependencies(p), "");
  Status status = check_races(p);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.text().find("rank 0 step 1"), std::string_view::npos);
}

TEST(Races, OrderByOthersInBetweenIsOrder) {
  Program p = program({recv(out(0), 0), send(out(0), 0), recv(out(0), 0)});
  ASSERT_EQ(derive_dependencies(p), "");
  p.dep_begin = {0, 0, 1, 3};
  p.deps = {0, 0, 1};  // the last one also waits for the first, which says nothing new
  EXPECT_TRUE(check_races(p).ok());
  p.steps.push_back(send(out(0), 0));
  p.dep_begin = {0, 0, 1, 2, 3};
  p.deps = {0, 1, 2};
  EXPECT_TRUE(check_races(p).ok());
  p.deps = {0, 1, 1};  // the last send may overtake the write it should read
  EXPECT_FALSE(check_races(p).ok());
}

}  // namespace
}  // namespace plait::collectives
