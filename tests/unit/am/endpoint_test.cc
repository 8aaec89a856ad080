// What endpoints whose puts and gets are messages do, whatever carries these: the conformance suite shows the
// rest, over UCX and libfabric.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "base/pages.h"
#include "fabric.h"

namespace plait::transport::am {
namespace {

struct Side {
  explicit Side(Fabric& fabric) : domain(fabric) {
    base = domain.open(2, 7).value();
    end = static_cast<TestEndpoint*>(base.get());
    memory.resize(1000);
    region = domain.expose({memory.data(), memory.size()}, Access::both).value();
  }
  void poll() {
    Done some[8];
    const size_t n = domain.poll(some);
    dones.insert(dones.end(), some, some + n);
  }
  TestDomain domain;
  std::unique_ptr<Endpoint> base;
  TestEndpoint* end = nullptr;
  Bytes memory;
  std::unique_ptr<Region> region;
  std::unique_ptr<RemoteRegion> remote;
  std::vector<Done> dones;
};

struct Pair {
  explicit Pair(const Fabric& like = {}) : fabric(like), a(fabric), b(fabric) {}
  void connect() {
    ASSERT_TRUE(a.end->connect(b.end->ticket()).ok());
    ASSERT_TRUE(b.end->connect(a.end->ticket()).ok());
    poll();
    ASSERT_EQ(a.end->state(), State::ready);
    ASSERT_EQ(b.end->state(), State::ready);
    a.remote = a.end->import(b.region->key()).value();
    b.remote = b.end->import(a.region->key()).value();
    std::iota(reinterpret_cast<unsigned char*>(a.memory.data()),
              reinterpret_cast<unsigned char*>(a.memory.data() + a.memory.size()), uint8_t{1});
  }
  void poll(int times = 20) {
    for (int i = 0; i < times; ++i) a.poll(), b.poll();
  }
  Transfer from_a(Verb verb, size_t bytes, When when, uint64_t cookie) {
    return {verb,
            when,
            {0, uint16_t(verb == Verb::put)},
            {a.memory.data(), bytes, nullptr},
            {a.remote.get(), 0, bytes},
            cookie};
  }
  Fabric fabric;
  Side a, b;
};

Bytes message(const Header& header, size_t body) {
  Bytes whole;
  append(whole, header);
  whole.resize(whole.size() + body, std::byte{0xee});
  return whole;
}

TEST(MessageEndpoint, PiecesOfPutsAndGetsArrive) {
  Pair p;
  p.connect();
  p.a.end->room = 3;  // so that it takes several polls
  const Transfer put = p.from_a(Verb::put, 1000, When::delivered, 1);
  ASSERT_EQ(p.a.end->post({&put, 1}), 1u);
  p.poll();
  EXPECT_TRUE(p.a.dones.empty()) << "there was no room";
  EXPECT_FALSE(p.a.end->busy());
  p.a.end->room = SIZE_MAX;
  p.poll();
  ASSERT_EQ(p.a.dones.size(), 1u);
  EXPECT_EQ(p.a.dones[0].status, Code::ok);
  EXPECT_EQ(p.b.memory, p.a.memory);
  EXPECT_EQ(p.b.end->counter(0), 1u);
  std::ranges::fill(p.a.memory, std::byte{0});
  const Transfer get = p.from_a(Verb::get, 1000, When::delivered, 2);
  ASSERT_EQ(p.a.end->post({&get, 1}), 1u);
  p.poll();
  ASSERT_EQ(p.a.dones.size(), 2u);
  EXPECT_EQ(p.b.memory, p.a.memory);
}

// Each answer says that its bytes were there when they were read.
TEST(MessageEndpoint, AGetOfWhatIsTakenBackFails) {
  Pair p;
  p.connect();
  p.b.end->room = 3;
  const Transfer get = p.from_a(Verb::get, 1000, When::delivered, 1);
  ASSERT_EQ(p.a.end->post({&get, 1}), 1u);
  p.poll();
  p.b.region.reset();
  p.b.end->room = SIZE_MAX;
  p.poll();
  ASSERT_EQ(p.a.dones.size(), 2u);
  EXPECT_NE(p.a.dones[0].status, Code::ok);
  EXPECT_NE(p.a.end->error().find("not exposed"), std::string_view::npos) << p.a.end->error();
}

// Else a get could see bytes of a put that was posted after it.
TEST(MessageEndpoint, APutWaitsForGetsOnItsCounter) {
  Pair p;
  p.connect();
  p.b.end->room = 0;  // no answers
  Bytes to(500);
  Transfer get = p.from_a(Verb::get, 500, When::delivered, 1);
  get.local.data = to.data();
  const Transfer same = p.from_a(Verb::put, 8, When::delivered, 2);
  Transfer other = same;
  other.signal.counter = 1;
  other.cookie = 3;
  for (const Transfer& t : {get, same, other}) ASSERT_EQ(p.a.end->post({&t, 1}), 1u);
  p.poll();
  EXPECT_EQ(p.b.end->counter(0), 0u);
  EXPECT_EQ(p.b.end->counter(1), 1u) << "another counter need not wait";
  p.b.end->room = SIZE_MAX;
  p.poll();
  EXPECT_EQ(p.b.end->counter(0), 1u);
  EXPECT_EQ(p.a.dones.size(), 3u);
}

TEST(MessageEndpoint, WhatWasKeptIsLetGo) {
  Fabric keeping;
  keeping.manners.piece = 500;
  keeping.keeps = true;
  Pair p(keeping);
  p.connect();
  const Transfer put = p.from_a(Verb::put, 1000, When::reusable, 1);
  ASSERT_EQ(p.a.end->post({&put, 1}), 1u);
  p.poll();
  EXPECT_EQ(p.a.end->kept.size(), 2u);
  EXPECT_TRUE(p.a.dones.empty()) << "its bytes may yet be read";
  p.a.end->release_kept();
  p.poll();
  ASSERT_EQ(p.a.dones.size(), 1u);
  EXPECT_EQ(p.a.dones[0].status, Code::ok);
  ASSERT_EQ(p.a.end->post({&put, 1}), 1u);
  p.a.remote.reset();
  p.a.base.reset();
  p.poll();
  ASSERT_EQ(p.a.dones.size(), 2u);
  EXPECT_EQ(p.a.dones[1].status, Code::aborted);
  EXPECT_EQ(p.b.end->counter(0), 1u);
  EXPECT_NE(p.b.end->error().find("closed this endpoint"), std::string_view::npos) << p.b.end->error();
}

TEST(MessageEndpoint, WhatIsOneMessageIsSentInThePost) {
  Fabric keeping;
  keeping.manners.piece = 1000;
  keeping.keeps = true;
  Pair p(keeping);
  p.connect();
  const std::array<Transfer, 3> puts = {p.from_a(Verb::put, 800, When::reusable, 1),
                                        p.from_a(Verb::put, 900, When::delivered, 2),
                                        p.from_a(Verb::put, 1000, When::never, 3)};
  p.a.end->room = 2;
  ASSERT_EQ(p.a.end->post(puts), 3u);
  EXPECT_EQ(p.a.end->kept.size(), 2u);
  EXPECT_EQ(p.a.end->room, 0u) << "the third waits";
  p.poll();
  EXPECT_TRUE(p.a.dones.empty()) << "nothing has gone";
  p.a.end->room = SIZE_MAX;
  p.poll();
  EXPECT_EQ(p.a.end->kept.size(), 3u);
  p.a.end->release_kept();
  p.poll();
  ASSERT_EQ(p.a.dones.size(), 2u);
  EXPECT_EQ(p.a.dones[0].cookie, 1u);
  EXPECT_EQ(p.a.dones[1].cookie, 2u);
  EXPECT_EQ(p.b.end->counter(0), 3u);
  EXPECT_EQ(p.a.memory, p.b.memory);
  ASSERT_EQ(p.a.end->post(puts), 3u);
  p.a.end->close();
  p.poll();
  ASSERT_EQ(p.a.dones.size(), 4u);
  EXPECT_EQ(p.a.dones[2].status, Code::aborted);
  EXPECT_EQ(p.a.dones[3].status, Code::aborted);
}

// Where a message makes the connection, one side alone begins.
TEST(MessageEndpoint, OneSideMaySpeakFirst) {
  Fabric shy;
  shy.manners.both_greet = false;
  Pair p(shy);
  Side& first = p.a.end->nonce() < p.b.end->nonce() ? p.a : p.b;
  Side& second = &first == &p.a ? p.b : p.a;
  ASSERT_TRUE(second.end->connect(first.end->ticket()).ok());
  EXPECT_TRUE(first.domain.inbox.empty());
  ASSERT_TRUE(first.end->connect(second.end->ticket()).ok());
  EXPECT_EQ(second.domain.inbox.size(), 1u);
  p.poll();
  EXPECT_EQ(first.end->state(), State::ready);
  EXPECT_EQ(second.end->state(), State::ready);
}

// A greeting that comes before connect() is remembered, and taken from the peer of the ticket only.
TEST(MessageEndpoint, AGreetingOfAnotherIsNone) {
  Fabric shy;
  shy.manners.both_greet = false;
  Pair p(shy);
  Side third(p.fabric);
  ASSERT_TRUE(third.end->connect(p.a.end->ticket()).ok());
  Header hello;
  hello.kind = uint8_t(Kind::hello);
  hello.to = p.a.end->nonce();
  hello.value = third.end->nonce();
  p.a.domain.inbox.push_back(message(hello, 0));
  p.poll();
  ASSERT_TRUE(p.a.end->connect(p.b.end->ticket()).ok());
  p.poll();
  EXPECT_EQ(p.a.end->state(), State::connecting);
  ASSERT_TRUE(p.b.end->connect(p.a.end->ticket()).ok());
  p.poll();
  EXPECT_EQ(p.a.end->state(), State::ready);
  EXPECT_EQ(p.a.end->connect(p.b.end->ticket()).code(), Code::state);
  EXPECT_EQ(Side(p.fabric).end->connect(Bytes(3)).code(), Code::invalid);
}

TEST(MessageEndpoint, WhatNoPlaitWouldSendIsRefusedAndTold) {
  struct Case {
    const char* what;
    std::function<void(Header&)> change;
    const char* told;
    size_t body = 8;
  };
  const auto kind = [](Kind k, uint8_t flags, uint64_t value) {
    return [=](Header& h) {
      const uint64_t to = h.to;
      h = {};
      h.to = to;
      h.kind = uint8_t(k);
      h.flags = flags;
      h.value = value;
    };
  };
  const Case cases[] = {
      {"out of turn", [](Header& h) { h.number = 1; }, "the test did that"},
      {"no such slot", [](Header& h) { h.slot += 1; }, "not exposed"},
      {"another nonce", [](Header& h) { h.nonce ^= 1; }, "not exposed"},
      {"beyond the end", [](Header& h) { h.offset = 996; }, "bounds"},
      {"no such counter", [](Header& h) { h.counter = 2; }, "counter"},
      {"an answer to nothing", kind(Kind::data, kLast, 0), "makes no sense"},
      {"an acknowledgement of nothing", kind(Kind::ack, 0, 1), "makes no sense", 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    Pair p;
    p.connect();
    const RegionKey key = parse_region_key(p.a.region->key(), kTestMaker).value();
    const Bytes before = p.a.memory;
    Header h;
    h.kind = uint8_t(Kind::put);
    h.flags = kLast;
    h.to = p.a.end->nonce();
    h.slot = key.slot;
    h.nonce = key.nonce;
    h.add = 1;
    c.change(h);
    p.a.end->room = 0;
    p.a.domain.inbox.push_back(message(h, c.body));
    p.poll();
    EXPECT_EQ(p.a.memory, before);
    EXPECT_EQ(p.a.end->counter(0) + p.a.end->counter(1), 0u);
    EXPECT_EQ(p.a.end->state(), State::failed);
    EXPECT_NE(p.a.end->error().find(c.told), std::string_view::npos) << p.a.end->error();
    EXPECT_EQ(p.b.end->state(), State::ready) << "there was no room to tell it";
    p.a.end->room = 1;
    p.poll();
    EXPECT_NE(p.b.end->error().find("refused"), std::string_view::npos) << p.b.end->error();
    ASSERT_EQ(p.a.dones.size(), 1u);
    EXPECT_EQ(p.a.dones[0].cookie, 7u);
    EXPECT_EQ(p.a.dones[0].status, h.number != 0 ? Code::peer : Code::auth);
  }
}

TEST(MessageEndpoint, MoreGetsThanMayBeOutstandingAreRefused) {
  Pair p;
  p.connect();
  const RegionKey key = parse_region_key(p.a.region->key(), kTestMaker).value();
  p.a.end->room = 0;
  for (uint32_t i = 0; i <= kDepth; ++i) {
    Header h;
    h.kind = uint8_t(Kind::get);
    h.to = p.a.end->nonce();
    h.number = i;
    h.slot = key.slot;
    h.nonce = key.nonce;
    h.value = 1;
    p.a.domain.inbox.push_back(message(h, 0));
  }
  p.poll();
  EXPECT_NE(p.a.end->error().find("more transfers"), std::string_view::npos) << p.a.end->error();
}

TEST(MessageEndpoint, TheDomainMayGoFirst) {
  Fabric fabric;
  auto domain = std::make_unique<TestDomain>(fabric);
  const auto end = domain->open(2, 7).value();
  EXPECT_EQ(domain->open(kCounters + 1, 7).status().code(), Code::invalid);
  domain.reset();
  EXPECT_EQ(end->state(), State::closed);
}

TEST(MessageEndpoint, NoMoreIsUnderWayThanMayBe) {
  Fabric like;
  like.manners.under_way = 400;
  Pair p(like);
  p.connect();
  const auto came = [&] {
    size_t bytes = 0;
    for (const Bytes& message : p.b.domain.inbox) bytes += message.size() - sizeof(Header);
    return bytes;
  };
  for (uint64_t i = 0; i < 12; ++i) {
    // Both kinds: those that are acknowledged themselves, and those that are not.
    const Transfer put = p.from_a(Verb::put, 90, i % 3 == 0 ? When::delivered : When::reusable, i);
    ASSERT_EQ(p.a.end->post({&put, 1}), 1U);
  }
  for (int i = 0; i < 5; ++i) p.a.poll();
  EXPECT_EQ(came(), 450U) << "the first that goes too far is the last";
  EXPECT_TRUE(p.a.domain.arm()) << "and it can sleep until an answer comes";
  p.poll();
  EXPECT_EQ(p.a.dones.size(), 12U);
  EXPECT_EQ(p.b.end->counter(0).load(), 12U);
  const Transfer get = p.from_a(Verb::get, 500, When::delivered, 20),
                 put = p.from_a(Verb::put, 1000, When::delivered, 21);
  p.b.memory[499] = std::byte{77};
  ASSERT_EQ(p.a.end->post({&get, 1}), 1U);
  p.poll();
  EXPECT_EQ(p.a.memory[499], std::byte{77});
  ASSERT_EQ(p.a.end->post({&put, 1}), 1U);
  p.poll();
  EXPECT_EQ(p.a.dones.size(), 14U);
  EXPECT_EQ(p.a.memory, p.b.memory);
}

// Of UCX over TCP (13 bytes before the payload): what lies at the beginning of a page.
TEST(MessageEndpoint, WhatTheKernelWouldCopySlowlyIsParted) {
  Fabric like;
  like.manners.piece = size_t{16} << 10;
  like.manners.before = 13;
  struct Case {
    size_t offset, bytes;
    std::vector<size_t> parts;
  };
  const Case cases[] = {{0, 16384, {1024, 15360}},        {0, 8191, {8191}},    {16, 16384, {16384}},
                        {0, 20000, {1024, 16384, 2592}},  {64, 16384, {16384}}, {4095, 9000, {1024, 7976}},
                        {64, 32768, {16384, 1024, 15360}}};
  for (const Case& c : cases) {
    SCOPED_TRACE("at " + std::to_string(c.offset) + " of a page, " + std::to_string(c.bytes) + " bytes");
    Pair pair(like);
    pair.connect();
    const Mapping from = map_pages(65536), to = map_pages(65536);
    std::byte* const bytes = from.data() + c.offset;
    for (size_t i = 0; i < c.bytes; ++i) bytes[i] = std::byte(i * 7 + i / 256);
    auto region = pair.b.domain.expose({to.data(), to.size()}, Access::both).value();
    auto remote = pair.a.end->import(region->key()).value();
    const Transfer put{
        Verb::put, When::delivered, {0, 1}, {bytes, c.bytes, nullptr}, {remote.get(), 5, c.bytes}, 9};
    ASSERT_EQ(pair.a.end->post({&put, 1}), 1U);
    std::vector<size_t> parts;
    for (int i = 0; i < 50 && pair.a.dones.empty(); ++i) {
      pair.a.poll();
      for (const Bytes& message : pair.b.domain.inbox) {
        if (message.size() > sizeof(Header)) parts.push_back(message.size() - sizeof(Header));
      }
      pair.b.poll();
    }
    EXPECT_EQ(parts, c.parts);
    ASSERT_EQ(pair.a.dones.size(), 1U);
    EXPECT_TRUE(std::equal(bytes, bytes + c.bytes, to.data() + 5));
  }
}

}  // namespace
}  // namespace plait::transport::am
