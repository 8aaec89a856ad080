// Rails over two pairs of soft-RoCE devices, in the virtual machine: links that are cut, late and lossy,
// queue pairs that fail. --seeds N tries so many schedules, from --seed S on; each is printed. --fault KIND:
// of that alone (link_faults.cc has the names).
#include <cstdio>
#include <mutex>

#include "base/log.h"
#include "unit/rails/link_faults.h"
#include "unit/rails/script.h"

namespace plait::transport::rails {
namespace {

Seeds seeds{.count = 8};
constexpr size_t kFaultsASeed = 4;

#define PLAIT_NEEDS_RAILS(n) \
  if (const std::string why = why_no_rails(n); !why.empty()) GTEST_SKIP() << why

// An emulated machine polls slowly.
Options patient() {
  Options options;
  options.silent_ms = 250;
  options.return_first_ms = 20;
  options.return_last_ms = 200;
  options.join_ms = 3000;
  return options;
}

TEST(VerbsFailover, RandomScripts) {
  PLAIT_NEEDS_RAILS(2);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    // Of every third one the links of one rail give up by themselves.
    const size_t mortal = seed % 3 == 0 ? seed / 3 % 2 : SIZE_MAX;
    const VerbsRails rails(mortal);
    LinkFaults faults(make_schedule(seed, 2, kFaultsASeed, mortal, seeds.fault), rails);
    const int64_t began = now_ns();
    Script script(seed, 2, rails.make(), faults, patient(), 120'000);
    const std::string wrong = script.run();
    faults.heal_all(script.pair());
    std::printf("seed %lu: %s, %.1f s; %s; %s\n", static_cast<unsigned long>(seed),
                wrong.empty() ? "right" : "WRONG", double(now_ns() - began) / 1e9, script.sums().c_str(),
                faults.now().c_str());
    std::fflush(stdout);
    ASSERT_EQ(faults.failed(), "") << "a command failed";
    ASSERT_EQ(wrong, "") << "seed " << seed;
  }
}

// What is written to the log.
class Lines {
 public:
  Lines() {
    log::set_level(log::Level::info);
    log::set_sink([this](log::Level, std::string_view line) {
      const std::lock_guard lock(mutex_);
      all_ += std::string(line) + "\n";
    });
  }
  ~Lines() { log::set_sink(nullptr); }
  std::string all() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }
  bool say(const std::string& what) const { return all().find(what) != std::string::npos; }

 private:
  mutable std::mutex mutex_;
  std::string all_;
};

constexpr size_t kBytes = size_t{4} << 20;

std::byte value(size_t i) { return std::byte((i * 7 + (i >> 9) * 3 + 1) & 0xff); }

Transfer whole_put(Side& side, uint64_t cookie) {
  return {Verb::put,
          When::delivered,
          {1, 1},
          side.regions[0]->slice(0, kBytes).value(),
          side.remotes[0]->slice(0, kBytes).value(),
          cookie};
}

// A few MiB in the middle of which a queue pair of either end fails.
TEST(VerbsFailover, AQueuePairThatFailsIsSurvivedByTwoRails) {
  PLAIT_NEEDS_RAILS(2);
  for (size_t bad = 0; bad < 4; ++bad) {
    const size_t rail = bad / 2;
    const int rank = int(bad % 2);
    const Lines lines;
    const VerbsRails rails;
    Pair p(2, rails.make(), patient());
    std::byte* from = p.a.expose(kBytes, Access::none);
    std::byte* to = p.b.expose(kBytes, Access::write);
    ASSERT_TRUE(p.connect(2));
    for (size_t i = 0; i < kBytes; ++i) from[i] = value(i);
    const Transfer t = whole_put(p.a, 9);
    ASSERT_EQ(p.a.end->post({&t, 1}), 1u);
    ASSERT_TRUE(p.pump([&] { return p.a.domain->report()[rail].parts > 3; }));
    ASSERT_EQ(p.a.count(9), 0u) << "it was over already";
    rails.fail(rank, rail);
    ASSERT_TRUE(p.pump([&] { return p.b.end->counter(1) == 1 && p.a.count(9) == 1; }, 60'000))
        << p.a.domain->describe();
    for (size_t i = 0; i < kBytes; ++i) ASSERT_EQ(to[i], value(i)) << i;
    for (const Side& side : p.sides) {
      EXPECT_EQ(side.domain->report()[rail].deaths, 1u);
      EXPECT_EQ(side.domain->report()[1 - rail].deaths, 0u);
    }
    ASSERT_TRUE(p.pump([&] { return p.all_live(); }, 60'000)) << p.a.domain->describe();
    EXPECT_EQ(p.b.end->counter(1), 1u);
    for (int either = 0; either < 2; ++either) {
      EXPECT_TRUE(lines.say("rail " + std::to_string(rail) + " (verbs:" + device_of(either, rail) +
                            ") to a peer is out, the others go on: "))
          << lines.all();
    }
    EXPECT_FALSE(lines.say("rail " + std::to_string(1 - rail) + " ")) << lines.all();
  }
}

TEST(VerbsFailover, AQueuePairThatFailsIsNamedByOneRail) {
  PLAIT_NEEDS_RAILS(1);
  for (int rank = 0; rank < 2; ++rank) {
    const VerbsRails rails(0);  // the other end gives up when nothing answers
    Pair p(1, rails.make(), patient());
    p.a.expose(kBytes, Access::none);
    p.b.expose(kBytes, Access::write);
    ASSERT_TRUE(p.connect(2));
    const Transfer t = whole_put(p.a, 9);
    ASSERT_EQ(p.a.end->post({&t, 1}), 1u);
    ASSERT_TRUE(p.pump([&] { return p.a.domain->report()[0].parts > 3; }));
    ASSERT_EQ(p.a.count(9), 0u) << "it was over already";
    rails.fail(rank, 0);
    ASSERT_TRUE(p.pump([&] { return p.a.count(9) == 1 && p.a.count(kEndCookie) == 1; }, 60'000));
    EXPECT_EQ(p.a.end->state(), State::failed);
    const std::string_view why = p.a.end->error();
    EXPECT_NE(why.find("rail 0 (verbs:rxe1): "), why.npos) << why;
    EXPECT_NE(why.find("10.77.0.2"), why.npos) << "the peer: " << why;
    EXPECT_NE(p.a.dones[0].status, Code::ok);
    EXPECT_EQ(p.b.end->counter(1), 0u);
    std::printf("%.*s\n", int(why.size()), why.data());
  }
}

// What a rail that was given up still has under way comes, late, and lands nowhere.
TEST(VerbsFailover, PacketsThatAreLateLandNowhere) {
  PLAIT_NEEDS_RAILS(2);
  const VerbsRails rails;
  LinkFault late{.kind = LinkFault::Kind::late, .amount = 4000};
  LinkFaults faults({}, rails);
  Pair p(2, rails.make(), patient());
  std::byte* from = p.a.expose(kBytes, Access::none);
  std::byte* to = p.b.expose(kBytes, Access::write);
  ASSERT_TRUE(p.connect(2));
  std::fill_n(from, kBytes, std::byte{1});
  ASSERT_TRUE(shell(late.begin()));
  const int64_t began = now_ns();
  const Transfer t = whole_put(p.a, 9);
  ASSERT_EQ(p.a.end->post({&t, 1}), 1u);
  ASSERT_TRUE(p.pump([&] { return p.b.end->counter(1) == 1 && p.a.count(9) == 1; }, 60'000))
      << p.a.domain->describe();
  EXPECT_TRUE(std::all_of(to, to + kBytes, [](std::byte b) { return b == std::byte{1}; }));
  EXPECT_EQ(p.b.domain->report()[0].deaths, 1u);
  std::fill_n(to, kBytes, std::byte{2});
  EXPECT_LT(now_ns() - began, int64_t{4000} * 1'000'000) << "packets were not late enough to show anything";
  p.pump([&] { return now_ns() - began > int64_t{5000} * 1'000'000; }, 60'000);
  EXPECT_TRUE(std::all_of(to, to + kBytes, [](std::byte b) { return b == std::byte{2}; }));
  EXPECT_EQ(p.b.end->counter(1), 1u);
  faults.heal_all(p);
}

}  // namespace
}  // namespace plait::transport::rails

int main(int argc, char** argv) {
  return plait::transport::rails::run_tests(argc, argv, plait::transport::rails::seeds);
}
