// Pods of emulated chips as maps.
#include "topology/icl.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <functional>

#include "drivers/icl/emu/emu.h"
#include "topology/place.h"
#include "topology/report.h"
#include "topology/rings.h"

namespace plait::topology {
namespace {

class Pod {
 public:
  explicit Pod(const std::string& text) {
    static int n = 0;
    path_ = "/dev/shm/topology-test-" + std::to_string(getpid()) + "-" + std::to_string(n++);
    const std::string all = text + "; mbps=800 latency=0ns memory=1M silent=60s limit=50ms";
    EXPECT_EQ(icl_emu_create(path_.c_str(), all.c_str(), nullptr), ICL_OK) << icl_last_error();
  }
  ~Pod() {
    for (icl_device* d : devices_) EXPECT_EQ(icl_close(d), ICL_OK) << icl_last_error();
    EXPECT_EQ(icl_emu_destroy(path_.c_str()), ICL_OK);
  }
  icl_device* open(const std::string& chips) {
    icl_device* d = nullptr;
    EXPECT_EQ(icl_open((address() + "?chips=" + chips).c_str(), nullptr, &d), ICL_OK) << icl_last_error();
    devices_.push_back(d);
    return d;
  }
  void fault(const std::string& order) const {
    EXPECT_EQ(icl_emu_fault(path_.c_str(), order.c_str()), ICL_OK) << icl_last_error();
  }
  std::string address() const { return "emu:" + path_; }
  Graph read() const {
    auto graph = read_icl(address());
    EXPECT_TRUE(graph.ok()) << graph.status().text();
    return graph.ok() ? std::move(*graph) : Graph();
  }
  // Looks at it until it is so.
  bool becomes(const std::function<bool(const Graph&)>& so) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!so(read())) {
      if (std::chrono::steady_clock::now() > end) return false;
      usleep(2000);
    }
    return true;
  }

 private:
  std::string path_;
  std::vector<icl_device*> devices_;
};

TEST(Icl, APodThatNobodyRunsIsAsPlanned) {
  const Pod pod("mesh 4x4");
  const Graph g = pod.read();
  EXPECT_EQ(g.of(Kind::chip).size(), 16u);
  EXPECT_EQ(g.links().size(), 24u);
  const auto fabric = fabric_of(g);
  ASSERT_TRUE(fabric.ok());
  EXPECT_EQ(fabric->ups(), 16u);
  EXPECT_TRUE(fabric->is_free(0));
  EXPECT_EQ(check_rings(*fabric, rings(*fabric).cycles), "");
}

TEST(Icl, ChipsThatRunAreTaken) {
  Pod pod("mesh 4x4");
  icl_device* device = pod.open("0-3");
  const auto own = read_icl(device);
  ASSERT_TRUE(own.ok());
  for (const Graph& g : {*own, pod.read()}) {
    const auto fabric = fabric_of(g);
    ASSERT_TRUE(fabric.ok());
    for (uint32_t c = 0; c < 16; c++) EXPECT_EQ(fabric->is_free(c), c > 3) << c;
    EXPECT_EQ(fabric->ups(), 16u);
    const auto job = parse_job("ring", 8);
    const Placement p = place(*fabric, *job);
    EXPECT_TRUE(p.found);
    EXPECT_EQ(check_place(*fabric, *job, p.chips), "");
  }
}

TEST(Icl, LinksHaveTheRateOfWhatWorks) {
  Pod pod("ring 4");
  pod.open("0-3");
  auto rate = [](const Graph& g, double bytes_per_s) {
    size_t alike = 0;
    for (const Link& l : g.links()) alike += l.forward_bytes_per_s == bytes_per_s ? 1 : 0;
    return alike;
  };
  // Four quads of 800 Mb/s.
  EXPECT_TRUE(pod.becomes([&](const Graph& g) { return rate(g, 4e8) == 4; }));
  pod.fault("link 0:0 degrade 2");
  EXPECT_TRUE(pod.becomes([&](const Graph& g) { return rate(g, 4e8) == 3; }));
}

TEST(Icl, WhatIsDeadIsAHole) {
  Pod pod("ring 8");
  pod.open("0-7");
  EXPECT_TRUE(pod.becomes([](const Graph& g) { return g.links().size() == 8; }));
  pod.fault("link 0:0 cut 600000ms");
  EXPECT_TRUE(pod.becomes([](const Graph& g) { return g.links().size() == 7; }));
  pod.fault("chip 5 dead");
  EXPECT_TRUE(pod.becomes([](const Graph& g) { return g.node(g.of(Kind::chip)[5]).dead; }));
  const auto fabric = fabric_of(pod.read());
  ASSERT_TRUE(fabric.ok());
  EXPECT_EQ(fabric->ups(), 7u);
  EXPECT_EQ(rings(*fabric).bound, 0u);
}

TEST(Icl, SeveralLinksOfTwoChipsAreOne) {
  const Pod pod("custom 3: 0-1 0-1 1-2");
  const Graph g = pod.read();
  ASSERT_EQ(g.links().size(), 2u);
  EXPECT_EQ(g.links()[0].count, 2u);
}

TEST(Icl, MapsOfPathsThatBeginSo) {
  const Pod pod("hybrid cube mesh");
  const auto map = load_map("icl:" + pod.address());
  ASSERT_TRUE(map.ok()) << map.status().text();
  EXPECT_NE(report_rings(*map).find("rings that share no link: 2"), std::string::npos) << report_rings(*map);
  const auto none = load_map("icl:emu:/dev/shm/no-such-pod");
  EXPECT_NE(none.status().text().find("emu:/dev/shm/no-such-pod"), std::string_view::npos);
  EXPECT_FALSE(load_map("icl:").ok());
}

}  // namespace
}  // namespace plait::topology
