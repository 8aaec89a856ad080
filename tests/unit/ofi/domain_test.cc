// What domains on libfabric refuse, and in which words; and what happens that the conformance suite cannot
// make happen.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "base/clock.h"
#include "transport/ofi/ofi.h"
#include "transport/ofi/wire.h"

namespace plait::transport::ofi {
namespace {

std::unique_ptr<Domain> tcp_domain(Mode mode = Mode::automatic) {
  Options options;
  options.address = "127.0.0.1";
  options.mode = mode;
  auto domain = make_domain(options);
  EXPECT_TRUE(domain.ok()) << domain.status().text();
  return domain.ok() ? std::move(*domain) : nullptr;
}

bool says(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

TEST(OfiDomain, AProviderThatIsNotThere) {
  Options options;
  options.provider = "nosuchprovider";
  const auto domain = make_domain(options);
  ASSERT_FALSE(domain.ok());
  EXPECT_EQ(domain.status().code(), Code::unsupported);
  EXPECT_TRUE(says(domain.status().text(), "nosuchprovider")) << domain.status().text();
  EXPECT_TRUE(says(domain.status().text(), "fi_info")) << domain.status().text();
  options.provider = "";
  EXPECT_EQ(make_domain(options).status().code(), Code::invalid);
  options.provider = "tcp";
  options.domain = "nosuchinterface";
  EXPECT_TRUE(says(make_domain(options).status().text(), "nosuchinterface"));
}

// What peers may read and write by themselves, close() could not stop: the word for it is that it is no
// network.
TEST(OfiDomain, SharedMemoryIsNotUsedDirectly) {
  Options options;
  options.provider = "shm";
  options.mode = Mode::direct;
  const auto domain = make_domain(options);
  ASSERT_FALSE(domain.ok());
  EXPECT_TRUE(says(domain.status().text(), "FI_REMOTE_COMM")) << domain.status().text();
}

TEST(OfiDomain, OffersSayWhatTheyAreUsedAs) {
  bool loopback = false;
  for (const Offer& o : list("tcp")) {
    EXPECT_EQ(o.mode, Mode::direct) << o.provider << " " << o.domain << ": " << o.why;
    EXPECT_TRUE(o.why.empty()) << o.why;
    loopback |= o.address == "127.0.0.1" && o.domain == "lo";
  }
  EXPECT_TRUE(loopback);
  for (const Offer& o : list("shm")) {
    EXPECT_EQ(o.mode, Mode::messages);
    EXPECT_TRUE(says(o.why, "cannot be used directly")) << o.why;
  }
  EXPECT_TRUE(list("nosuchprovider").empty());
}

TEST(OfiDomain, PeersThatUseItOtherwiseAreNotReached) {
  const auto direct = tcp_domain(), messages = tcp_domain(Mode::messages);
  ASSERT_TRUE(direct != nullptr && messages != nullptr);
  EXPECT_FALSE(direct->reaches(messages->identity()));
  const auto a = direct->open(1, 1).value(), b = messages->open(1, 1).value();
  const Status status = a->connect(b->ticket());
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_TRUE(says(status.text(), "another way")) << status.text();
  EXPECT_EQ(a->connect(a->ticket()).code(), Code::invalid);
}

TEST(OfiDomain, LoopbackIsReachedFromThisHostOnly) {
  const auto domain = tcp_domain();
  ASSERT_NE(domain, nullptr);
  auto identity = am::parse_identity(domain->identity(), kMaker);
  ASSERT_TRUE(identity);
  EXPECT_TRUE(domain->reaches(bytes_of(*identity)));
  identity->host++;
  EXPECT_FALSE(domain->reaches(bytes_of(*identity)));
}

struct Pair {
  std::array<std::unique_ptr<Domain>, 2> domains;
  std::array<std::unique_ptr<Endpoint>, 2> ends;

  explicit Pair(Mode mode) {
    for (size_t i = 0; i < 2; ++i) domains[i] = tcp_domain(mode), ends[i] = domains[i]->open(2, i).value();
    for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(ends[i]->connect(ends[1 - i]->ticket()).ok());
    EXPECT_TRUE(pump([&] { return ends[0]->state() == State::ready && ends[1]->state() == State::ready; }));
  }
  template <class Holds>
  bool pump(Holds holds) {
    const Deadline deadline = Deadline::in_ms(20'000);
    Done done[8];
    while (!holds()) {
      if (deadline.passed()) return false;
      for (auto& d : domains) count += d->poll(done);
    }
    return true;
  }
  size_t count = 0;
};

// A sentence names the provider, the peer, what went wrong and what may be the cause.
TEST(OfiDomain, FailuresAreSentences) {
  Pair p(Mode::automatic);
  std::array<std::byte, 4096> from{}, to{};
  const auto source = p.domains[0]->expose({from.data(), from.size()}, Access::none).value();
  auto target = p.domains[1]->expose({to.data(), to.size()}, Access::write).value();
  const auto remote = p.ends[0]->import(target->key()).value();
  target.reset();
  const Transfer t{
      Verb::put, When::delivered, {0, 1}, source->slice(0, 4096).value(), remote->slice(0, 4096).value(), 5};
  ASSERT_EQ(p.ends[0]->post({&t, 1}), 1U);
  ASSERT_TRUE(p.pump([&] { return p.ends[0]->state() == State::failed; }));
  const std::string_view why = p.ends[0]->error();
  EXPECT_TRUE(says(why, "127.0.0.1:")) << why;
  EXPECT_TRUE(says(why, "put failed")) << why;
  EXPECT_TRUE(says(why, "; ")) << why;
}

// 16 bits of number wrap around.
TEST(OfiDomain, ManySignals) {
  for (Mode mode : {Mode::automatic, Mode::messages}) {
    Pair p(mode);
    Transfer one;
    one.signal = {1, 1};
    uint64_t posted = 0;
    EXPECT_TRUE(p.pump([&] {
      while (posted < 70'000 && p.ends[0]->post({&one, 1}) == 1) ++posted;
      return p.ends[1]->counter(1) == 70'000;
    })) << posted
        << " posted, " << p.ends[1]->counter(1) << " came; " << p.ends[0]->error() << p.ends[1]->error();
  }
}

// Nobody tells of a connection that was lost and made anew in between.
TEST(OfiDomain, ALostSignalIsNoticed) {
  Pair p(Mode::automatic);
  const auto ticket = am::parse_ticket(p.ends[1]->ticket(), kMaker).value();
  const auto where = parse_where(ticket.address).value();
  if (p.domains[0]->capabilities().signals == 0) GTEST_SKIP() << "this libfabric's signals come with data";
  Key forged;  // opens the ring of bells
  forged.region.magic = kMaker.magic;
  forged.region.version = kMaker.version;
  forged.region.owner = ticket.head.domain;
  forged.region.access = uint8_t(Access::write);
  forged.region.bytes = kBells * sizeof(uint64_t);
  forged.region.sum = sum_of(forged.region);
  forged.base = where.bells;
  forged.key = where.bells_key;
  forged.sum = sum_of(forged);
  const auto ring = p.ends[0]->import(bytes_of(forged)).value();
  uint64_t third = bell(2, 0, signal_word(uint16_t(where.stamp + 2), 0, 1));
  Transfer t;  // itself the first
  t.local = {reinterpret_cast<std::byte*>(&third), sizeof third, nullptr};
  t.remote = ring->slice(2 * sizeof third, sizeof third).value();
  ASSERT_EQ(p.ends[0]->post({&t, 1}), 1U);
  ASSERT_TRUE(p.pump([&] { return p.ends[1]->state() == State::failed; }));
  EXPECT_TRUE(says(p.ends[1]->error(), "lost")) << p.ends[1]->error();
}

// A forked child leaves alone what its parent opened.
TEST(OfiDomain, AForkedChildDisturbsNothing) {
  Pair p(Mode::automatic);
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = !p.domains[0]->open(1, 1).ok();
    p.ends[0].reset();
    p.domains[0].reset();
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Transfer one;
  one.signal = {0, 1};
  ASSERT_EQ(p.ends[0]->post({&one, 1}), 1U);
  EXPECT_TRUE(p.pump([&] { return p.ends[1]->counter(0) == 1; }));
}

}  // namespace
}  // namespace plait::transport::ofi
