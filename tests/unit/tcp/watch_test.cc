// Epoll does not have what is looked at all the time, and has it again before anybody sleeps or looks away.
#include <poll.h>

#include <fstream>

#include "raw_peer.h"

namespace plait::transport::tcp::test {
namespace {

struct Watched {
  static constexpr int kMany = 2000;
  Side side{1, polled()};
  RawPeer peer{side};
  uint64_t sent = 0;

  void signal() {
    Header h;
    h.kind = uint8_t(FrameKind::put);
    h.flags = kLast;
    h.add = 1;
    peer.say(0, h);
    ++sent;
  }
  bool heard() {
    return peer.poll_until([&] { return side.end->counter(0) == sent; });
  }
  void hear(int signals) {
    for (int i = 0; i < signals; ++i) {
      signal();
      ASSERT_TRUE(heard());
    }
  }
  // Descriptors that epoll has.
  int count() const {
    std::ifstream file("/proc/self/fdinfo/" + std::to_string(side.domain->wait_fd()));
    int n = 0;
    for (std::string line; std::getline(file, line);) n += line.starts_with("tfd:");
    return n;
  }
  bool arm() {
    for (Deadline deadline = Deadline::in_ms(kLimitMs); !deadline.passed(); side.poll()) {
      if (side.domain->arm()) return true;
    }
    return false;
  }
  bool wakes(int within_ms) const {
    pollfd fd{side.domain->wait_fd(), POLLIN, 0};
    return poll(&fd, 1, within_ms) == 1;
  }
};

TEST(TcpWatch, WhatComesAllTheTimeLeavesEpollUntilItFallsSilent) {
  Watched one;
  ASSERT_TRUE(one.peer.connect());
  const int all = one.count();
  ASSERT_NO_FATAL_FAILURE(one.hear(Watched::kMany));
  EXPECT_EQ(one.count(), all - 1);
  EXPECT_TRUE(one.peer.poll_until([&] { return one.count() == all; }));
}

TEST(TcpWatch, WhatComesSeldomStaysThere) {
  Watched one;
  ASSERT_TRUE(one.peer.connect());
  const int all = one.count();
  ASSERT_NO_FATAL_FAILURE(one.hear(10));
  EXPECT_EQ(one.count(), all);
}

TEST(TcpWatch, WhoSleepsIsWoken) {
  Watched one;
  ASSERT_TRUE(one.peer.connect());
  const int all = one.count();
  for (int i = 0; i < 3; ++i) {
    ASSERT_NO_FATAL_FAILURE(one.hear(Watched::kMany));
    ASSERT_TRUE(one.arm());
    EXPECT_EQ(one.count(), all);
    EXPECT_FALSE(one.wakes(0));
    one.signal();
    EXPECT_TRUE(one.wakes(int(kLimitMs)));
    EXPECT_TRUE(one.heard());
  }
}

// Whoever sleeps is woken by it, whoever looks sees it without epoll's word.
TEST(TcpWatch, TheEndIsSeen) {
  for (const bool asleep : {false, true}) {
    Watched one;
    ASSERT_TRUE(one.peer.connect());
    ASSERT_NO_FATAL_FAILURE(one.hear(Watched::kMany));
    ASSERT_TRUE(!asleep || one.arm());
    one.peer.lanes[0].reset();
    EXPECT_TRUE(!asleep || one.wakes(int(kLimitMs)));
    EXPECT_TRUE(one.peer.poll_until([&] { return one.side.count(1) == 1; })) << asleep;
    EXPECT_EQ(one.side.code(1), Code::peer);
  }
}

// What waits for room is told of it, though nothing is awaited.
TEST(TcpWatch, RoomWakesWhoWasOutsideOfEpoll) {
  Watched one;
  ASSERT_TRUE(one.peer.connect());
  ASSERT_NO_FATAL_FAILURE(one.hear(Watched::kMany));
  Transfer back;
  back.signal = {0, 1};
  // Until the kernel is full.
  int posted = 0;
  for (int vain = 0; vain < 100 && posted < 10'000'000; one.side.poll()) {
    const size_t took = one.side.end->post({&back, 1});
    posted += int(took);
    vain = took == 0 ? vain + 1 : 0;
  }
  ASSERT_TRUE(one.arm());
  EXPECT_FALSE(one.wakes(0));
  Bytes bytes(8 << 20);
  const auto drained = [&] {
    return recv(one.peer.lanes[0].get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0;
  };
  for (Deadline deadline = Deadline::in_ms(kLimitMs); !one.wakes(0) && !deadline.passed();) (void)drained();
  EXPECT_TRUE(one.wakes(0));
}

}  // namespace
}  // namespace plait::transport::tcp::test
