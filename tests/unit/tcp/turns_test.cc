// What is long leaves in runs, and comes between them; what is short waits for neither.
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "raw_peer.h"
#include "transport/keys.h"

namespace plait::transport::tcp::test {
namespace {

constexpr size_t kComes = 32 << 10;

// A raw peer that has put 32 KiB behind counter 1 and nothing behind counter 0, and to which as much as one
// likes can be put. What it puts is with the kernel of `side`, which was not polled since.
struct Exchange {
  Side side;
  RawPeer peer{side};
  Bytes from = Bytes(8 << 20), to = Bytes(kComes);
  std::unique_ptr<Region> region;
  std::unique_ptr<RemoteRegion> remote;

  explicit Exchange(const Options& options = polled()) : side(1, options) {}
  void begin() {
    ASSERT_TRUE(peer.connect());
    region = std::move(side.domain->expose({to.data(), to.size()}, Access::write).value());
    RegionKey key;
    std::memcpy(&key, region->key().data(), sizeof key);
    const Header frames[2] = {{'P', kLast, 0, 1, 0, 0, 0, 0, 0, 0},
                              {'P', kLast, 1, 1, 0, key.slot, kComes, key.nonce, 0, 0}};
    key.bytes = from.size();
    key.owner = peer.ticket.domain;
    key.sum = sum_of(key);
    remote = std::move(side.end->import(bytes_of(key)).value());
    const Bytes comes(kComes, std::byte{1});
    peer.say(0, frames[0]);
    peer.say(1, frames[1]);
    peer.say(1, comes.data(), comes.size());
    ASSERT_TRUE(arrived(0) && arrived(1));
  }
  // All that was said on `lane`: it is acknowledged.
  bool arrived(size_t lane) const {
    int left = -1;
    for (Deadline deadline = Deadline::in_ms(kLimitMs); !deadline.passed();) {
      if (ioctl(peer.lanes[lane].get(), SIOCOUTQ, &left) == 0 && left == 0) return true;
      std::this_thread::yield();
    }
    return false;
  }
  void put() {
    const Transfer t = make_put(from.data(), from.size(), *remote, 0, {1, 1}, When::never);
    ASSERT_EQ(side.end->post({&t, 1}), 1U);
  }
  // What `side` has sent is taken, of what is long. How many bytes that were.
  size_t drain() const {
    Bytes bytes(1 << 20);
    size_t all = 0;
    for (ssize_t got; (got = recv(peer.lanes[1].get(), bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0;)
      all += size_t(got);
    return all;
  }
};

TEST(TcpTurns, OnlyWhatIsShortIsReceivedBeforeARun) {
  Exchange e;
  ASSERT_NO_FATAL_FAILURE(e.begin());
  ASSERT_NO_FATAL_FAILURE(e.put());
  e.side.poll();
  EXPECT_EQ(e.side.end->counter(0), 1U);
  EXPECT_EQ(e.side.end->counter(1), 0U);
}

TEST(TcpTurns, WhoSendsNothingReceivesAtOnce) {
  Exchange e;
  ASSERT_NO_FATAL_FAILURE(e.begin());
  e.side.poll();
  EXPECT_EQ(e.side.end->counter(0), 1U);
  EXPECT_EQ(e.side.end->counter(1), 1U);
}

TEST(TcpTurns, WhatTheKernelDoesNotTakeEndsARun) {
  Exchange e(polled(64 << 10));
  ASSERT_NO_FATAL_FAILURE(e.begin());
  ASSERT_NO_FATAL_FAILURE(e.put());
  EXPECT_TRUE(e.peer.poll_until([&] { return e.side.end->counter(1) == 1; }));
  EXPECT_EQ(e.to.back(), std::byte{1});
}

TEST(TcpTurns, ARunEndsWhereAllIsTaken) {
  Exchange e;
  ASSERT_NO_FATAL_FAILURE(e.begin());
  ASSERT_NO_FATAL_FAILURE(e.put());
  size_t left = 0;
  const auto came = [&] { return e.side.end->counter(1) == 1; };
  EXPECT_TRUE(e.peer.poll_until([&] { return left += e.drain(), came() || left >= e.from.size(); }));
  EXPECT_TRUE(came()) << "a run of " << left << " bytes did not end";
}

}  // namespace
}  // namespace plait::transport::tcp::test
