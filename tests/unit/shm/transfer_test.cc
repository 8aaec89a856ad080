// Bytes and signals between ranks: as threads of one process, and as processes.
#include <sys/mman.h>

#include "../../support/fork_exchange.h"
#include "../../support/local_exchange.h"
#include "rig.h"

namespace plait::transport::shm::test {
namespace {

using transport::test::run_forked;
using transport::test::run_threads;

enum class Where { mapped, plain };
enum class Ranks { threads, processes };

// Memory of either kind, exposed; and the peer's, imported.
struct Window {
  std::unique_ptr<SharedBlock> shared;
  Bytes plain;
  std::byte* data;
  std::unique_ptr<Region> region;
  std::unique_ptr<RemoteRegion> remote;

  Window(Rig& rig, bool mapped, size_t bytes, Access access) : plain(mapped ? 0 : bytes) {
    if (mapped) shared = std::make_unique<SharedBlock>(bytes);
    data = mapped ? shared->data : plain.data();
    auto exposed = rig.domain->expose({data, bytes}, access);
    EXPECT_TRUE(exposed.ok()) << exposed.status().text();
    region = std::move(*exposed);
    auto keys = rig.share(region->key());
    auto imported = rig.to(1 - rig.rank()).import(keys[size_t(1 - rig.rank())]);
    EXPECT_TRUE(imported.ok()) << imported.status().text();
    if (imported.ok()) remote = std::move(*imported);
  }
};

class Transfers : public testing::TestWithParam<std::tuple<Ranks, Where>> {
 protected:
  // Two ranks, each with 1 MiB that the other may reach.
  void run(Access access, const std::function<void(Rig&, Window&)>& body) {
    const auto rank_main = [&](Exchange& exchange) {
      Rig rig(exchange);
      ASSERT_TRUE(rig);
      Window window(rig, mapped(), size_t{1} << 20, access);
      ASSERT_NE(window.remote, nullptr);
      body(rig, window);
    };
    if (std::get<0>(GetParam()) == Ranks::threads) return run_threads(2, rank_main);
    for (int status : run_forked(2, rank_main)) EXPECT_EQ(status, 0);
  }
  bool mapped() const { return std::get<1>(GetParam()) == Where::mapped; }
  bool threads() const { return std::get<0>(GetParam()) == Ranks::threads; }
};

TEST_P(Transfers, PutsOfManySizesArriveBeforeTheirSignal) {
  run(Access::both, [this](Rig& rig, Window& window) {
    EXPECT_EQ(window.remote->mapped() != nullptr, mapped() || threads());
    Endpoint& peer = rig.to(1 - rig.rank());
    Bytes source(size_t{1} << 20);
    uint64_t round = 0;
    for (size_t bytes : {1u, 7u, 8u, 9u, 63u, 64u, 65u, 4096u, 262144u, 262145u, 1000003u}) {
      uint32_t seed = uint32_t(++round);
      fill(source.data(), bytes, seed + uint32_t(rig.rank()));
      auto put = make_put(source.data(), bytes, *window.remote, 3, {1, 1});
      EXPECT_EQ(rig.run(peer, {put}), Code::ok) << bytes;
      ASSERT_TRUE(poll_until(*rig.domain, [&] { return peer.counter(1).load() >= round; }));
      EXPECT_TRUE(holds(window.data + 3, bytes, seed + uint32_t(1 - rig.rank()))) << bytes;
      rig.barrier();
    }
    EXPECT_EQ(peer.counter(1).load(), round);
    EXPECT_EQ(peer.counter(0).load(), 0U);
    rig.barrier();
  });
}

TEST_P(Transfers, GetsReadWhatLiesThere) {
  run(Access::read, [](Rig& rig, Window& window) {
    fill(window.data, size_t{1} << 20, uint32_t(rig.rank()));
    rig.barrier();
    Bytes got(size_t{1} << 20);
    for (size_t bytes : {1u, 8u, 64u, 4096u, 262144u, 1000003u}) {
      EXPECT_EQ(rig.run(rig.to(1 - rig.rank()), {make_get(got.data(), bytes, *window.remote, 0)}), Code::ok);
      EXPECT_TRUE(holds(got.data(), bytes, uint32_t(1 - rig.rank()))) << bytes;
    }
    rig.barrier();
  });
}

TEST_P(Transfers, ActInPostOrderAndEveryDoneComesOnce) {
  run(Access::both, [](Rig& rig, Window& window) {
    Endpoint& peer = rig.to(1 - rig.rank());
    Bytes large(300000, std::byte(1));
    std::vector<Done> dones;
    uint64_t posted = 0;
    constexpr uint64_t kRounds = 200;
    // A large put, then a small one to the same place, then only a signal: the small one must win.
    std::vector<uint64_t> small(kRounds);
    auto all_done = [&] { return dones.size() == kRounds; };
    auto post_more = [&] {
      while (posted < kRounds) {
        small[posted] = posted;
        Transfer chain[3] = {
            make_put(large.data(), posted % 8 == 0 ? large.size() : 100, *window.remote, 0, {}, When::never),
            make_put(reinterpret_cast<std::byte*>(&small[posted]), 8, *window.remote, 0, {}, When::never),
            make_signal({2, 3}, When::delivered, posted)};
        size_t done = 0;
        while (done < 3) {
          size_t took = peer.post(std::span(chain).subspan(done));
          done += took;
          Done got[8];
          size_t count = rig.domain->poll(got);
          dones.insert(dones.end(), got, got + count);
        }
        ++posted;
      }
      return all_done();
    };
    ASSERT_TRUE(poll_until(*rig.domain, post_more, &dones));
    ASSERT_TRUE(poll_until(*rig.domain, [&] { return peer.counter(2).load() == 3 * kRounds; }));
    uint64_t last = 0;
    std::memcpy(&last, window.data, 8);
    EXPECT_EQ(last, kRounds - 1);
    for (uint64_t i = 0; i < kRounds; ++i) EXPECT_EQ(dones[i].cookie, i);
    rig.barrier();
  });
}

TEST_P(Transfers, ReadsSmallSourcesBeforeReturning) {
  run(Access::both, [](Rig& rig, Window& window) {
    Endpoint& peer = rig.to(1 - rig.rank());
    Bytes large(700000, std::byte(1));
    uint64_t small = 4711;
    Transfer both[2] = {
        make_put(large.data(), large.size(), *window.remote, 64, {}, When::never),
        make_put(reinterpret_cast<std::byte*>(&small), 8, *window.remote, 0, {0, 1}, When::never)};
    ASSERT_EQ(peer.post(both), 2U);
    small = 0;  // its 8 bytes were read, though they wait behind 700,000
    ASSERT_TRUE(poll_until(*rig.domain, [&] { return peer.counter(0).load() == 1; }));
    uint64_t got = 0;
    std::memcpy(&got, window.data, 8);
    EXPECT_EQ(got, 4711U);
    // The peer may still be waiting for what poll() has to move.
    auto there = rig.run(peer, {make_signal({1, 1}, When::delivered, 5)});
    EXPECT_EQ(there, Code::ok);
    rig.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(Shm, Transfers,
                         testing::Combine(testing::Values(Ranks::threads, Ranks::processes),
                                          testing::Values(Where::mapped, Where::plain)),
                         [](const auto& p) {
                           return std::string(std::get<0>(p.param) == Ranks::threads ? "Threads"
                                                                                     : "Processes") +
                                  (std::get<1>(p.param) == Where::mapped ? "Mapped" : "Plain");
                         });

}  // namespace
}  // namespace plait::transport::shm::test
