// What the fake adds to the contract: it shows what the contract leaves open. The contract itself is
// conformance's.
#include "transport/fake/fake.h"

#include "transport/hooks/wrap.h"
#include "unit/hooks/pair.h"

namespace plait::transport::fake {
namespace {

class Plain final : public hooks::WrappedDomain {
 public:
  using WrappedDomain::WrappedDomain;
  Result<std::unique_ptr<Endpoint>> open(uint16_t counters, uint64_t cookie) override {
    return inner().open(counters, cookie);
  }
};
using PlainPair = hooks::Pair<Plain>;

FakeOptions reordering(uint64_t seed) {
  FakeOptions o;
  o.seed = seed;
  o.reorder = true;
  o.delay_max = 10;
  return o;
}

// Which counter moved first, when 0 was posted first.
int overtaken(const FakeOptions& options) {
  PlainPair p(options);
  EXPECT_TRUE(p.post(p.put(64, {0, 1}, When::never, 0)));
  EXPECT_TRUE(p.post(p.put(64, {1, 1}, When::never, 0, 64)));
  int first = -1;
  EXPECT_TRUE(p.pump([&] {
    bool zero = p.b.end->counter(0) != 0, one = p.b.end->counter(1) != 0;
    if (first < 0 && (zero || one)) first = zero ? 0 : 1;
    return zero && one;
  }));
  return first;
}

TEST(FakeTest, CountersOvertakeEachOtherWhereAsked) {
  int overtakings = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    overtakings += overtaken(reordering(seed));
    EXPECT_EQ(overtaken(FakeOptions{.seed = seed, .delay_max = 10}), 0) << "without `reorder` they may not";
  }
  EXPECT_GT(overtakings, 5);
  EXPECT_LT(overtakings, 45);
}

TEST(FakeTest, TheSeedDecides) {
  auto polls = [](uint64_t seed) {
    PlainPair p(reordering(seed));
    std::vector<int> landed;
    for (int i = 0; i < 20; ++i)
      EXPECT_TRUE(p.post(p.put(64, {uint16_t(i % 2), 1}, When::delivered, uint64_t(i))));
    for (int i = 0; i < 300; ++i) {
      p.idle(1);
      if (!p.a.dones.empty()) landed.push_back(int(p.a.dones.size()));
    }
    return landed;
  };
  EXPECT_EQ(polls(3), polls(3));
  EXPECT_NE(polls(3), polls(4));
}

// `reusable` is weaker than `delivered`, and here it shows.
TEST(FakeTest, ReusableMayComeBeforeTheBytesAndBeLost) {
  FakeOptions o;
  o.delay_min = o.delay_max = 50;
  PlainPair p(o);
  p.a.memory[0] = std::byte{9};
  ASSERT_TRUE(p.post(p.put(64, {0, 1}, When::reusable, 1)));
  p.idle(1);
  EXPECT_EQ(p.a.done(1), Code::ok);
  EXPECT_EQ(p.b.memory[0], std::byte{0});
  p.a.end->close();
  p.idle();
  EXPECT_EQ(p.b.memory[0], std::byte{0});
}

TEST(FakeTest, UnpolledTargetsGetNothingWhereTheyMustPoll) {
  FakeOptions o;
  o.mapped = false;
  o.capabilities.target_must_poll = true;
  PlainPair p(o);
  p.a.memory[0] = std::byte{9};
  ASSERT_TRUE(p.post(p.put(64, {0, 1}, When::delivered, 1)));
  for (int i = 0; i < 100; ++i) p.a.poll();
  EXPECT_TRUE(p.a.dones.empty());
  EXPECT_EQ(p.b.memory[0], std::byte{0});
  p.b.poll();
  p.a.poll();
  EXPECT_EQ(p.a.done(1), Code::ok);
}

TEST(FakeTest, DeathSaysWhoDied) {
  FakeNetwork network;
  auto a = network.make_domain("rank 0", {});
  auto b = network.make_domain("rank 1", {});
  auto ea = a->open(1, 1).value();
  auto eb = b->open(1, 1).value();
  ASSERT_TRUE(ea->connect(eb->ticket()).ok());
  network.kill(b->identity());
  EXPECT_EQ(ea->state(), State::failed);
  EXPECT_NE(ea->error().find("rank 1 died"), std::string_view::npos) << ea->error();
  EXPECT_FALSE(b->open(1, 1).ok());
}

// Objects may go in any order: nothing points to what is gone.
TEST(FakeTest, AnyOrderOfDestruction) {
  FakeNetwork network;
  auto a = network.make_domain("a", {});
  auto b = network.make_domain("b", {});
  auto ea = a->open(1, 1).value();
  auto eb = b->open(1, 1).value();
  std::vector<std::byte> bytes(64);
  Memory memory;
  memory.base = bytes.data();
  memory.bytes = bytes.size();
  auto region = a->expose(memory, Access::both).value();
  ASSERT_TRUE(ea->connect(eb->ticket()).ok());
  ASSERT_TRUE(eb->connect(ea->ticket()).ok());
  b.reset();
  a->poll({});
  a.reset();
  EXPECT_EQ(ea->state(), State::failed);
  eb.reset();
  region.reset();
  ea.reset();
}

TEST(FakeTest, NetworksAreApart) {
  FakeNetwork one, two;
  auto a = one.make_domain("a", {});
  auto b = two.make_domain("b", {});
  EXPECT_FALSE(a->reaches(b->identity()));
  auto ea = a->open(1, 1).value();
  auto eb = b->open(1, 1).value();
  EXPECT_EQ(ea->connect(eb->ticket()).code(), Code::auth);
}

}  // namespace
}  // namespace plait::transport::fake
