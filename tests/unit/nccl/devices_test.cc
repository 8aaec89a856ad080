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
}

TEST(Devices, NearIsAllOfThem) {
  const auto devices = find_devices(config_of("tcp:near"));
  ASSERT_TRUE(devices.ok()) << devices.status().text();
  EXPECT_EQ(devices->front().name, "tcp:lo");
}

TEST(Devices, RailsWithCommasAreADeviceEach) {
  const auto devices = find_devices(config_of("tcp:lo,tcp:127.0.0.0/8"));
  ASSERT_TRUE(devices.ok()) << devices.status().text();
  ASSERT_EQ(devices->size(), 2u);
  for (int i : {0, 1}) EXPECT_EQ((*devices)[size_t(i)].members, std::vector<int>{i});
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
  device.members = {0};
  device.speed_mbps = speed;
  device.addresses = {parse_ip("127.0.0.1").value()};
  return device;
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

}  // namespace
}  // namespace plait::nccl
