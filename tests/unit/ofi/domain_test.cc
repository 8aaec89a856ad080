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

// Opens the ring of bells of `end`, for its peer.
Bytes key_of_bells(const Domain& domain, const Endpoint& end) {
  const auto ticket = am::parse_ticket(end.ticket(), kMaker).value();
  ByteView address = ticket.address;
  const auto where = parse_where(address).value();
  RegionKey region;
  region.magic = kMaker.magic;
  region.version = kMaker.version;
  region.owner = ticket.head.domain;
  region.access = uint8_t(Access::write);
  region.bytes = domain.capabilities().signals * 8;
  region.sum = sum_of(region);
  const Key key = direct_key(bytes_of(region), where.bells, where.bells_key);
  const ByteView bytes = bytes_of(key);
  return Bytes(bytes.begin(), bytes.end());
}

// Nobody tells of a connection that was lost and made anew in between.
TEST(OfiDomain, ALostSignalIsNoticed) {
  Pair p(Mode::automatic);
  if (p.domains[0]->capabilities().signals == 0) GTEST_SKIP() << "this libfabric's signals come with data";
  const auto ring = p.ends[0]->import(key_of_bells(*p.domains[1], *p.ends[1])).value();
  uint64_t third = uint64_t{1} << 56;  // of the first lap
  Transfer t;                          // itself the first
  t.local = {reinterpret_cast<std::byte*>(&third), sizeof third, nullptr};
  t.remote = ring->slice(2 * sizeof third, sizeof third).value();
  ASSERT_EQ(p.ends[0]->post({&t, 1}), 1U);
  ASSERT_TRUE(p.pump([&] { return p.ends[1]->state() == State::failed; }));
  EXPECT_TRUE(says(p.ends[1]->error(), "lost")) << p.ends[1]->error();
}

// The ones come as messages, the others behind the bytes: in their order all the same.
TEST(OfiDomain, SignalsWithBytesAndWithoutKeepTheirOrder) {
  Pair p(Mode::automatic);
  uint64_t target = 0;
  const auto region = p.domains[1]->expose({&target, sizeof target}, Access::write).value();
  const auto remote = p.ends[0]->import(region->key()).value();
  const uint64_t kMost = 3000;
  uint64_t posted = 0, seen = 0;
  const auto post_next = [&] {
    uint64_t value = posted;
    Transfer t;
    t.signal = {0, uint16_t(posted % 3 == 0 ? 3 : 1)};  // sums that are 2 modulo 5 are none on the way
    if (posted % 3 != 0) {
      t.local = {reinterpret_cast<std::byte*>(&value), sizeof value, nullptr};
      t.remote = remote->slice(0, sizeof value).value();
    }
    const bool taken = p.ends[0]->post({&t, 1}) == 1;
    posted += taken ? 1 : 0;
    return taken;
  };
  EXPECT_TRUE(p.pump([&] {
    while (posted < kMost && post_next()) {
    }
    const uint64_t now = p.ends[1]->counter(0);
    EXPECT_GE(now, seen);
    EXPECT_TRUE(now % 5 == 0 || now % 5 == 3 || now % 5 == 4) << now;
    seen = now;
    return now == kMost / 3 * 5 || p.ends[1]->state() == State::failed;
  }));
  EXPECT_EQ(seen, kMost / 3 * 5) << p.ends[1]->error();
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
