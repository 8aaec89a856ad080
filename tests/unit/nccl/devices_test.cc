// Which devices there are, and virtual ones.
#include "devices.h"

#include "bootstrap/interfaces.h"
#include "pair.h"

namespace plait::nccl {
namespace {

runtime::Config config_of(const std::string& network, const std::string& interfaces = "lo") {
  auto config = read_config();
  EXPECT_TRUE(config.ok()) << config.status().text();
  config->network = network;
  config->interfaces = interfaces;
  return *config;
}

TEST(Devices, AnInterfaceIsADevice) {
  const auto devices = find_devices(config_of("tcp"));
  ASSERT_TRUE(devices.ok()) << devices.status().text();
  ASSERT_EQ(devices->size(), 1u);
  const Device& lo = devices->front();
  EXPECT_EQ(lo.name, "tcp:lo");
  EXPECT_EQ(lo.members, std::vector<int>{0});
  EXPECT_FALSE(lo.addresses.empty());
  EXPECT_FALSE(lo.is_virtual);
}

TEST(Devices, NearIsAllOfThem) {
  const auto devices = find_devices(config_of("tcp:near"));
  ASSERT_TRUE(devices.ok()) << devices.status().text();
  EXPECT_EQ(devices->front().name, "tcp:lo");
}

TEST(Devices, RailsWithCommasAreOneDevice) {
  const auto devices = find_devices(config_of("tcp:lo,tcp:lo"));
  ASSERT_TRUE(devices.ok()) << devices.status().text();
  ASSERT_EQ(devices->size(), 1u);
  EXPECT_EQ(devices->front().rails.size(), 2u);
  EXPECT_TRUE(devices->front().pci_path.empty());
}

TEST(Devices, TheFirstNetworkThatIsThere) {
  const auto devices = find_devices(config_of("tcp:no-such-interface|tcp:lo"));
  ASSERT_TRUE(devices.ok()) << devices.status().text();
  EXPECT_EQ(devices->front().name, "tcp:lo");
}

TEST(Devices, NoneSaysWhy) {
  const auto none = find_devices(config_of("tcp:no-such-interface"));
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.status().text().find("no-such-interface"), std::string::npos) << none.status().text();
  const auto chips = find_devices(config_of("icl:emu:/dev/shm/none"));
  ASSERT_FALSE(chips.ok());
  EXPECT_EQ(chips.status().code(), Code::unsupported);
}

Device device_of(const std::string& name, int speed) {
  Device device;
  device.name = name;
  device.rails = {runtime::RailSpec{"tcp", "lo"}};
  device.speed_mbps = speed;
  device.addresses = {parse_ip("127.0.0.1").value()};
  return device;
}

TEST(Devices, JoinedTheyAreAsFastAsAll) {
  const std::vector<Device> all = {device_of("a", 100), device_of("b", 200)};
  const auto joined = join_devices(all, {1, 0});
  ASSERT_TRUE(joined.ok()) << joined.status().text();
  EXPECT_EQ(joined->name, "b,a");
  EXPECT_EQ(joined->speed_mbps, 300);
  EXPECT_EQ(joined->rails.size(), 2u);
  EXPECT_EQ(joined->addresses.size(), 1u);
  EXPECT_TRUE(joined->is_virtual && joined->pci_path.empty());
}

TEST(Devices, WhatCannotBeJoined) {
  std::vector<Device> all = {device_of("a", 100), device_of("b", 200)};
  for (const std::vector<int>& members :
       {std::vector<int>{0, 2}, std::vector<int>{-1, 0}, std::vector<int>{1, 1}, std::vector<int>{}}) {
    EXPECT_EQ(join_devices(all, members).status().code(), Code::invalid);
  }
  all[1].is_virtual = true;
  EXPECT_EQ(join_devices(all, {0, 1}).status().code(), Code::invalid);
}

TEST(Devices, TrafficClassIsChecked) {
  const runtime::Config config = config_of("tcp");
  const Device device = device_of("a", 1);
  DomainChoice choice;
  for (const int wrong : {-2, 256}) {
    choice.traffic_class = wrong;
    EXPECT_EQ(open_domain(device, config, choice).status().code(), Code::invalid);
  }
  choice.traffic_class = 104;
  EXPECT_TRUE(open_domain(device, config, choice).ok());
}

// By the tables: two interfaces, joined, move bytes and are told of as their members.
TEST(Devices, AVirtualDeviceMoves) {
  const auto all = bootstrap::list_interfaces();
  ASSERT_TRUE(all.ok());
  std::string second;
  for (const auto& i : *all) {
    if (i.up && i.name != "lo" && i.address.family == 4 && !i.address.link_local()) second = i.name;
  }
  if (second.empty()) GTEST_SKIP() << "there is no interface but loopback";
  setenv("PLAIT_IFACE", ("lo," + second).c_str(), 1);
  {
    Started started;
    ASSERT_EQ(started.result, kSuccess) << logged();
    int count = 0;
    ASSERT_EQ(net().devices(&count), kSuccess);
    ASSERT_EQ(count, 2);
    int joined = -1, again = -1, same = -1;
    VirtualDeviceV12 members{2, {0, 1}}, one{1, {1}}, none{2, {0, 9}};
    ASSERT_EQ(net().make_virtual_device(&joined, &members), kSuccess) << logged();
    EXPECT_EQ(joined, 2);
    EXPECT_EQ(net().make_virtual_device(&again, &members), kSuccess);
    EXPECT_EQ(again, 2);
    EXPECT_EQ(net().make_virtual_device(&same, &one), kSuccess);
    EXPECT_EQ(same, 1);
    EXPECT_EQ(net().make_virtual_device(&same, &none), NcclResult::invalid_argument);
    PropertiesV12 p;
    ASSERT_EQ(net().get_properties(joined, &p), kSuccess);
    EXPECT_EQ(p.virtual_device.count, 2);
    EXPECT_EQ(p.virtual_device.devices[1], 1);
    EXPECT_EQ(p.pci_path, nullptr);
    Pair pair;
    pair.join(started.context, joined);
    const auto sent = pattern(3 << 20, 4);
    std::vector<unsigned char> got(3 << 20);
    void* receive = irecv(pair, got.data(), got.size(), 1);
    ASSERT_EQ(finish({isend(pair, sent.data(), sent.size(), 1), receive}).size(), 2u) << logged();
    EXPECT_EQ(got, sent);
  }
  setenv("PLAIT_IFACE", "lo", 1);
}

}  // namespace
}  // namespace plait::nccl
