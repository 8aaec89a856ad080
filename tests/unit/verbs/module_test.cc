// What PLAIT_NETWORK may say of a rail over verbs behind a question mark.
#include "transport/module.h"
#include "unit/verbs/rig.h"

namespace plait::transport::verbs::test {
namespace {

Result<std::unique_ptr<Domain>> open_with(const std::string& options, const std::string& device = "") {
  RailRequest request;
  request.detail = device;
  request.options = options;
  return plait_fabric_module()->open(request);
}

// Before any device is looked for.
TEST(Module, OptionsThatAreWrongAreToldWithAllKeys) {
  for (const char* wrong : {"speed=1",
                            "mtu",
                            "mtu=255",
                            "mtu=8192",
                            "traffic_class=256",
                            "service_level=16",
                            "service_level=-1",
                            "gid_index=256",
                            "timeout=0",
                            "timeout=32",
                            "retries=8",
                            "rnr_retries=8",
                            "connect=ip",
                            "depth=0",
                            "signals=1024",
                            "inline=5K",
                            "relaxed_ordering=2",
                            "cache=1T",
                            "memory_windows=yes",
                            "on_demand_paging=",
                            "mtu=256+mtu=256",
                            "retries=7&timeout=3"}) {
    const auto domain = open_with(wrong);
    ASSERT_FALSE(domain.ok()) << wrong;
    EXPECT_EQ(domain.status().code(), Code::invalid) << wrong;
    for (const char* part : {"traffic_class=", "on_demand_paging=", "tickets or cm"})
      EXPECT_NE(domain.status().text().find(part), std::string_view::npos) << domain.status().text();
  }
}

TEST(Module, OptionsAreTheDevices) {
  PLAIT_NEEDS_A_DEVICE();
  const std::string fine =
      "traffic_class=106+service_level=3+mtu=1024+timeout=12+retries=5+rnr_retries=7+depth=32+signals=16+"
      "inline=64+relaxed_ordering=0+cache=0+memory_windows=0+on_demand_paging=0";
  const auto domain = open_with(fine, device(0));
  ASSERT_TRUE(domain.ok()) << domain.status().text();
  EXPECT_EQ((*domain)->capabilities().depth, 32);
  EXPECT_EQ((*domain)->capabilities().signals, 16);
  EXPECT_EQ((*domain)->capabilities().inline_bytes, 64U);
  const auto gid = open_with("gid_index=255", device(0));
  ASSERT_FALSE(gid.ok());
  EXPECT_NE(gid.status().text().find("255"), std::string_view::npos) << gid.status().text();
}

}  // namespace
}  // namespace plait::transport::verbs::test
