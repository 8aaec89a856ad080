// What is small is taken while the kernel still holds it, so that the kernel need not acknowledge it at once;
// nothing is lost or taken twice by that, and nobody sleeps over it.
#include <linux/tcp.h>
#include <poll.h>

#include <random>

#include "raw_peer.h"

namespace plait::transport::tcp::test {
namespace {

Header signal_frame() {
  Header h;
  h.kind = uint8_t(FrameKind::put);
  h.flags = kLast;
  h.add = 1;
  return h;
}

// A raw peer that signals counter 0.
struct Signaller {
  Side side{1, polled()};
  RawPeer peer{side};
  uint64_t sent = 0;

  Signaller() { EXPECT_TRUE(peer.connect()); }
  void signal() {
    peer.say(0, signal_frame());
    ++sent;
  }
  bool heard() {
    return peer.poll_until([&] { return side.end->counter(0) == sent; });
  }
  // What `side` sends on the connection.
  void answer() {
    Transfer back;
    back.signal = {0, 1};
    ASSERT_EQ(side.end->post({&back, 1}), 1U);
  }
  // Packets that came back on the connection.
  uint32_t answers() const {
    tcp_info info{};
    socklen_t length = sizeof info;
    EXPECT_EQ(getsockopt(peer.lanes[0].get(), IPPROTO_TCP, TCP_INFO, &info, &length), 0);
    return info.tcpi_segs_in;
  }
};

TEST(TcpSip, FramesInPartsAreTakenWhole) {
  Signaller one;
  const Header h = signal_frame();
  const auto* bytes = reinterpret_cast<const std::byte*>(&h);
  for (size_t cut = 0; cut <= sizeof h; ++cut) {
    if (cut != 0) one.peer.say(0, bytes, cut);
    for (int i = 0; i < 50; ++i) one.side.poll();
    if (cut != sizeof h) one.peer.say(0, bytes + cut, sizeof h - cut);
    ++one.sent;
    ASSERT_TRUE(one.heard()) << cut;
  }
}

// However a stream is cut, and whatever is sent back in between.
TEST(TcpSip, EachFrameIsTakenOnce) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Signaller one;
    const Header h = signal_frame();
    size_t at = 0;
    for (uint64_t turn = 0; turn < 300; ++turn) {
      const bool large = random() % 8 == 0;
      Bytes bytes(1 + random() % (large ? 20'000 : 3 * sizeof h));
      for (std::byte& byte : bytes) byte = reinterpret_cast<const std::byte*>(&h)[at++ % sizeof h];
      one.peer.say(0, bytes.data(), bytes.size());
      if (random() % 3 == 0) one.answer();
      for (uint64_t polls = random() % 20; polls != 0; --polls) one.side.poll();
      if (random() % 3 == 0) one.answer();
      one.sent = at / sizeof h;
      ASSERT_LE(one.side.end->counter(0), one.sent);
      if (random() % 4 == 0) {
        ASSERT_TRUE(one.heard());
      }
    }
    EXPECT_TRUE(one.heard());
    for (int i = 0; i < 300; ++i) one.side.poll();
    EXPECT_EQ(one.side.end->counter(0), one.sent);
    EXPECT_EQ(one.side.end->state(), State::ready);
  }
}

// Each message that is read to its last byte is acknowledged by a packet of its own. (At first, and each 40
// ms, the kernel does so in any case.) Nothing goes back: one in four is read to its end.
TEST(TcpSip, FewAcknowledgementsTravelAlone) {
  constexpr uint32_t kMessages = 400;
  Signaller one;
  for (uint32_t i = 0; i < kMessages; ++i) {
    one.signal();
    ASSERT_TRUE(one.heard());
  }
  EXPECT_GE(one.answers(), kMessages / 8);
  EXPECT_LT(one.answers(), kMessages / 3);
}

TEST(TcpSip, WhoSleepsHasTakenAll) {
  Signaller one;
  for (int i = 0; i < 20; ++i) {
    one.signal();
    ASSERT_TRUE(one.heard());
    for (Deadline deadline = Deadline::in_ms(kLimitMs); !one.side.domain->arm() && !deadline.passed();)
      one.side.poll();
    pollfd fd{one.side.domain->wait_fd(), POLLIN, 0};
    EXPECT_EQ(poll(&fd, 1, 0), 0);
  }
}

// Whether it was still read from or not: of the two ways to find the end either may come first.
TEST(TcpSip, TheEndBehindWhatTheKernelHoldsIsFound) {
  for (const int idle_polls : {0, 1, 100, 5000}) {
    Signaller one;
    one.signal();
    ASSERT_TRUE(one.heard());
    for (int i = 0; i < idle_polls; ++i) one.side.poll();
    one.peer.lanes[0].reset();
    EXPECT_TRUE(one.peer.poll_until([&] { return one.side.count(1) == 1; })) << idle_polls;
    EXPECT_EQ(one.side.code(1), Code::peer);
  }
}

}  // namespace
}  // namespace plait::transport::tcp::test
