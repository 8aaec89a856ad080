// A wired-up shm domain of one rank, and the things that every test does with it.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <cstring>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "transport/exchange.h"
#include "transport/shm/shm.h"
#include "transport/wireup.h"

namespace plait::transport::shm::test {

constexpr int64_t kLimitMs = 20000;

inline Bounds in_time() { return {Deadline::in_ms(kLimitMs), nullptr}; }

// Polls `domain`, sharing the core, until `done()` or the limit.
template <class Predicate>
bool poll_until(Domain& domain, Predicate done, std::vector<Done>* dones = nullptr) {
  Deadline deadline = Deadline::in_ms(kLimitMs);
  Done got[16];
  while (!done()) {
    if (deadline.passed()) return false;
    size_t count = dones == nullptr ? domain.poll({}) : domain.poll(got);
    if (dones != nullptr) dones->insert(dones->end(), got, got + count);
    sched_yield();
  }
  return true;
}

struct Rig {
  Exchange& exchange;
  std::unique_ptr<Domain> domain;
  std::vector<std::unique_ptr<Endpoint>> endpoints;

  explicit Rig(Exchange& among, uint16_t counters = 4, const Options& options = {}) : exchange(among) {
    auto made = make_domain(options);
    EXPECT_TRUE(made.ok()) << made.status().text();
    if (!made.ok()) return;
    domain = std::move(*made);
    auto wired = wire_up(*domain, exchange, counters, in_time());
    EXPECT_TRUE(wired.ok()) << wired.status().text();
    if (wired.ok()) endpoints = std::move(*wired);
  }
  explicit operator bool() const { return !endpoints.empty(); }
  int rank() const { return exchange.rank(); }
  Endpoint& to(int peer) { return *endpoints[size_t(peer)]; }

  std::vector<Bytes> share(ByteView mine) {
    auto all = exchange.allgather(mine, in_time());
    EXPECT_TRUE(all.ok()) << all.status().text();
    return all.ok() ? *all : std::vector<Bytes>(size_t(exchange.size()));
  }
  void barrier() { share({}); }

  std::vector<Done> dones;
  // Posts all and waits for the Done of the last, whose `when` must not be never. Its code.
  Code run(Endpoint& endpoint, std::vector<Transfer> transfers) {
    size_t taken = 0;
    uint64_t cookie = transfers.back().cookie;
    auto finished = [&] {
      if (taken < transfers.size()) taken += endpoint.post(std::span(transfers).subspan(taken));
      for (auto& done : dones) {
        if (done.cookie == cookie) return true;
      }
      return endpoint.state() == State::failed;
    };
    EXPECT_TRUE(poll_until(*domain, finished, &dones));
    for (auto& done : dones) {
      if (done.cookie == cookie) {
        Code code = done.status;
        dones.clear();
        return code;
      }
    }
    return Code::internal;
  }
};

// Memory of the arena.
struct SharedBlock {
  std::byte* data = nullptr;
  size_t bytes;
  explicit SharedBlock(size_t n) : bytes(n) {
    auto got = (*Arena::process())->allocate(n);
    EXPECT_TRUE(got.ok()) << got.status().text();
    if (got.ok()) data = *got;
  }
  ~SharedBlock() { (*Arena::process())->free(data); }
  Memory memory() const { return {data, bytes}; }
};

inline void fill(std::byte* to, size_t bytes, uint32_t seed) {
  for (size_t i = 0; i < bytes; ++i) to[i] = std::byte(uint8_t(i * 31 + seed + (i >> 8)));
}
inline bool holds(const std::byte* at, size_t bytes, uint32_t seed) {
  for (size_t i = 0; i < bytes; ++i) {
    if (at[i] != std::byte(uint8_t(i * 31 + seed + (i >> 8)))) return false;
  }
  return true;
}

inline Transfer make_put(const std::byte* from, size_t bytes, RemoteRegion& to, uint64_t offset,
                         Signal signal = {}, When when = When::delivered, uint64_t cookie = 77) {
  Transfer t;
  t.verb = Verb::put;
  t.when = when;
  t.signal = signal;
  t.local = {const_cast<std::byte*>(from), bytes, nullptr};
  t.remote = {&to, offset, bytes};
  t.cookie = cookie;
  return t;
}
inline Transfer make_get(std::byte* to, size_t bytes, RemoteRegion& from, uint64_t offset,
                         uint64_t cookie = 78) {
  Transfer t = make_put(to, bytes, from, offset, {}, When::delivered, cookie);
  t.verb = Verb::get;
  return t;
}
inline Transfer make_signal(Signal signal, When when = When::never, uint64_t cookie = 79) {
  Transfer t;
  t.when = when;
  t.signal = signal;
  t.cookie = cookie;
  return t;
}

}  // namespace plait::transport::shm::test
