// What is small is received but for its last byte, so that the kernel need not acknowledge it at once;
// nothing is lost by that, and nobody sleeps over it.
#include <linux/tcp.h>
#include <poll.h>

#include "raw_peer.h"

namespace plait::transport::tcp::test {
namespace {

Options polled() {
  Options options = loopback();
  options.engine = EngineKind::polled;
  options.tls = nullptr;
  return options;
}

// A raw peer that signals counter 0, with fillers or without.
struct Signaller {
  Side side{1, polled()};
  RawPeer peer{side};
  uint64_t sent = 0;

  Signaller() { EXPECT_TRUE(peer.connect()); }
  void signal(size_t fillers) {
    Bytes bytes(sizeof(Header) + fillers);  // kFiller is 0
    Header h;
    h.kind = uint8_t(FrameKind::put);
    h.flags = kLast;
    h.add = 1;
    std::memcpy(bytes.data(), &h, sizeof h);
    peer.say(0, bytes.data(), bytes.size());
    ++sent;
  }
  bool heard() {
    return peer.poll_until([&] { return side.end->counter(0) == sent; });
  }
  // Packets that came back on the connection.
  uint32_t answers() const {
    tcp_info info{};
    socklen_t length = sizeof info;
    EXPECT_EQ(getsockopt(peer.lanes[0].get(), IPPROTO_TCP, TCP_INFO, &info, &length), 0);
    return info.tcpi_segs_in;
  }
};

TEST(TcpSip, FillersSayNothing) {
  Signaller one;
  for (const size_t fillers :
       {size_t{0}, size_t{1}, size_t{2}, size_t{39}, size_t{40}, size_t{1000}, size_t{0}}) {
    one.signal(fillers);
    ASSERT_TRUE(one.heard()) << fillers;
  }
  EXPECT_EQ(one.side.end->state(), State::ready);
}

TEST(TcpSip, FramesInPartsAreTakenWhole) {
  Signaller one;
  Header h;
  h.kind = uint8_t(FrameKind::put);
  h.flags = kLast;
  h.add = 1;
  for (size_t cut = 0; cut <= sizeof h; ++cut) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&h);
    if (cut != 0) one.peer.say(0, bytes, cut);
    for (int i = 0; i < 50; ++i) one.side.poll();
    one.peer.say(0, &kFiller, 0);
    if (cut != sizeof h) one.peer.say(0, bytes + cut, sizeof h - cut);
    ++one.sent;
    ASSERT_TRUE(one.heard()) << cut;
  }
}

// Each message that is read to its last byte is acknowledged by a packet of its own. (At first, and each 40
// ms, the kernel does so in any case.)
TEST(TcpSip, FewAcknowledgementsTravelAlone) {
  constexpr uint32_t kMessages = 400;
  Signaller with, without;
  for (auto [one, fillers] : {std::pair{&with, size_t{1}}, std::pair{&without, size_t{0}}}) {
    for (uint32_t i = 0; i < kMessages; ++i) {
      one->signal(fillers);
      ASSERT_TRUE(one->heard());
    }
  }
  EXPECT_GE(without.answers(), kMessages / 2);
  EXPECT_LT(with.answers(), kMessages / 3);  // nothing goes back: one in four is read to its end
}

TEST(TcpSip, WhoSleepsHasTakenAll) {
  Signaller one;
  for (int i = 0; i < 20; ++i) {
    one.signal(1);
    ASSERT_TRUE(one.heard());
    for (Deadline deadline = Deadline::in_ms(kLimitMs); !one.side.domain->arm() && !deadline.passed();)
      one.side.poll();
    pollfd fd{one.side.domain->wait_fd(), POLLIN, 0};
    EXPECT_EQ(poll(&fd, 1, 0), 0);
  }
}

// Whether it was still read from or not: of the two ways to find the end either may come first.
TEST(TcpSip, TheEndBehindAFillerIsFound) {
  for (const int idle_polls : {0, 1, 100, 5000}) {
    Signaller one;
    one.signal(1);
    ASSERT_TRUE(one.heard());
    for (int i = 0; i < idle_polls; ++i) one.side.poll();
    one.peer.lanes[0].reset();
    EXPECT_TRUE(one.peer.poll_until([&] { return one.side.count(1) == 1; })) << idle_polls;
    EXPECT_EQ(one.side.code(1), Code::peer);
  }
}

TEST(TcpSip, WhatIsSentTogetherEndsWithAFiller) {
  Signaller one;
  Transfer signal;
  signal.signal = {0, 1};
  const std::array three{signal, signal, signal};
  ASSERT_EQ(one.side.end->post(three), 3U);
  std::array<std::byte, 3 * sizeof(Header) + 1> bytes;
  ASSERT_TRUE(one.peer.take(one.peer.lanes[0], bytes.data(), bytes.size()));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(bytes[i * sizeof(Header)], std::byte('P'));
  EXPECT_EQ(bytes.back(), kFiller);
}

}  // namespace
}  // namespace plait::transport::tcp::test
