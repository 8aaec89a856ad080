// Two connected TCP endpoints in one process, polled in turn by the test, and what every test does with them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "transport/tcp/tcp.h"
#include "transport/tcp/wire.h"

namespace plait::transport::tcp::test {

constexpr int64_t kLimitMs = 20000;

inline std::shared_ptr<const TlsKey> tls_key(uint8_t seed) {
  TlsKey key;
  for (size_t i = 0; i < key.bytes.size(); ++i) key.bytes[i] = std::byte(uint8_t(i * 7 + seed));
  return std::make_shared<const TlsKey>(key);
}

// PLAIT_TEST_TCP=uring runs every test over that engine, bulk3 with three connections for bulk, tls with TLS.
inline Options loopback(std::string_view ip = "127.0.0.1") {
  Options options;
  const char* wish = std::getenv("PLAIT_TEST_TCP");
  if (wish != nullptr && std::string_view(wish) == "uring") options.engine = EngineKind::uring;
  if (wish != nullptr && std::string_view(wish) == "bulk3") options.bulk_connections = 3;
  if (wish != nullptr && std::string_view(wish) == "tls") options.tls = tls_key(1);
  options.addresses = {parse_ip(ip).value()};
  return options;
}

inline std::unique_ptr<Domain> make(const Options& options = loopback()) {
  auto domain = make_domain(options);
  EXPECT_TRUE(domain.ok()) << domain.status().text();
  return domain.ok() ? std::move(*domain) : nullptr;
}

inline Ticket ticket_of(const Endpoint& endpoint) {
  Ticket ticket;
  std::memcpy(&ticket, endpoint.ticket().data(), sizeof ticket);
  return ticket;
}

// A domain with one endpoint, and the Dones it gave.
struct Side {
  std::unique_ptr<Domain> domain;
  std::unique_ptr<Endpoint> end;
  std::vector<Done> dones;
  uint64_t cookie;

  explicit Side(uint64_t own_cookie, const Options& options = loopback(), uint16_t counters = 4)
      : domain(make(options)), cookie(own_cookie) {
    end = std::move(domain->open(counters, cookie).value());
  }
  void poll() {
    Done got[64];
    dones.insert(dones.end(), got, got + domain->poll(got));
  }
  int count(uint64_t of) const {
    int n = 0;
    for (const Done& done : dones) n += done.cookie == of;
    return n;
  }
  // The code that came with `of`; Code::internal: none, or more than one.
  Code code(uint64_t of) const {
    for (const Done& done : dones) {
      if (done.cookie == of) return count(of) == 1 ? done.status : Code::internal;
    }
    return Code::internal;
  }
};

struct Pair {
  Side a{1'000'001}, b{1'000'002};

  Pair() = default;
  Pair(const Options& one, const Options& other) : a(1'000'001, one), b(1'000'002, other) {}
  explicit Pair(const Options& options) : a(1'000'001, options), b(1'000'002, options) {}
  bool until(const std::function<bool()>& done) {
    for (Deadline deadline = Deadline::in_ms(kLimitMs); !done();) {
      if (deadline.passed()) return false;
      a.poll();
      b.poll();
      std::this_thread::yield();  // a proxy between them may need this core
    }
    return true;
  }
  // By the tickets given, or their own.
  bool connect(ByteView to_b = {}, ByteView to_a = {}) {
    Status one = a.end->connect(to_b.empty() ? b.end->ticket() : to_b);
    Status two = b.end->connect(to_a.empty() ? a.end->ticket() : to_a);
    EXPECT_TRUE(one.ok()) << one.text();
    EXPECT_TRUE(two.ok()) << two.text();
    bool fine = until([&] { return a.end->state() == State::ready && b.end->state() == State::ready; });
    EXPECT_TRUE(fine) << a.end->error() << b.end->error();
    return fine;
  }
};

// Memory of one side, exposed there and imported by the other.
struct Window {
  Bytes bytes;
  std::unique_ptr<Region> region;
  std::unique_ptr<RemoteRegion> remote;
  Window(Side& owner, Side& other, size_t size, Access access = Access::both) : bytes(size) {
    region = std::move(owner.domain->expose({bytes.data(), size}, access).value());
    remote = std::move(other.end->import(region->key()).value());
  }
};

inline void fill(Bytes& bytes, uint32_t seed) {
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(uint8_t(i * 31 + seed + (i >> 8)));
}

inline Transfer make_put(const std::byte* from, size_t bytes, RemoteRegion& to, uint64_t offset,
                         Signal signal = {}, When when = When::delivered, uint64_t cookie = 77) {
  return {Verb::put, when, signal, {const_cast<std::byte*>(from), bytes, nullptr}, {&to, offset, bytes},
          cookie};
}
inline Transfer make_get(std::byte* to, size_t bytes, RemoteRegion& from, uint64_t offset,
                         uint64_t cookie = 78, uint16_t counter = 0) {
  return {Verb::get, When::delivered, {counter, 0}, {to, bytes, nullptr}, {&from, offset, bytes}, cookie};
}
inline Transfer make_signal(Signal signal, When when = When::never, uint64_t cookie = 79) {
  return {Verb::put, when, signal, {}, {}, cookie};
}

}  // namespace plait::transport::tcp::test
