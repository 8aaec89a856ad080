// Who may connect to the listener: anybody. Who is listened to: the peer of a ticket, once.
#include <fcntl.h>
#include <sys/resource.h>

#include <random>

#include "base/log.h"
#include "raw_peer.h"

namespace plait::transport::tcp::test {
namespace {

// A working pair whose side `a` strangers come to.
struct Besieged {
  Pair pair;
  Address door = ticket_of(*pair.a.end).addresses[0];
  Besieged() { EXPECT_TRUE(pair.connect()); }
  // Both ends still work, and quickly.
  void still_works() {
    const Transfer one = make_signal({0, 1}, When::delivered, ++cookie_);
    const uint64_t before = pair.a.end->counter(0);
    ASSERT_EQ(pair.b.end->post({&one, 1}), 1U);
    EXPECT_TRUE(pair.until([&] { return pair.b.code(cookie_) == Code::ok; }));
    EXPECT_EQ(pair.a.end->counter(0), before + 1);
    EXPECT_EQ(pair.a.end->state(), State::ready) << pair.a.end->error();
  }

 private:
  uint64_t cookie_ = 0;
};

TEST(TcpStranger, GarbageIsSentAwayAndNamedOnce) {
  Besieged besieged;
  std::vector<std::string> said;
  log::set_sink([&](log::Level, std::string_view text) { said.emplace_back(text); });
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    Fd stranger = call(besieged.door);
    Bytes bytes(4 + random() % 4000);
    for (auto& b : bytes) b = std::byte(random());
    while (send(stranger.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0 && errno != ECONNRESET) {
    }
    EXPECT_TRUE(hung_up(*besieged.pair.a.domain, stranger)) << i;
  }
  log::reset();
  ASSERT_EQ(said.size(), 1U) << "once an address";
  EXPECT_NE(said[0].find("127.0.0.1"), std::string::npos) << said[0];
  besieged.still_works();
}

TEST(TcpStranger, AHelloMustKnowTheToken) {
  Side side(1);
  const Ticket ticket = ticket_of(*side.end);
  auto say = [&](uint64_t to, const Token& token, HelloKind kind) {
    Fd stranger = call(ticket.addresses[0]);
    while (!say_hello(stranger.get(), kind, Lane::mailbox, 5, to, token, "evil") && errno == ENOTCONN) {
    }
    return hung_up(*side.domain, stranger);
  };
  for (int bit = 0; bit < 128; bit += 7) {
    Token wrong = ticket.tokens[0];
    wrong[size_t(bit / 64)] ^= uint64_t{1} << (bit % 64);
    EXPECT_TRUE(say(ticket.endpoint, wrong, HelloKind::hello));
  }
  EXPECT_TRUE(say(ticket.endpoint, ticket.tokens[1], HelloKind::hello)) << "another lane's";
  EXPECT_TRUE(say(ticket.endpoint + 1, ticket.tokens[0], HelloKind::hello));
  EXPECT_TRUE(say(ticket.endpoint, ticket.tokens[0], HelloKind::answer));
  RawPeer peer(side);
  EXPECT_TRUE(peer.connect()) << side.end->error();
}

TEST(TcpStranger, AHelloServesOnce) {
  Side side(1);
  const Ticket ticket = ticket_of(*side.end);
  RawPeer peer(side);
  ASSERT_TRUE(peer.connect());
  for (Lane lane : {Lane::mailbox, Lane::bulk, Lane::pulse}) {
    Fd again = call(ticket.addresses[0]);
    while (!say_hello(again.get(), HelloKind::hello, lane, peer.ticket.endpoint, ticket.endpoint,
                      ticket.tokens[size_t(lane)], "raw") &&
           errno == ENOTCONN) {
    }
    EXPECT_TRUE(hung_up(*side.domain, again));
  }
  EXPECT_EQ(side.end->state(), State::ready);
}

TEST(TcpStranger, TwoThousandAtOnceHarmNobody) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < 3000) {
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 8192);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < 3000) GTEST_SKIP() << "too few descriptors";
  }
  Besieged besieged;
  std::vector<Fd> strangers;
  for (int i = 0; i < 2000; ++i) {
    strangers.push_back(call(besieged.door));
    if (i % 3 == 0) (void)send(strangers.back().get(), "P", 1, MSG_NOSIGNAL);  // as a hello begins
    if (i % 50 == 0) besieged.still_works();
  }
  // Beyond the cap the oldest have gone, though none was late.
  EXPECT_TRUE(hung_up(*besieged.pair.a.domain, strangers[0], 3000));
  besieged.still_works();
  Side late(7);
  Pair& pair = besieged.pair;
  auto another = pair.a.domain->open(1, 8).value();
  ASSERT_TRUE(another->connect(late.end->ticket()).ok());
  ASSERT_TRUE(late.end->connect(another->ticket()).ok());
  EXPECT_TRUE(pair.until([&] {
    late.poll();
    return another->state() == State::ready && late.end->state() == State::ready;
  })) << another->error()
      << late.end->error();
}

TEST(TcpStranger, WhoSaysTooLittleIsLate) {
  Besieged besieged;
  Hello hello;
  hello.kind = uint8_t(HelloKind::hello);
  Fd silent = call(besieged.door), slow = call(besieged.door);
  besieged.still_works();
  Deadline early = Deadline::in_ms(3000);
  size_t said = 0;
  while (!early.passed()) {
    if (said < 20 && send(slow.get(), reinterpret_cast<const char*>(&hello) + said, 1, MSG_NOSIGNAL) == 1)
      ++said;
    besieged.pair.a.poll();
  }
  char byte = 0;
  EXPECT_EQ(recv(slow.get(), &byte, 1, MSG_DONTWAIT), -1);
  EXPECT_EQ(errno, EAGAIN) << "it has some seconds";
  EXPECT_TRUE(hung_up(*besieged.pair.a.domain, silent, 15'000));
  EXPECT_TRUE(hung_up(*besieged.pair.a.domain, slow, 15'000));
  besieged.still_works();
}

// The peer itself says what no peer should: the endpoint fails with a sentence, the peer is told, nothing
// lands.
TEST(TcpStranger, APeerThatBreaksTheRulesEndsItsEndpoint) {
  struct Case {
    const char* what;
    std::function<void(Header&)> change;
    Refusal told;
  };
  const std::vector<Case> cases = {
      {"no such kind", [](Header& h) { h.kind = 0; }, Refusal::nonsense},
      {"too long", [](Header& h) { h.length = UINT32_MAX; }, Refusal::nonsense},
      {"no such slot", [](Header& h) { h.slot += 1; }, Refusal::region},
      {"a slot far off", [](Header& h) { h.slot = UINT32_MAX; }, Refusal::region},
      {"another nonce", [](Header& h) { h.nonce ^= 1; }, Refusal::region},
      {"no nonce", [](Header& h) { h.nonce = 0; }, Refusal::region},
      {"beyond the end", [](Header& h) { h.offset = 64; }, Refusal::bounds},
      {"a byte beyond the end", [](Header& h) { h.length = 65; }, Refusal::bounds},
      {"no such counter", [](Header& h) { h.counter = 4; }, Refusal::counter},
      {"no right to read", [](Header& h) { h = {'G', 0, 0, 0, 0, h.slot, 0, h.nonce, 0, 64}; },
       Refusal::rights},
      {"data nobody asked for", [](Header& h) { h = {'D', kLast, 0, 0, 0, 0, 64, 0, 0, 0}; },
       Refusal::nonsense},
      {"an ack of nothing", [](Header& h) { h = {'A', 0, 0, 0, 0, 0, 0, 0, 0, 1}; }, Refusal::nonsense},
  };
  for (const Case& one : cases) {
    for (size_t lane : {0u, 1u}) {
      SCOPED_TRACE(one.what);
      Side side(1);
      RawPeer peer(side);
      ASSERT_TRUE(peer.connect());
      Bytes memory(64);
      auto region = side.domain->expose({memory.data(), memory.size()}, Access::write).value();
      Key key;
      std::memcpy(&key, region->key().data(), sizeof key);
      struct {
        Header header;
        std::array<std::byte, 64> bytes;
      } frame{{'P', kLast, 0, 1, 0, key.slot, 64, key.nonce, 0, 0}, {}};
      frame.bytes.fill(std::byte{1});
      one.change(frame.header);
      peer.say(lane, &frame, sizeof frame);
      ASSERT_TRUE(peer.poll_until([&] { return side.count(1) == 1; }));
      EXPECT_EQ(side.code(1), Code::auth);
      EXPECT_NE(side.end->error().find("host raw"), std::string_view::npos) << side.end->error();
      EXPECT_NE(side.end->error().find(describe(one.told)), std::string_view::npos) << side.end->error();
      EXPECT_EQ(memory, Bytes(64));
      EXPECT_EQ(side.end->counter(0), 0U);
      Header last;
      ASSERT_TRUE(peer.take(peer.lanes[0], &last, sizeof last));
      EXPECT_EQ(last.kind, uint8_t(FrameKind::error));
      EXPECT_EQ(last.value, uint64_t(one.told));
    }
  }
}

// More gets than may be outstanding, without taking an answer.
TEST(TcpStranger, GetsWithoutEndAreRefused) {
  Side side(1);
  RawPeer peer(side);
  ASSERT_TRUE(peer.connect());
  Bytes memory(size_t{8} << 20);
  auto region = side.domain->expose({memory.data(), memory.size()}, Access::read).value();
  Key key;
  std::memcpy(&key, region->key().data(), sizeof key);
  const Header get{'G', 0, 0, 0, 0, key.slot, 0, key.nonce, 0, memory.size()};
  for (int i = 0; i < 400 && send(peer.lanes[1].get(), &get, sizeof get, MSG_NOSIGNAL) > 0; ++i) side.poll();
  ASSERT_TRUE(peer.poll_until([&] { return side.count(1) == 1; }));
  EXPECT_NE(side.end->error().find(describe(Refusal::too_many)), std::string_view::npos) << side.end->error();
}

}  // namespace
}  // namespace plait::transport::tcp::test
