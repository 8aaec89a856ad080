// Rule 12: peers reach what they were given and nothing else.
#include <random>

#include "conformance/fixture.h"

namespace plait::transport::conformance {
namespace {

bool refusal(Code code) {
  return code == Code::auth || code == Code::invalid || code == Code::version || code == Code::unsupported;
}

TEST_P(Conformance, Rule12_RightsAreEnforced) {
  for (Access access : {Access::none, Access::read, Access::write, Access::both}) {
    for (Verb verb : {Verb::put, Verb::get}) {
      if (verb == Verb::get && !caps().get) continue;
      SCOPED_TRACE("access " + std::to_string(int(access)) + ", verb " + std::to_string(int(verb)));
      Link& l = link(0, 1);
      Buffer& own = buffer(0, 256);
      Buffer& far = buffer(1, 256, access);
      own.fill(1);
      auto remote = l.a.end->import(far.region->key());
      if (!remote.ok()) {
        EXPECT_EQ(access, Access::none) << remote.status().text();
        continue;
      }
      EXPECT_EQ((*remote)->access(), access);
      if (access == Access::none) {
        EXPECT_EQ((*remote)->mapped(), nullptr);
      }
      RemoteSlice slice = (*remote)->slice(0, 256).value();
      Transfer t = put(own.local(0, 256), slice, {0, 0}, When::delivered, next_cookie());
      if (verb == Verb::get) t = get(own.local(0, 256), slice, next_cookie());
      if (verb == Verb::put ? may_write(access) : may_read(access)) {
        ASSERT_TRUE(post_one(l.a, t));
        ASSERT_TRUE(pump([&] { return rank(0).count(t.cookie) == 1; }));
        EXPECT_EQ(rank(0).oks(t.cookie), 1);
      } else {
        EXPECT_TRUE(fails(l.a, t));
        EXPECT_EQ(l.a.end->state(), State::failed);
        EXPECT_FALSE(l.a.end->error().empty());
        EXPECT_TRUE(far.all(std::byte{0}));
        EXPECT_TRUE(own.holds(1));
      }
      l.a.remotes.push_back(std::move(remote).value());
    }
  }
}

TEST_P(Conformance, Rule12_SlicesOutOfBoundsAreRefused) {
  Link& l = link(0, 1);
  Buffer& own = buffer(0, 256);
  Buffer& far = buffer(1, 256, Access::both);
  RemoteRegion* remote = l.a.import(far);
  ASSERT_NE(remote, nullptr);
  for (auto [offset, bytes] :
       {std::pair<uint64_t, size_t>{0, 257}, {257, 0}, {256, 1}, {UINT64_MAX, 2}, {1, SIZE_MAX}}) {
    auto r = remote->slice(offset, bytes);
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.status().code(), Code::invalid);
    auto o = own.region->slice(size_t(offset), bytes);
    ASSERT_FALSE(o.ok());
    EXPECT_EQ(o.status().code(), Code::invalid);
  }
  EXPECT_TRUE(remote->slice(256, 0).ok());
}

// A transfer that breaks the contract is not taken, ends the endpoint with a sentence, and lands nowhere.
TEST_P(Conformance, Rule12_TransfersThatBreakTheContractAreRefused) {
  constexpr int kCases = 6;
  for (int i = 0; i < kCases; ++i) {
    Link& l = link(0, 1);
    Buffer& own = buffer(0, 8192);
    Buffer& far = buffer(1, 8192, Access::both);
    own.fill(1);
    RemoteRegion* remote = l.a.import(far);
    ASSERT_NE(remote, nullptr);
    Transfer t = put(own.local(0, 64), remote->slice(0, 64).value(), {0, 1}, When::delivered, next_cookie());
    const char* what = "";
    switch (i) {
      case 0:
        what = "beyond the end", t.remote.offset = 8192 - 63;
        break;
      case 1:
        what = "far beyond the end", t.remote.offset = UINT64_MAX - 16;
        break;
      case 2:
        what = "longer than the source", t.remote.bytes = 65;
        break;
      case 3:
        what = "no such counter", t.signal.counter = 2;
        break;
      case 4:
        what = "no region", t.remote.region = nullptr;
        break;
      case 5:
        what = "a get that signals";
        if (!caps().get) continue;
        t.verb = Verb::get;
        break;
      default:
        break;
    }
    SCOPED_TRACE(what);
    Transfer good =
        put(own.local(64, 64), remote->slice(64, 64).value(), {0, 0}, When::delivered, next_cookie());
    Transfer both[] = {good, t};
    EXPECT_EQ(l.a.end->post(both), 1u) << "the prefix before it is taken";
    EXPECT_EQ(l.a.end->state(), State::failed);
    EXPECT_FALSE(l.a.end->error().empty());
    ASSERT_TRUE(pump([&] { return rank(0).count(l.a.cookie) == 1 && rank(0).count(good.cookie) == 1; }));
    EXPECT_EQ(rank(0).oks(l.a.cookie), 0);
    for (int n = 0; n < 50; ++n) poll_all();
    EXPECT_EQ(rank(0).count(t.cookie), 0);
    EXPECT_EQ(rank(0).count(l.a.cookie), 1);
    EXPECT_EQ(l.b.end->counter(0), 0u);
    EXPECT_EQ(std::count(far.data(), far.data() + 64, std::byte{0}), 64);
  }
}

TEST_P(Conformance, Rule12_DamagedKeysAreRefused) {
  Link& l = link(0, 1);
  Buffer& far = buffer(1, 256, Access::both);
  ByteView key = far.region->key();
  Bytes good(key.begin(), key.end());
  EXPECT_LE(good.size(), caps().key_bytes);
  ASSERT_TRUE(l.a.end->import(good).ok());
  for (size_t n = 0; n < good.size(); ++n) {  // every truncation
    auto r = l.a.end->import(ByteView(good).first(n));
    ASSERT_FALSE(r.ok()) << n << " of " << good.size() << " bytes";
    EXPECT_TRUE(refusal(r.status().code())) << r.status().text();
  }
  for (size_t i = 0; i < good.size(); ++i) {  // every bit
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bad = good;
      bad[i] ^= std::byte(1 << bit);
      auto r = l.a.end->import(bad);
      ASSERT_FALSE(r.ok()) << "bit " << bit << " of byte " << i;
      EXPECT_TRUE(refusal(r.status().code())) << r.status().text();
    }
  }
  Bytes longer = good;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(l.a.end->import(longer).ok());
  EXPECT_TRUE(l.a.end->import(good).ok()) << "refusals must not hurt the endpoint";
  EXPECT_EQ(l.a.end->state(), State::ready);
}

TEST_P(Conformance, Rule12_KeysOfOthersAreRefused) {
  Link& l = link(0, 1);
  Buffer& own = buffer(0, 256, Access::both);
  Buffer& third = buffer(2, 256, Access::both);
  for (Buffer* other : {&own, &third}) {
    auto r = l.a.end->import(other->region->key());
    ASSERT_FALSE(r.ok()) << "a key of rank " << other->rank << " was taken for one of rank 1";
    EXPECT_EQ(r.status().code(), Code::auth) << r.status().text();
  }
}

// The nonce: the same memory exposed again is another region.
TEST_P(Conformance, Rule12_OldKeysDoNotOpenNewRegions) {
  Link& l = link(0, 1);
  Buffer& own = buffer(0, 256);
  Buffer& far = buffer(1, 256, Access::both);
  ByteView key = far.region->key();
  Bytes old(key.begin(), key.end());
  RemoteRegion* remote = l.a.import(far);
  ASSERT_NE(remote, nullptr);
  RemoteSlice slice = remote->slice(0, 256).value();
  far.region.reset();
  auto again = rank(1).domain->expose(far.memory, Access::both);
  ASSERT_TRUE(again.ok());
  far.region = std::move(again).value();
  EXPECT_NE(Bytes(far.region->key().begin(), far.region->key().end()), old);
  own.fill(3);
  EXPECT_TRUE(fails(l.a, put(own.local(0, 256), slice, {0, 1}, When::delivered, next_cookie())));
  EXPECT_TRUE(far.all(std::byte{0}));
  EXPECT_EQ(l.b.end->counter(0), 0u);
}

TEST_P(Conformance, Rule12_GarbageTicketsAreRefused) {
  uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Side peer = open(1, 1);
  const Bytes& good = peer.ticket;
  EXPECT_LE(good.size(), caps().ticket_bytes);
  std::vector<Bytes> bad = {{}};
  for (size_t n = 0; n < good.size(); n += 3) bad.emplace_back(good.begin(), good.begin() + ptrdiff_t(n));
  for (size_t i = 0; i < good.size(); ++i) {
    bad.push_back(good);
    bad.back()[i] ^= std::byte(1 << (random() % 8));
  }
  for (int i = 0; i < 20; ++i) {
    bad.emplace_back(i % 2 == 0 ? good.size() : random() % 300);
    for (std::byte& b : bad.back()) b = std::byte(random());
  }
  // To open an endpoint costs some libraries a tenth of a second: one that refused goes on where it can.
  Side refuser = open(0, 1);
  for (size_t i = 0; i < bad.size(); ++i) {
    if (refuser.end->state() != State::opened) refuser = open(0, 1);
    Status s = refuser.end->connect(bad[i]);
    ASSERT_FALSE(s.ok()) << "ticket " << i;
    EXPECT_TRUE(refusal(s.code())) << s.text();
    poll_all();
    EXPECT_NE(refuser.end->state(), State::ready);
  }
  Side a = open(0, 1);
  ASSERT_TRUE(a.end->connect(good).ok()) << "refusals must not use the ticket up";
  ASSERT_TRUE(peer.end->connect(a.end->ticket()).ok());
  EXPECT_TRUE(make_ready(a, peer));
}

TEST_P(Conformance, Rule12_ATicketServesOnce) {
  Link& l = link(0, 1);
  Side thief = open(2, 1);
  Status s = thief.end->connect(l.b.ticket);
  for (int i = 0; i < 300; ++i) poll_all();
  EXPECT_TRUE(!s.ok() || thief.end->state() != State::ready);
  ASSERT_TRUE(post_one(l.a, signal_only({0, 1})));
  EXPECT_TRUE(pump([&] { return l.b.end->counter(0) == 1; })) << "the thief disturbed the owners";
}

TEST_P(Conformance, Rule12_EmptyMemoryIsRefused) {
  EXPECT_FALSE(rank(0).domain->expose(Memory{}, Access::both).ok());
  Memory device = world().allocate(0, 64);
  device.kind = MemoryKind::device;
  device.device = 12345;
  auto r = rank(0).domain->expose(device, Access::both);
  if (!caps().device_memory) {
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.status().code(), Code::unsupported);
  }
}

}  // namespace
}  // namespace plait::transport::conformance
