// Two ranks over a few rails, each rail behind a hook that can hurt it. One thread polls both.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "base/clock.h"
#include "transport/fake/fake.h"
#include "transport/hooks/fault.h"
#include "transport/rails/rails.h"
#include "transport/tcp/tcp.h"

namespace plait::transport::rails {

// The r-th rail of either rank, fresh.
using MakeRail = std::function<std::unique_ptr<Domain>(int rank, size_t rail)>;

inline MakeRail over_fakes(uint64_t seed) {
  auto networks = std::make_shared<std::vector<fake::FakeNetwork>>(kRails);
  return [networks, seed](int rank, size_t rail) {
    fake::FakeOptions options;
    options.seed = seed * 100 + size_t(rank) * 10 + rail;
    options.reorder = seed % 3 != 0;
    options.delay_max = uint32_t(seed / 3 % 4 * 7 * (rail + 1));
    options.mapped = seed % 2 == 0;
    options.capabilities.target_must_poll = seed % 5 == 0;
    return (*networks)[rail].make_domain("fake" + std::to_string(rail), options);
  };
}

inline MakeRail over_tcp() {
  return [](int, size_t rail) {
    tcp::Options options;
    options.addresses = {parse_ip("127.0.0." + std::to_string(rail + 1)).value()};
    options.label = "tcp" + std::to_string(rail);
    return std::move(tcp::make_domain(options).value());
  };
}

// Of the time in which this process runs: somebody may stop it for longer than any patience.
class Patience {
 public:
  explicit Patience(int64_t ms) : left_ns_(ms * 1'000'000), latest_ns_(now_ns()) {}
  bool over() {
    const int64_t now = now_ns();
    left_ns_ -= std::min<int64_t>(now - std::exchange(latest_ns_, now), 20'000'000);
    return left_ns_ < 0;
  }

 private:
  int64_t left_ns_, latest_ns_;
};

inline Options quick() {
  Options options;
  options.silent_ms = 60;
  options.return_first_ms = 5;
  options.return_last_ms = 40;
  options.join_ms = 2000;
  return options;
}

struct Side {
  std::vector<hooks::FaultDomain*> hooks;  // by rail
  std::unique_ptr<Rails> domain;
  std::unique_ptr<Endpoint> end;
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::unique_ptr<Region>> regions;
  std::vector<std::unique_ptr<RemoteRegion>> remotes;  // of the other's regions
  std::vector<Done> dones;

  void poll() {
    Done some[32];
    const size_t n = domain->poll(some);
    dones.insert(dones.end(), some, some + n);
  }
  std::byte* expose(size_t bytes, Access access) {
    memory.emplace_back(bytes);
    Memory whole;
    whole.base = memory.back().data();
    whole.bytes = bytes;
    regions.push_back(domain->expose(whole, access).value());
    return memory.back().data();
  }
  size_t count(uint64_t cookie) const {
    return size_t(
        std::count_if(dones.begin(), dones.end(), [&](const Done& d) { return d.cookie == cookie; }));
  }
};

constexpr uint64_t kEndCookie = UINT64_MAX;

struct Pair {
  std::array<Side, 2> sides;
  Side& a = sides[0];
  Side& b = sides[1];
  size_t rails;

  Pair(size_t count, const MakeRail& make, const Options& options = quick()) : rails(count) {
    for (int rank = 0; rank < 2; ++rank) {
      Side& side = sides[size_t(rank)];
      std::vector<std::unique_ptr<Domain>> domains;
      for (size_t i = 0; i < count; ++i) {
        auto hook =
            std::make_unique<hooks::FaultDomain>(make(rank, i), hooks::FaultPlan{.seed = i + 1, .rules = {}});
        side.hooks.push_back(hook.get());
        domains.push_back(std::move(hook));
      }
      side.domain = make_domain(std::move(domains), options).value();
    }
  }
  ~Pair() {
    for (Side& side : sides) side.remotes.clear(), side.end.reset(), side.regions.clear();
  }

  // Regions of `a` and `b` are imported by the other, in their order.
  bool connect(uint16_t counters) {
    for (Side& side : sides) side.end = side.domain->open(counters, kEndCookie).value();
    if (!a.end->connect(b.end->ticket()).ok() || !b.end->connect(a.end->ticket()).ok()) return false;
    if (!pump([&] { return a.end->state() == State::ready && b.end->state() == State::ready; })) return false;
    for (size_t i = 0; i < 2; ++i) {
      for (const auto& region : sides[1 - i].regions) {
        sides[i].remotes.push_back(std::move(sides[i].end->import(region->key()).value()));
      }
    }
    return true;
  }
  void poll() { a.poll(), b.poll(); }
  bool pump(const std::function<bool()>& holds, int64_t ms = 20'000) {
    for (Patience patience(ms); !holds(); poll()) {
      if (patience.over()) return false;
    }
    return true;
  }
  bool live(size_t rail) const {
    return sides[0].domain->report()[rail].live == 1 && sides[1].domain->report()[rail].live == 1;
  }
  bool all_live() const {
    for (size_t i = 0; i < rails; ++i) {
      if (!live(i)) return false;
    }
    return true;
  }
};

}  // namespace plait::transport::rails
