// Two connected endpoints over RDMA devices of this machine, where it has any, and what tests do with them.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "base/clock.h"
#include "rdma/ports.h"
#include "transport/verbs/verbs.h"
#include "transport/verbs/wire.h"

namespace plait::transport::verbs::test {

constexpr int64_t kLimitMs = 30'000;
constexpr size_t kBytes = size_t{1} << 20;

// The n-th of the ports that can be used; none: no device.
inline std::string device(size_t n) {
  std::vector<std::string> names;
  for (const rdma::Port& port : rdma::find_ports()) {
    if (port.why_not.empty()) names.push_back(port.device);
  }
  return names.empty() ? std::string() : names[n % names.size()];
}

#define PLAIT_NEEDS_A_DEVICE()                            \
  if (::plait::transport::verbs::test::device(0).empty()) \
  GTEST_SKIP() << "this machine has no RDMA port that can be used (tests/lab/vm/run has)"

// A domain with an endpoint and a MiB of memory.
struct Side {
  std::unique_ptr<Domain> domain;
  std::vector<std::byte> memory = std::vector<std::byte>(kBytes);
  std::unique_ptr<Region> region;
  std::unique_ptr<Endpoint> end;
  std::unique_ptr<RemoteRegion> far;
  std::vector<Done> dones;
  uint64_t cookie;

  explicit Side(uint64_t own_cookie, size_t n, Options options = {}) : cookie(own_cookie) {
    options.device = device(n);
    auto made = make_domain(options);
    if (!made.ok()) ADD_FAILURE() << made.status().text();
    domain = std::move(made).value();
    region = std::move(domain->expose({memory.data(), kBytes}, Access::both).value());
    end = std::move(domain->open(4, cookie).value());
  }
  void poll() {
    Done got[16];
    dones.insert(dones.end(), got, got + domain->poll(got));
  }
  // The code that came with `of`; Code::internal: none yet.
  Code code(uint64_t of) const {
    for (const Done& done : dones) {
      if (done.cookie == of) return done.status;
    }
    return Code::internal;
  }
  bool has(uint64_t of) const { return code(of) != Code::internal; }
  Transfer put(size_t bytes, Signal signal, uint64_t of, size_t at = 0) {
    return {
        Verb::put, When::delivered, signal, region->slice(at, bytes).value(), far->slice(at, bytes).value(),
        of};
  }
};

struct Pair {
  Side a, b;

  explicit Pair(const Options& options = {}) : a(1001, 0, options), b(1002, 1, options) {
    EXPECT_TRUE(a.end->connect(b.end->ticket()).ok());
    EXPECT_TRUE(b.end->connect(a.end->ticket()).ok());
    EXPECT_TRUE(pump([&] { return a.end->state() == State::ready && b.end->state() == State::ready; }))
        << a.end->error() << b.end->error();
    a.far = std::move(a.end->import(b.region->key()).value());
    b.far = std::move(b.end->import(a.region->key()).value());
  }
  ~Pair() {
    for (Side* side : {&a, &b}) side->far.reset();
    for (Side* side : {&a, &b}) side->end.reset();
  }
  bool pump(const std::function<bool()>& holds) {
    for (const Deadline end = Deadline::in_ms(kLimitMs); !holds();) {
      if (end.passed()) return false;
      a.poll();
      b.poll();
    }
    return true;
  }
};

}  // namespace plait::transport::verbs::test
