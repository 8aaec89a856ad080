// TLS on connections: who has another key is refused on both sides, changed bytes are noticed, keys are
// renewed, and what the kernel has no room for is kept.
#include "transport/tcp/tls.h"

#include <sys/socket.h>

#include <random>

#include "base/log.h"
#include "raw_peer.h"

namespace plait::transport::tcp::test {
namespace {

Options sealed(uint8_t seed) {
  Options options = loopback();
  options.engine = EngineKind::polled;
  options.tls = tls_key(seed);
  return options;
}

Options plain() {
  Options options = loopback();
  options.tls = nullptr;
  return options;
}

bool says(std::string_view text, std::string_view what) { return text.find(what) != text.npos; }

class TcpTls : public testing::Test {
 protected:
  void SetUp() override {
    if (const Status status = tls_status(); !status.ok()) GTEST_SKIP() << status.text();
  }
};

// Both ends of a socket, and how TLS runs over it.
struct Wire {
  std::unique_ptr<TlsContext> context;
  Fd sockets[2];
  std::unique_ptr<Tls> ends[2];

  explicit Wire(uint64_t records_a_key = TlsContext::kRecordsAKey) {
    context = std::move(TlsContext::make(*tls_key(3), records_a_key).value());
    EXPECT_TRUE(context->left().reserve(2));
    int pair[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    for (int i : {0, 1}) {
      sockets[i] = Fd(pair[i]);
      ends[i] = Tls::make(*context, pair[i], i == 0);
    }
  }
  void shake() {
    Tls::Step steps[2] = {Tls::Step::more, Tls::Step::more};
    for (int i = 0; i < 10; ++i) {
      if (steps[i % 2] == Tls::Step::more) steps[i % 2] = ends[i % 2]->shake();
    }
    ASSERT_EQ(steps[0], Tls::Step::done) << ends[0]->reason();
    ASSERT_EQ(steps[1], Tls::Step::done) << ends[1]->reason();
  }
  ssize_t send(const void* bytes, size_t n) {
    iovec part{const_cast<void*>(bytes), n};
    return ends[0]->send(std::span(&part, 1));
  }
  ssize_t receive(void* to, size_t n) {
    iovec part{to, n};
    return ends[1]->receive(std::span(&part, 1));
  }
};

TEST_F(TcpTls, IsOfVersion13WithTheKeyAndWithoutAWordMore) {
  Wire wire;
  wire.shake();
  EXPECT_EQ(wire.ends[0]->name(), "TLSv1.3, TLS_AES_128_GCM_SHA256");
  EXPECT_EQ(wire.ends[1]->name(), wire.ends[0]->name());
  char byte;
  for (int i : {0, 1}) EXPECT_EQ(recv(wire.sockets[i].get(), &byte, 1, 0), -1) << "nothing waits to be read";
}

// Pieces of any length, keys that are renewed all the time, a socket that takes little at a time.
TEST_F(TcpTls, AnyPiecesThroughASmallSocketWithNewKeys) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Wire wire(3);
  const int small = 8192;
  ASSERT_EQ(setsockopt(wire.sockets[0].get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
  wire.shake();
  Bytes sent(size_t{6} << 20), got(sent.size());
  fill(sent, seed);
  size_t out = 0, in = 0, waits = 0;
  for (int turn = 0; in < sent.size() && turn < 1'000'000; ++turn) {
    std::array<iovec, 5> parts;
    size_t count = 0, bytes = 0;
    for (; count < parts.size() && out + bytes < sent.size(); ++count) {
      const size_t n = std::min<size_t>({random() % 3 == 0 ? random() % 40'000 : random() % 300,
                                         sent.size() - out - bytes, 60'000 - bytes});
      parts[count] = {sent.data() + out + bytes, n};
      bytes += n;
    }
    if (bytes != 0) {
      const ssize_t took = wire.ends[0]->send(std::span(parts).first(count));
      ASSERT_TRUE(took >= 0 || errno == EAGAIN) << std::strerror(errno) << wire.ends[0]->reason();
      if (took > 0) out += size_t(took);
    } else if (!wire.ends[0]->push()) {
      ASSERT_EQ(errno, EAGAIN);
    }
    waits += wire.ends[0]->owes();
    const ssize_t came =
        wire.receive(got.data() + in, std::min<size_t>(random() % 30'000 + 1, got.size() - in));
    ASSERT_TRUE(came > 0 || (came < 0 && errno == EAGAIN)) << wire.ends[1]->reason();
    if (came > 0) in += size_t(came);
  }
  EXPECT_EQ(in, sent.size());
  EXPECT_TRUE(sent == got);
  EXPECT_GT(waits, 0U) << "the socket was never full";
  EXPECT_FALSE(wire.ends[1]->holds());
}

TEST_F(TcpTls, WhatIsHeldIsTold) {
  Wire wire;
  wire.shake();
  Bytes sent(1000), got(1000);
  fill(sent, 1);
  ASSERT_EQ(wire.send(sent.data(), sent.size()), 1000);
  ASSERT_EQ(wire.receive(got.data(), 400), 400);
  EXPECT_TRUE(wire.ends[1]->holds()) << "the kernel has nothing of it any more";
  ASSERT_EQ(wire.receive(got.data() + 400, 600), 600);
  EXPECT_EQ(sent, got);
  EXPECT_EQ(wire.receive(got.data(), 1), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_FALSE(wire.ends[1]->holds());
}

TEST_F(TcpTls, AChangedByteIsNoticedAndNothingOfItsRecordTaken) {
  Wire wire;
  wire.shake();
  Bytes sent(3000), got(3000);
  fill(sent, 1);
  ASSERT_EQ(wire.send(sent.data(), sent.size()), 3000);
  Bytes on_the_wire(5000);
  const ssize_t n = recv(wire.sockets[1].get(), on_the_wire.data(), on_the_wire.size(), 0);
  ASSERT_GT(n, 3000);
  on_the_wire[size_t(n) / 2] ^= std::byte{1};
  ASSERT_EQ(send(wire.sockets[0].get(), on_the_wire.data(), size_t(n), 0), n);
  EXPECT_EQ(wire.receive(got.data(), got.size()), -1);
  EXPECT_EQ(errno, EBADMSG);
  EXPECT_TRUE(says(wire.ends[1]->reason(), "bad record mac")) << wire.ends[1]->reason();
  EXPECT_EQ(got, Bytes(3000));
  EXPECT_EQ(wire.receive(got.data(), got.size()), -1);
  EXPECT_EQ(errno, EBADMSG) << "for good";
}

TEST_F(TcpTls, AHangUpIsNoChange) {
  Wire wire;
  wire.shake();
  wire.ends[0].reset();
  wire.sockets[0].reset();
  char byte;
  EXPECT_EQ(wire.receive(&byte, 1), 0);
}

TEST_F(TcpTls, AnotherKeyIsRefused) {
  Pair pair(sealed(1), sealed(2));
  ASSERT_TRUE(pair.a.end->connect(pair.b.end->ticket()).ok());
  ASSERT_TRUE(pair.b.end->connect(pair.a.end->ticket()).ok());
  // Each side dials one of its connections, and learns there.
  ASSERT_TRUE(pair.until(
      [&] { return pair.a.end->state() == State::failed && pair.b.end->state() == State::failed; }));
  for (Side* side : {&pair.a, &pair.b}) {
    EXPECT_EQ(side->code(side->cookie), Code::auth);
    EXPECT_TRUE(says(side->end->error(), "TLS handshake")) << side->end->error();
    EXPECT_TRUE(says(side->end->error(), "secret")) << side->end->error();
    EXPECT_TRUE(says(side->end->error(), "127.0.0.1")) << side->end->error();
  }
}

TEST_F(TcpTls, OneSideAloneIsToldOnBoth) {
  Pair pair(sealed(1), plain());
  for (int i : {0, 1}) {
    const Side& one = i == 0 ? pair.a : pair.b;
    const Side& other = i == 0 ? pair.b : pair.a;
    const Status status = one.end->connect(other.end->ticket());
    EXPECT_EQ(status.code(), Code::mismatch);
    EXPECT_TRUE(says(status.text(), "wants TLS")) << status.text();
    EXPECT_TRUE(says(status.text(), "127.0.0.1")) << status.text();
    EXPECT_EQ(one.end->state(), State::failed);
  }
}

// What the log of a domain says of a stranger that begins with `bytes`.
std::string told_of(const Options& options, const void* bytes, size_t n) {
  static std::string lines;
  lines.clear();
  log::set_sink([](log::Level, std::string_view line) { lines += line; });
  Side side(1, options);
  const Fd stranger = call(ticket_of(*side.end).addresses[0]);
  for (const Deadline limit = Deadline::in_ms(kLimitMs);
       send(stranger.get(), bytes, n, MSG_NOSIGNAL) < 0 && !limit.passed();)
    side.poll();
  EXPECT_TRUE(hung_up(*side.domain, stranger));
  log::set_sink(nullptr);
  return lines;
}

TEST_F(TcpTls, PlainStrangersAreSentAwayWithAReason) {
  Hello hello;
  hello.kind = uint8_t(HelloKind::hello);
  EXPECT_TRUE(says(told_of(sealed(1), &hello, sizeof hello), "does not speak TLS"));
}

TEST_F(TcpTls, StrangersWithTlsAreSentAwayWithAReason) {
  const uint8_t client_hello[] = {0x16, 0x03, 0x01, 0x02, 0x00};
  EXPECT_TRUE(says(told_of(plain(), client_hello, sizeof client_hello), "wants TLS"));
}

TEST_F(TcpTls, GarbageBehindAHandshakesFirstBytesIsSentAway) {
  Bytes garbage(300, std::byte{7});
  const uint8_t begin[] = {0x16, 0x03, 0x01, 0x00, 0x80, 0x01};
  std::memcpy(garbage.data(), begin, sizeof begin);
  EXPECT_TRUE(says(told_of(sealed(1), garbage.data(), garbage.size()), "sent away"));
}

TEST_F(TcpTls, RingsAndTlsExcludeEachOther) {
  Options options = sealed(1);
  options.engine = EngineKind::uring;
  const auto domain = make_domain(options);
  ASSERT_FALSE(domain.ok());
  EXPECT_EQ(domain.status().code(), Code::invalid);
}

TEST_F(TcpTls, IsToldInTheDescription) {
  EXPECT_TRUE(says(describe(sealed(1)), "TLS 1.3"));
  EXPECT_TRUE(says(describe(plain()), "no TLS"));
}

}  // namespace
}  // namespace plait::transport::tcp::test
