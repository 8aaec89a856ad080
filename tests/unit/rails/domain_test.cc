#include <thread>

#include "unit/rails/pair.h"

namespace plait::transport::rails {
namespace {

TEST(Rails, WhatCannotBeARailIsRefused) {
  EXPECT_EQ(make_domain({}).status().code(), Code::invalid);
  fake::FakeNetwork network;
  fake::FakeOptions shallow;
  shallow.capabilities.counters = 4;
  std::vector<std::unique_ptr<Domain>> rails;
  rails.push_back(network.make_domain("few", shallow));
  const Status status = make_domain(std::move(rails)).status();
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_NE(status.text().find("few cannot be a rail: its endpoints have 4 counters"), std::string_view::npos)
      << status.text();
}

TEST(Rails, PeersMustHaveAsManyRailsAndCounters) {
  const MakeRail make = over_fakes(2);
  Pair two(2, make), three(3, make);
  auto a = two.a.domain->open(2, 1).value();
  auto b = three.a.domain->open(2, 1).value();
  EXPECT_EQ(a->connect(b->ticket()).code(), Code::unsupported);
  EXPECT_FALSE(two.a.domain->reaches(three.a.domain->identity()));
  auto c = two.b.domain->open(3, 1).value();
  EXPECT_EQ(a->connect(c->ticket()).code(), Code::unsupported);
  auto d = two.b.domain->open(2, 1).value();
  EXPECT_TRUE(a->connect(d->ticket()).ok()) << "refusals use nothing up";
}

TEST(Rails, ADeadRailIsReportedAndComesBack) {
  for (const MakeRail& make : {over_fakes(2), over_tcp()}) {
    Pair p(2, make);
    std::byte* from = p.a.expose(size_t{4} << 20, Access::none);
    std::byte* to = p.b.expose(size_t{4} << 20, Access::write);
    ASSERT_TRUE(p.connect(2));
    std::fill_n(from, size_t{4} << 20, std::byte{5});
    Transfer t{Verb::put,
               When::delivered,
               {1, 1},
               p.a.regions[0]->slice(0, size_t{4} << 20).value(),
               p.a.remotes[0]->slice(0, size_t{4} << 20).value(),
               9};
    ASSERT_EQ(p.a.end->post({&t, 1}), 1u);
    for (int i = 0; i < 5; ++i) p.poll();
    p.b.hooks[1]->kill_links();
    ASSERT_TRUE(p.pump([&] { return p.b.end->counter(1) == 1 && p.a.count(9) == 1; }));
    EXPECT_TRUE(std::all_of(to, to + (size_t{4} << 20), [](std::byte b) { return b == std::byte{5}; }));
    ASSERT_TRUE(p.pump([&] { return p.all_live(); }));
    for (const Side& side : p.sides) {
      const auto report = side.domain->report();
      EXPECT_EQ(report[0].deaths, 0u);
      EXPECT_EQ(report[1].deaths, 1u);
      EXPECT_EQ(report[1].returns, 1u);
    }
    EXPECT_GE(p.a.domain->report()[0].bytes, size_t{2} << 20);
  }
}

TEST(Rails, AllRailsDeadIsOneError) {
  for (const MakeRail& make : {over_fakes(2), over_tcp()}) {
    Pair p(2, make);
    ASSERT_TRUE(p.connect(1));
    Transfer t{Verb::put, When::delivered, {0, 1}, {}, {}, 3};
    for (auto* hook : p.a.hooks) hook->freeze(true);
    ASSERT_EQ(p.a.end->post({&t, 1}), 1u);
    for (auto* hook : p.a.hooks) hook->freeze(false), hook->take_down(true);
    ASSERT_TRUE(p.pump([&] { return p.a.count(kEndCookie) == 1 && p.b.count(kEndCookie) == 1; }));
    for (int i = 0; i < 200; ++i) p.poll();
    for (const Side& side : p.sides) {
      EXPECT_EQ(side.end->state(), State::failed);
      EXPECT_EQ(side.count(kEndCookie), 1u);
      const std::string_view why = side.end->error();
      EXPECT_NE(why.find("all 2 rails to the peer are dead: rail 0 ("), std::string_view::npos) << why;
      EXPECT_NE(why.find("; rail 1 ("), std::string_view::npos) << why;
    }
    ASSERT_EQ(p.a.count(3), 1u);
    EXPECT_EQ(p.a.dones.size(), 2u);
  }
}

// In the order in which it comes about; on the side that finds out with the reason, and what was sent again.
TEST(Rails, WhatBecomesOfARailIsTold) {
  using What = RailEvent::What;
  struct Told {
    What what;
    size_t rail;
    std::string name, why;
    uint64_t parts, bytes;
  };
  std::vector<Told> told;
  Options options = quick();
  options.told = [&](const RailEvent& e) {
    EXPECT_EQ(e.endpoint, kEndCookie);
    told.push_back({e.what, e.rail, std::string(e.name), std::string(e.why), e.parts, e.bytes});
  };
  constexpr size_t kBytes = size_t{4} << 20;
  Pair p(2, over_fakes(2), options);
  p.a.expose(kBytes, Access::none);
  p.b.expose(kBytes, Access::write);
  ASSERT_TRUE(p.connect(2));
  EXPECT_TRUE(told.empty());
  p.a.hooks[1]->freeze(true);  // so that something of it is under way
  Transfer t{Verb::put,
             When::delivered,
             {1, 1},
             p.a.regions[0]->slice(0, kBytes).value(),
             p.a.remotes[0]->slice(0, kBytes).value(),
             9};
  ASSERT_EQ(p.a.end->post({&t, 1}), 1u);
  p.a.hooks[1]->freeze(false);
  p.a.hooks[1]->kill_links();
  ASSERT_TRUE(p.pump([&] { return p.b.end->counter(1) == 1 && p.a.count(9) == 1 && p.all_live(); }));
  ASSERT_EQ(told.size(), 6u);
  size_t kinds[3] = {}, with_reason = 0;
  uint64_t parts = 0, bytes = 0;
  for (const Told& one : told) {
    EXPECT_EQ(one.rail, 1u);
    EXPECT_EQ(one.name, p.a.domain->report()[1].name);
    EXPECT_EQ(one.why.empty(), one.what == What::back);
    kinds[size_t(one.what)]++;
    with_reason += one.what == What::out && one.why.find("the peer found") == std::string::npos;
    parts += one.parts, bytes += one.bytes;
  }
  for (const size_t kind : kinds) EXPECT_EQ(kind, 2u);
  EXPECT_GE(with_reason, 1u);
  const auto counts = p.a.domain->counts();
  EXPECT_EQ((*counts)[0].resent + (*counts)[1].resent, parts);
  EXPECT_EQ((*counts)[0].resent_bytes + (*counts)[1].resent_bytes, bytes);
}

// Who hears that the last source is free takes the earlier ones of the counter to be free, too.
TEST(Rails, SourcesAreFreeInTheOrderOfPosting) {
  constexpr size_t kBytes = size_t{1} << 20;
  Options options = quick();
  options.silent_ms = 60'000;
  Pair p(2, over_fakes(2), options);
  p.a.expose(kBytes, Access::none);
  p.b.expose(kBytes, Access::write);
  ASSERT_TRUE(p.connect(2));
  const auto put = [&](size_t at, size_t bytes, When when, uint16_t counter, uint64_t cookie) {
    Transfer t{Verb::put,
               when,
               {counter, 1},
               p.a.regions[0]->slice(at, bytes).value(),
               p.a.remotes[0]->slice(at, bytes).value(),
               cookie};
    return p.a.end->post({&t, 1}) == 1;
  };
  p.a.hooks[0]->freeze(true);
  p.a.hooks[1]->freeze(true);
  ASSERT_TRUE(put(0, 64 << 10, When::never, 1, 0));
  ASSERT_TRUE(put(64 << 10, 64, When::reusable, 1, 7));
  ASSERT_TRUE(put(128 << 10, 64, When::reusable, 0, 8));
  ASSERT_TRUE(put(192 << 10, 64 << 10, When::reusable, 1, 9));
  ASSERT_TRUE(put(256 << 10, 64, When::reusable, 1, 10));
  for (int i = 0; i < 200; ++i) p.poll();
  EXPECT_EQ(p.a.count(8), 1u) << "of another counter, and copied";
  EXPECT_EQ(p.a.dones.size(), 1u);
  p.a.hooks[0]->freeze(false);
  p.a.hooks[1]->freeze(false);
  ASSERT_TRUE(p.pump([&] { return p.a.dones.size() == 4; }));
  EXPECT_EQ(p.a.dones[1].cookie, 7u);
  EXPECT_EQ(p.a.dones[2].cookie, 9u);
  EXPECT_EQ(p.a.dones[3].cookie, 10u);
}

// Where it is asked for: what was lost is moved again by both sides, and the peer may never poll.
TEST(Rails, APeerThatSaysNothingOfADeadRailEndsTheEndpoint) {
  for (const MakeRail& make : {over_fakes(2), over_tcp()}) {
    Options options = quick();
    options.settle_ms = 300;
    Pair p(2, make, options);
    ASSERT_TRUE(p.connect(1));
    p.a.hooks[1]->kill_links();
    ASSERT_TRUE(p.pump([&] { return p.a.domain->report()[1].returns == 1 && p.all_live(); })) << "it says so";
    p.a.hooks[1]->kill_links();
    for (Patience patience(20'000); p.a.count(kEndCookie) == 0 && !patience.over();) p.a.poll();
    ASSERT_EQ(p.a.count(kEndCookie), 1u);
    EXPECT_NE(p.a.end->error().find("for 300 ms the peer said nothing of what had come by it"),
              std::string_view::npos)
        << p.a.end->error();
  }
}

// It polls now and then, answers on no rail for a while, and loses none of them.
TEST(Rails, APeerThatComputesKeepsItsRails) {
  for (const MakeRail& make : {over_fakes(5), over_tcp()}) {
    Pair p(2, make);
    p.a.expose(size_t{1} << 20, Access::none);
    p.b.expose(size_t{1} << 20, Access::write);
    ASSERT_TRUE(p.connect(2));
    for (uint64_t round = 1; round <= 3; ++round) {
      Transfer all[] = {{Verb::put,
                         When::delivered,
                         {1, 1},
                         p.a.regions[0]->slice(0, size_t{1} << 20).value(),
                         p.a.remotes[0]->slice(0, size_t{1} << 20).value(),
                         round},
                        {Verb::put, When::never, {0, 1}, {}, {}, 0}};
      ASSERT_EQ(p.a.end->post(all), 2u);
      for (const Deadline computing = Deadline::in_ms(200); !computing.passed(); std::this_thread::yield()) {
        p.a.poll();
        if (computing.left_ms() == 100) p.b.poll();
      }
      ASSERT_TRUE(p.pump([&] { return p.a.count(round) == 1; }));
    }
    for (const Side& side : p.sides) {
      for (const RailReport& rail : side.domain->report()) EXPECT_EQ(rail.deaths, 0u) << rail.name;
    }
  }
}

TEST(Rails, ASilentRailIsTakenOut) {
  for (const MakeRail& make : {over_fakes(2), over_tcp()}) {
    Pair p(2, make);
    p.a.expose(size_t{1} << 20, Access::none);
    p.b.expose(size_t{1} << 20, Access::write);
    ASSERT_TRUE(p.connect(2));
    p.b.hooks[0]->freeze(true);
    p.a.hooks[0]->freeze(true);
    Transfer t{Verb::put,
               When::delivered,
               {1, 1},
               p.a.regions[0]->slice(0, size_t{1} << 20).value(),
               p.a.remotes[0]->slice(0, size_t{1} << 20).value(),
               4};
    ASSERT_EQ(p.a.end->post({&t, 1}), 1u);
    ASSERT_TRUE(p.pump([&] { return p.b.end->counter(1) == 1 && p.a.count(4) == 1; }));
    EXPECT_EQ(p.a.domain->report()[0].deaths, 1u);
    p.a.hooks[0]->freeze(false);
    p.b.hooks[0]->freeze(false);
    EXPECT_TRUE(p.pump([&] { return p.all_live(); }));
  }
}

// Over it endpoints connect late, and fail, while it is so.
class Blocking final : public hooks::WrappedDomain {
 public:
  struct Switch {
    bool on = false;
    int calls = 0;
  };
  Blocking(std::unique_ptr<Domain> inner, Switch& blocks)
      : WrappedDomain(std::move(inner)), blocks_(blocks) {}
  Result<std::unique_ptr<Endpoint>> open(uint16_t counters, uint64_t cookie) override {
    auto end = inner().open(counters, cookie);
    if (!end.ok()) return end;
    return std::unique_ptr<Endpoint>(std::make_unique<End>(std::move(*end), counters, blocks_));
  }

 private:
  class End final : public hooks::WrappedEndpoint {
   public:
    End(std::unique_ptr<Endpoint> inner, uint16_t counters, Switch& blocks)
        : WrappedEndpoint(std::move(inner), counters), blocks_(blocks) {}
    Status connect(ByteView ticket) noexcept override {
      if (!blocks_.on) return WrappedEndpoint::connect(ticket);
      ++blocks_.calls;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return Status(Code::peer, "nobody answers");
    }

   private:
    Switch& blocks_;
  };
  Switch& blocks_;
};

// Trying to bring a rail back, which may block in the kernel, takes little of the time of the others, however
// many peers it leads to.
TEST(Rails, ConnectsThatBlockAreTriedSeldom) {
  Blocking::Switch blocks;
  const MakeRail fakes = over_fakes(2);
  Options options = quick();
  options.return_last_ms = 500;
  auto make = [&](int rank, size_t rail) -> std::unique_ptr<Domain> {
    return std::make_unique<Blocking>(fakes(rank, rail), blocks);
  };
  Pair p(2, make, options);
  ASSERT_TRUE(p.connect(2));
  blocks.on = true;
  p.a.hooks[1]->kill_links();
  ASSERT_TRUE(p.pump([&] { return blocks.calls > 0; }));
  const Deadline end = Deadline::in_ms(1000);
  ASSERT_TRUE(p.pump([&] { return end.passed(); }));
  // Each side pauses 1.6 s; the other rail goes on.
  EXPECT_LE(blocks.calls, 2);
  Transfer t{Verb::put, When::delivered, {0, 1}, {}, {}, 3};
  ASSERT_EQ(p.a.end->post({&t, 1}), 1u);
  ASSERT_TRUE(p.pump([&] { return p.a.count(3) == 1 && p.b.end->counter(0) == 1; }));
  blocks.on = false;
  EXPECT_TRUE(p.pump([&] { return p.all_live(); }));
}

}  // namespace
}  // namespace plait::transport::rails
