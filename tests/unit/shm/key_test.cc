// Keys and tickets are held against the owner's own words: forged ones do nothing.
#include <random>

#include "../../support/fork_exchange.h"
#include "../../support/local_exchange.h"
#include "rig.h"
#include "transport/shm/socket.h"
#include "transport/shm/wire.h"

namespace plait::transport::shm::test {
namespace {

using transport::test::run_forked;
using transport::test::run_threads;

bool refused(const Result<std::unique_ptr<RemoteRegion>>& result) {
  return !result.ok() && (result.status().code() == Code::auth || result.status().code() == Code::invalid);
}

void every_flip_is_refused(Endpoint& endpoint, const Bytes& good) {
  for (size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bad = good;
      bad[i] ^= std::byte(1 << bit);
      EXPECT_TRUE(refused(endpoint.import(bad))) << "byte " << i << " bit " << bit;
    }
  }
}

TEST(ShmKeys, AnyChangedBitIsRefused) {
  auto statuses = run_forked(2, [](Exchange& exchange) {
    Rig rig(exchange);
    ASSERT_TRUE(rig);
    SharedBlock block(8192);
    Bytes plain(8192);
    auto mapped = rig.domain->expose(block.memory(), Access::both);
    auto cma = rig.domain->expose({plain.data(), plain.size()}, Access::read);
    ASSERT_TRUE(mapped.ok() && cma.ok());
    EXPECT_EQ((*mapped)->key().size(), rig.domain->capabilities().key_bytes);
    auto mapped_keys = rig.share((*mapped)->key()), plain_keys = rig.share((*cma)->key());
    size_t peer = size_t(1 - rig.rank());
    Endpoint& endpoint = *rig.endpoints[peer];
    every_flip_is_refused(endpoint, mapped_keys[peer]);
    every_flip_is_refused(endpoint, plain_keys[peer]);
    EXPECT_TRUE(refused(endpoint.import((*mapped)->key()))) << "my own region is not my peer's";
    EXPECT_TRUE(endpoint.import(mapped_keys[peer]).ok());
    EXPECT_TRUE(endpoint.import(plain_keys[peer]).ok());
    rig.barrier();
  });
  for (int status : statuses) EXPECT_EQ(status, 0);
}

TEST(ShmKeys, AnyBytesAreRefusedWithoutACrash) {
  run_threads(2, [](Exchange& exchange) {
    Rig rig(exchange);
    ASSERT_TRUE(rig);
    constexpr uint32_t kSeed = 99;
    std::mt19937 random(kSeed);
    Endpoint& endpoint = rig.to(1 - rig.rank());
    for (int i = 0; i < 20000; ++i) {
      Bytes bytes(i % 3 == 0 ? random() % 200 : sizeof(Key));
      for (auto& b : bytes) b = std::byte(random());
      if (i % 2 == 0 && bytes.size() >= 8) {  // past the first checks
        Key key;
        key.kind = uint8_t(random() % 2);
        key.access = uint8_t(random() % 4);
        std::memcpy(bytes.data(), &key, 8);
      }
      EXPECT_TRUE(refused(endpoint.import(bytes))) << "seed " << kSeed << " round " << i;
    }
    rig.barrier();
  });
}

TEST(ShmKeys, ADestroyedRegionIsRefused) {
  run_threads(2, [](Exchange& exchange) {
    Rig rig(exchange);
    ASSERT_TRUE(rig);
    auto block = std::make_unique<SharedBlock>(8192);
    auto region = rig.domain->expose(block->memory(), Access::both);
    ASSERT_TRUE(region.ok());
    auto keys = rig.share((*region)->key());
    size_t peer = size_t(1 - rig.rank());
    auto remote = rig.endpoints[peer]->import(keys[peer]);
    ASSERT_TRUE(remote.ok());
    rig.barrier();
    std::byte* old = block->data;
    *region = nullptr;
    block.reset();
    rig.barrier();
    EXPECT_TRUE(refused(rig.endpoints[peer]->import(keys[peer])));
    // The address stays unused while the peer may store to it.
    auto* arena = *Arena::process();
    auto again = arena->allocate(8192);
    ASSERT_TRUE(again.ok());
    EXPECT_NE(*again, old);
    arena->free(*again);
    rig.barrier();
    std::byte bytes[8]{};
    EXPECT_EQ(rig.run(*rig.endpoints[peer], {make_put(bytes, 8, **remote, 0)}), Code::internal);
    EXPECT_EQ(rig.endpoints[peer]->state(), State::failed);
    rig.barrier();
  });
}

TEST(ShmKeys, RightsAndBoundsAreChecked) {
  using Case = std::function<Transfer(std::byte*, RemoteRegion&)>;
  const std::vector<std::pair<Access, Case>> cases = {
      {Access::read, [](std::byte* at, RemoteRegion& r) { return make_put(at, 8, r, 0); }},
      {Access::write, [](std::byte* at, RemoteRegion& r) { return make_get(at, 8, r, 0); }},
      {Access::none, [](std::byte* at, RemoteRegion& r) { return make_get(at, 8, r, 0); }},
      {Access::none, [](std::byte* at, RemoteRegion& r) { return make_put(at, 8, r, 0); }},
      {Access::both, [](std::byte* at, RemoteRegion& r) { return make_put(at, 8, r, 4090); }},
      {Access::both, [](std::byte* at, RemoteRegion& r) { return make_get(at, 8, r, UINT64_MAX - 3); }},
      {Access::both,
       [](std::byte* at, RemoteRegion& r) {
         return make_put(at, 8, r, 0, {4, 1});
       }},
      {Access::both, [](std::byte*, RemoteRegion& r) { return make_put(nullptr, 8, r, 0); }},
      {Access::both,
       [](std::byte* at, RemoteRegion& r) {
         Transfer t = make_put(at, 8, r, 0);
         t.local.bytes = 9;
         return t;
       }},
      {Access::both,
       [](std::byte* at, RemoteRegion& r) {
         Transfer t = make_get(at, 8, r, 0);
         t.signal.add = 1;
         return t;
       }},
      {Access::both,
       [](std::byte* at, RemoteRegion& r) {
         Transfer t = make_put(at, 8, r, 0);
         t.remote.region = nullptr;
         return t;
       }},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    run_threads(2, [&, i](Exchange& exchange) {
      Rig rig(exchange);
      ASSERT_TRUE(rig);
      SharedBlock block(4096);
      auto region = rig.domain->expose(block.memory(), cases[i].first);
      ASSERT_TRUE(region.ok());
      auto keys = rig.share((*region)->key());
      size_t peer = size_t(1 - rig.rank());
      auto remote = rig.endpoints[peer]->import(keys[peer]);
      ASSERT_TRUE(remote.ok());
      EXPECT_EQ((*remote)->mapped() != nullptr, cases[i].first != Access::none);
      if (rig.rank() == 0) {
        std::byte bytes[64]{};
        Transfer bad = cases[i].second(bytes, **remote);
        EXPECT_EQ(rig.endpoints[peer]->post({&bad, 1}), 0U) << i;
        EXPECT_EQ(rig.endpoints[peer]->state(), State::failed) << i;
        EXPECT_NE(rig.endpoints[peer]->error(), "") << i;
        std::vector<Done> dones;
        EXPECT_TRUE(poll_until(
            *rig.domain, [&] { return !dones.empty(); }, &dones));
        EXPECT_EQ(dones.at(0).cookie, peer) << "the endpoint's own";
        EXPECT_EQ(dones.at(0).status, Code::invalid);
      }
      rig.barrier();
    });
  }
}

TEST(ShmKeys, MemoryThatCannotBeExposedIsNamed) {
  auto domain = make_domain();
  ASSERT_TRUE(domain.ok());
  auto* arena = *Arena::process();
  auto* p = *arena->allocate(4096);
  EXPECT_EQ((*domain)->expose({nullptr, 10}, Access::read).status().code(), Code::invalid);
  EXPECT_EQ((*domain)->expose({p, 0}, Access::read).status().code(), Code::invalid);
  EXPECT_EQ((*domain)->expose({p, 4097}, Access::read).status().code(), Code::invalid);
  EXPECT_EQ((*domain)->expose({p, SIZE_MAX}, Access::read).status().code(), Code::invalid);
  EXPECT_EQ((*domain)->expose({arena->base() - 4096, 8192}, Access::read).status().code(), Code::invalid);
  Memory device{p, 4096, MemoryKind::device};
  EXPECT_EQ((*domain)->expose(device, Access::read).status().code(), Code::unsupported);
  EXPECT_EQ((*domain)->open(65, 0).status().code(), Code::invalid);
  EXPECT_TRUE(arena->free(p));
}

TEST(ShmKeys, PlainMemoryWithoutCmaSaysSo) {
  auto statuses = run_forked(2, [](Exchange& exchange) {
    Rig rig(exchange, 1, {.host_id = "", .allow_cma = false});
    ASSERT_TRUE(rig);
    Bytes plain(100);
    auto region = rig.domain->expose({plain.data(), plain.size()}, Access::read);
    auto keys = rig.share((*region)->key());
    auto remote = rig.to(1 - rig.rank()).import(keys[size_t(1 - rig.rank())]);
    ASSERT_FALSE(remote.ok());
    EXPECT_EQ(remote.status().code(), Code::unsupported);
    EXPECT_NE(remote.status().text().find("CMA"), std::string_view::npos);
    rig.barrier();
  });
  for (int status : statuses) EXPECT_EQ(status, 0);
}

// Strangers at the socket: whatever they say, the rank's own peer is still awaited.
TEST(ShmKeys, StrangersAtTheSocketChangeNothing) {
  auto domain = make_domain();
  ASSERT_TRUE(domain.ok());
  auto one = (*domain)->open(1, 1), two = (*domain)->open(1, 2);
  ASSERT_TRUE(one.ok() && two.ok());
  Ticket ticket;
  std::memcpy(&ticket, (*one)->ticket().data(), sizeof ticket);
  std::mt19937 random(5);
  std::vector<Fd> strangers;
  for (int i = 0; i < 50; ++i) {
    Fd stranger = dial(ticket.listener);
    ASSERT_TRUE(bool(stranger));
    Bytes bytes(i % 2 == 0 ? sizeof(Hello) : 1 + random() % 300);
    for (auto& b : bytes) b = std::byte(random());
    Hello hello;
    hello.to = ticket.endpoint;
    if (i % 4 == 0) std::memcpy(bytes.data(), &hello, 24);
    const int fds[2] = {0, 1};
    if (i % 5 != 0) send_message(stranger.get(), bytes, std::span(fds).first(size_t(i % 3)));
    strangers.push_back(std::move(stranger));
    (*domain)->poll({});
  }
  ASSERT_TRUE((*one)->connect((*two)->ticket()).ok());
  ASSERT_TRUE((*two)->connect((*one)->ticket()).ok());
  EXPECT_TRUE(poll_until(**domain,
                         [&] { return (*one)->state() == State::ready && (*two)->state() == State::ready; }))
      << (*one)->error() << (*two)->error();
}

TEST(ShmKeys, DamagedTicketsAreRefused) {
  auto domain = make_domain();
  auto endpoint = (*domain)->open(1, 1), other = (*domain)->open(1, 2);
  Bytes ticket((*other)->ticket().begin(), (*other)->ticket().end());
  EXPECT_EQ(ticket.size(), (*domain)->capabilities().ticket_bytes);
  EXPECT_EQ((*endpoint)->connect(ByteView(ticket).first(10)).code(), Code::invalid);
  for (size_t i = 0; i < ticket.size(); ++i) {
    Bytes bad = ticket;
    bad[i] ^= std::byte(1);
    Code code = (*endpoint)->connect(bad).code();
    EXPECT_TRUE(code == Code::invalid || code == Code::version) << i;
  }
  EXPECT_TRUE((*endpoint)->connect(ticket).ok()) << "refusals use nothing up";
}

TEST(ShmKeys, ATicketOfADomainThatIsGoneFails) {
  auto domain = make_domain();
  for (int i = 0; i < 8; ++i) {  // either may be the one that dials
    auto endpoint = (*domain)->open(1, 1);
    auto gone = make_domain();
    auto other = (*gone)->open(1, 2);
    Bytes ticket((*other)->ticket().begin(), (*other)->ticket().end());
    if (i % 2 == 0) *other = nullptr, *gone = nullptr;
    (void)(*endpoint)->connect(ticket);
    *other = nullptr;
    *gone = nullptr;
    std::vector<Done> dones;
    EXPECT_TRUE(poll_until(
        **domain, [&] { return !dones.empty(); }, &dones));
    EXPECT_EQ((*endpoint)->state(), State::failed);
    EXPECT_EQ(dones.at(0).status, Code::peer);
  }
}

}  // namespace
}  // namespace plait::transport::shm::test
