// Two ranks over the fake, the first with a hook around its domain; one thread polls both.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "base/clock.h"
#include "transport/fake/fake.h"

namespace plait::transport::hooks {

struct PairSide {
  std::unique_ptr<Domain> domain;
  std::vector<std::byte> memory = std::vector<std::byte>(8192);
  std::unique_ptr<Region> region;
  std::unique_ptr<Endpoint> end;
  std::vector<Done> dones;

  void poll() {
    Done some[8];
    size_t n = domain->poll(some);
    dones.insert(dones.end(), some, some + n);
  }
  // The one Done of `cookie`, or internal when there is none or several.
  Code done(uint64_t cookie) const {
    auto of = [&](const Done& d) { return d.cookie == cookie; };
    auto it = std::find_if(dones.begin(), dones.end(), of);
    return std::count_if(dones.begin(), dones.end(), of) == 1 ? it->status : Code::internal;
  }
};

template <class Hook>
struct Pair {
  static constexpr uint64_t kEndCookie = 1000;
  PairSide a, b;
  Hook* hook = nullptr;
  std::unique_ptr<RemoteRegion> remote;

  template <class... Args>
  explicit Pair(const fake::FakeOptions& options, Args&&... args) {
    fake::FakeNetwork network;
    auto wrapped = std::make_unique<Hook>(network.make_domain("a", options), std::forward<Args>(args)...);
    hook = wrapped.get();
    a.domain = std::move(wrapped);
    b.domain = network.make_domain("b", options);
    for (PairSide* s : {&a, &b}) {
      Memory memory;
      memory.base = s->memory.data();
      memory.bytes = s->memory.size();
      s->region = s->domain->expose(memory, Access::both).value();
      s->end = s->domain->open(2, kEndCookie).value();
    }
    EXPECT_TRUE(a.end->connect(b.end->ticket()).ok());
    EXPECT_TRUE(b.end->connect(a.end->ticket()).ok());
    remote = a.end->import(b.region->key()).value();
    EXPECT_TRUE(pump([&] { return a.end->state() == State::ready && b.end->state() == State::ready; }));
  }
  ~Pair() {
    remote.reset();
    for (PairSide* s : {&a, &b}) {
      s->end.reset();
      s->region.reset();
    }
  }

  bool pump(const std::function<bool()>& holds) {
    Deadline deadline = Deadline::in_ms(20'000);
    while (!holds()) {
      if (deadline.passed()) return false;
      a.poll();
      b.poll();
    }
    return true;
  }
  void idle(int polls = 100) {
    for (int i = 0; i < polls; ++i) a.poll(), b.poll();
  }
  bool post(const Transfer& t) {
    return pump([&] { return a.end->post({&t, 1}) == 1; });
  }
  Transfer put(size_t bytes, Signal signal, When when, uint64_t cookie, size_t offset = 0) {
    return {
        Verb::put, when, signal, a.region->slice(offset, bytes).value(), remote->slice(offset, bytes).value(),
        cookie};
  }
  Transfer get(size_t bytes, uint64_t cookie) {
    return {
        Verb::get, When::delivered, {}, a.region->slice(0, bytes).value(), remote->slice(0, bytes).value(),
        cookie};
  }
};

}  // namespace plait::transport::hooks
