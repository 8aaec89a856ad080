// What domains on inter-chip links refuse, and in which words; what becomes of a chip that is dead.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "base/clock.h"
#include "support/pod.h"
#include "transport/icl/icl.h"

namespace plait::transport::icl {
namespace {

using test::EmulatedPod;

const std::string kOptions = "; mbps=0 latency=0ns memory=64K silent=60s";

bool says(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

Options options_of(const EmulatedPod& pod, int chip, int prefer = -1) {
  Options o;
  o.address = pod.address();
  o.chip = chip;
  o.prefer = prefer;
  return o;
}

TEST(IclDomain, WhatIsNotThere) {
  Options o;
  EXPECT_EQ(make_domain(o).status().code(), Code::invalid);
  o.address = "emu:/dev/shm/no-such-pod";
  const auto none = make_domain(o);
  EXPECT_EQ(none.status().code(), Code::unsupported) << none.status().text();
  EXPECT_TRUE(says(none.status().text(), "no-such-pod")) << none.status().text();
  o.address = "nodriver:x";
  EXPECT_TRUE(says(make_domain(o).status().text(), "nodriver")) << make_domain(o).status().text();
}

TEST(IclDomain, OptionsThatMakeNoSense) {
  const EmulatedPod pod("ring 2" + kOptions);
  Options o = options_of(pod, 0);
  o.depth = 100;
  EXPECT_TRUE(says(make_domain(o).status().text(), "power of two")) << make_domain(o).status().text();
  o = options_of(pod, 0);
  o.timeout_ms = 0;
  EXPECT_EQ(make_domain(o).status().code(), Code::invalid);
  EXPECT_FALSE(make_domain(options_of(pod, 2)).ok()) << "a pod of two chips has no chip 2";
  o = options_of(pod, -1);
  o.address += "?chips=0,1";
  EXPECT_EQ(make_domain(o).status().code(), Code::invalid) << "one chip is a domain's";
}

// Each rank that of its number; a chip of another process is refused by name.
TEST(IclDomain, ChipsAreDealtOutByNumber) {
  const EmulatedPod pod("ring 3" + kOptions);
  const auto mine = make_domain(options_of(pod, -1, 1));
  ASSERT_TRUE(mine.ok()) << mine.status().text();
  EXPECT_TRUE(says((*mine)->name(), "#1")) << (*mine)->name();
  const pid_t child = fork();
  if (child == 0) {
    const auto same = make_domain(options_of(pod, 1));
    const bool refused = same.status().code() == Code::state && says(same.status().text(), "chip 1");
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(IclDomain, PodsOfOthersAreNotReached) {
  const EmulatedPod one("ring 2" + kOptions), other("ring 2" + kOptions);
  const auto a = make_domain(options_of(one, 0)), b = make_domain(options_of(one, 1)),
             c = make_domain(options_of(other, 0));
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_TRUE((*a)->reaches((*b)->identity()));
  EXPECT_FALSE((*a)->reaches((*c)->identity()));
}

// Two ends, connected.
struct Pair {
  explicit Pair(const EmulatedPod& pod) {
    for (int i = 0; i < 2; i++) {
      domains[size_t(i)] = make_domain(options_of(pod, i)).value();
      ends[size_t(i)] = domains[size_t(i)]->open(2, uint64_t(100 + i)).value();
    }
    EXPECT_TRUE(ends[0]->connect(ends[1]->ticket()).ok());
    EXPECT_TRUE(ends[1]->connect(ends[0]->ticket()).ok());
  }
  template <class Until>
  bool pump(const Until& until) {
    const Deadline end = Deadline::in_ms(30'000);
    Done some[8];
    while (!until()) {
      if (end.passed()) return false;
      for (auto& d : domains) (void)d->poll(some);
    }
    return true;
  }
  std::array<std::unique_ptr<Domain>, 2> domains;
  std::array<std::unique_ptr<Endpoint>, 2> ends;
};

// Whose chip it was knows that it is not its peer; the peer names the chip.
TEST(IclDomain, ADeadChipIsItsOwners) {
  const EmulatedPod pod("ring 2" + kOptions);
  Pair p(pod);
  EXPECT_TRUE(p.domains[1]->broken().empty());
  ASSERT_EQ(pod.fault("chip 1 dead"), "");
  ASSERT_TRUE(
      p.pump([&] { return p.ends[0]->state() == State::failed && p.ends[1]->state() == State::failed; }));
  EXPECT_TRUE(says(p.domains[1]->broken(), "chip 1, of this process, is dead")) << p.domains[1]->broken();
  EXPECT_TRUE(p.domains[0]->broken().empty()) << p.domains[0]->broken();
  EXPECT_TRUE(says(p.ends[0]->error(), "chip 1 is dead")) << p.ends[0]->error();
}

TEST(IclDomain, AForkedChildIsRefused) {
  const EmulatedPod pod("ring 2" + kOptions);
  const auto domain = make_domain(options_of(pod, 0));
  ASSERT_TRUE(domain.ok());
  const pid_t child = fork();
  if (child == 0) _exit((*domain)->open(1, 1).status().code() == Code::state ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(IclDomain, PodsAreListedWithWhatIsInThem) {
  const EmulatedPod pod("ring 2" + kOptions);
  const auto domain = make_domain(options_of(pod, 0));
  bool found = false;
  for (const RailListing& one : list()) {
    if (one.name != pod.network()) continue;
    found = true;
    EXPECT_TRUE(says(one.can, "2 chips, 1 run")) << one.can;
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace plait::transport::icl
