// Rails that ask for the nearest NICs: what they are called, who shares a host's, which of this machine's
// interfaces they take.
#include "runtime/near.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "bootstrap/interfaces.h"
#include "runtime/network.h"
#include "support/sysfs_tree.h"

namespace plait::runtime {
namespace {

using test::SysfsTree;

Seat seat_on(unsigned cpu, uint64_t device = 0) {
  Seat seat;
  CPU_ZERO(&seat.cpus);
  CPU_SET(cpu, &seat.cpus);
  seat.device = device;
  return seat;
}

RailSpec rail(const char* text) { return parse_network(text).value().front(); }

TEST(Near, IsAskedForByItsWordAndByVerbsAlone) {
  for (const char* text :
       {"tcp:near", "verbs:near", "verbs", "tcp:near=0000:3b:00.0", "tcp:near?connections=2"})
    EXPECT_TRUE(asks_near(rail(text))) << text;
  for (const char* text :
       {"tcp", "tcp:near0", "tcp:eth0", "verbs:mlx5_0", "verbs:mlx5_0/2", "ucx", "ofi:near"})
    EXPECT_FALSE(asks_near(rail(text))) << text;
  EXPECT_EQ(to_string(parse_network("tcp:near,verbs:near=3b:00.0").value()), "tcp:near,verbs:near=3b:00.0");
  EXPECT_EQ(kind_of(parse_network("tcp:near").value()), "tcp") << "ranks may differ in it";
}

TEST(Near, NamesOneDeviceByItsAddress) {
  for (const char* wrong :
       {"tcp:near=", "verbs:near=mlx5_0", "tcp:near=0000:3b:00.0.1", "tcp:near=0000:3b:40.0"}) {
    const auto rails = parse_network(wrong);
    ASSERT_FALSE(rails.ok()) << wrong;
    EXPECT_EQ(rails.status().code(), Code::invalid);
    EXPECT_NE(rails.status().text().find("PCI address"), std::string::npos) << rails.status().text();
  }
  auto device = [](const char* text) { return near_device(parse_alternatives(text).value()); };
  EXPECT_EQ(device("tcp|verbs").value(), 0u);
  EXPECT_NE(device("verbs:near=0000:3b:00.0|tcp:near=3b:00.0").value(), 0u) << "the same twice";
  const auto two = device("verbs:near=0000:3b:00.0|tcp:near=0000:5e:00.0");
  ASSERT_FALSE(two.ok());
  EXPECT_NE(two.status().text().find("two devices"), std::string::npos);
}

TEST(Near, RanksOfAHostInTheirOrder) {
  const uint64_t device = near_device(parse_alternatives("tcp:near=0001:3b:1f.7").value()).value();
  const std::vector<Seat> seats = {seat_on(0), seat_on(1), seat_on(2, device), seat_on(3)};
  const std::vector<int32_t> host_of = {0, 1, 0, 1};
  const HostRanks host = ranks_of_host(seats, host_of, 2);
  ASSERT_EQ(host.ranks.size(), 2u);
  EXPECT_EQ(host.mine, 1u);
  EXPECT_TRUE(CPU_ISSET(0, &host.ranks[0].cpus));
  EXPECT_FALSE(host.ranks[0].chip);
  ASSERT_TRUE(host.ranks[1].chip);
  EXPECT_EQ(topology::to_string(*host.ranks[1].chip), "0001:3b:1f.7");
}

// All interfaces of this machine, of a /sys that says where they are.
class OnThisMachine : public testing::Test {
 protected:
  void SetUp() override {
    const auto all = bootstrap::list_interfaces();
    ASSERT_TRUE(all.ok());
    for (const bootstrap::Interface& i : *all) {
      if (!i.up) continue;
      place_.interfaces += (place_.interfaces.empty() ? "" : ",") + i.name;
      const std::string name = i.name.substr(0, i.name.find(':'));
      if (std::ranges::find(names_, name) == names_.end()) names_.push_back(name);
    }
    if (names_.size() < 2) GTEST_SKIP() << "one interface: nothing to choose from";
    place_.sysfs = tree_.root();
    tree_.numa(0, "0-1", 0, 0);
    tree_.numa(1, "2-3", 2, 1);
  }
  // The one named is on node 1, the others are on node 0.
  void only_far(const std::string& name) {
    int bus = 1;
    for (const std::string& one : names_) {
      const std::string path = "pci0000:00/0000:" + std::to_string(10 + bus++) + ":00.0";
      tree_.nic(one, path, one == name ? "1" : "0", "10000");
    }
  }
  // The interface that has the first of a rail's addresses.
  static std::string first_of(const RailSpec& rail) {
    const auto all = bootstrap::list_interfaces();
    const std::string address = rail.detail.substr(0, rail.detail.find(','));
    for (const bootstrap::Interface& i : *all) {
      if (to_string(i.address) == address) return i.name.substr(0, i.name.find(':'));
    }
    return "";
  }

  SysfsTree tree_;
  Place place_;
  std::vector<std::string> names_;
};

TEST_F(OnThisMachine, TheNearestComesFirstAndTheOthersBehind) {
  only_far(names_.back());
  const std::vector<Seat> seats = {seat_on(0), seat_on(3)};
  const std::vector<int32_t> host_of = {0, 0};
  for (const size_t mine : {size_t{0}, size_t{1}}) {
    place_.here = ranks_of_host(seats, host_of, mine);
    const auto settled = settle_near(parse_network("tcp:near?connections=2").value(), place_);
    ASSERT_TRUE(settled.ok()) << settled.status().text();
    ASSERT_EQ(settled->size(), 1u);
    const std::string first = first_of(settled->front());
    EXPECT_EQ(first == names_.back(), mine == 1) << settled->front().detail;
    EXPECT_NE(settled->front().detail.find(','), std::string::npos) << "no other address: " << first;
    EXPECT_EQ(settled->front().options.connections, 2);
  }
}

TEST_F(OnThisMachine, TwoRailsTakeTwo) {
  only_far(names_.front());
  place_.here = ranks_of_host(std::vector<Seat>{seat_on(2)}, std::vector<int32_t>{0}, 0);
  const auto settled = settle_near(parse_network("tcp:near,tcp:near").value(), place_);
  ASSERT_TRUE(settled.ok()) << settled.status().text();
  EXPECT_EQ(first_of(settled->front()), names_.front());
  EXPECT_NE(first_of(settled->back()), names_.front());
}

TEST_F(OnThisMachine, WhatIsNamedStays) {
  only_far(names_.front());
  for (const char* text :
       {"tcp", "tcp:eth0", "tcp:lo,tcp:127.0.0.1?connections=2", "ucx:tcp", "verbs:mlx5_0"}) {
    const auto settled = settle_near(parse_network(text).value(), place_);
    ASSERT_TRUE(settled.ok()) << settled.status().text();
    EXPECT_EQ(to_string(*settled), text);
  }
}

TEST_F(OnThisMachine, ErrorsNameTheNetworkAsItWasWritten) {
  place_.interfaces = "no-such-interface";
  const auto domain = open_network(parse_network("tcp:near").value(), place_);
  ASSERT_FALSE(domain.ok());
  EXPECT_NE(domain.status().text().find("\"tcp:near\": PLAIT_IFACE"), std::string::npos)
      << domain.status().text();
}

}  // namespace
}  // namespace plait::runtime
