// What PLAIT_NETWORK names, and what there is to say when it names nothing that is there.
#include "runtime/network.h"

#include <gtest/gtest.h>

#include "runtime/modules.h"

namespace plait::runtime {
namespace {

std::string text_of(const Status& status) { return std::string(status.text()); }

TEST(Network, IsTcpWhereNothingIsSaid) {
  auto rails = parse_network("");
  ASSERT_TRUE(rails.ok());
  ASSERT_EQ(rails->size(), 1u);
  EXPECT_EQ(rails->front().fabric, "tcp");
  EXPECT_EQ(rails->front().detail, "");
  EXPECT_EQ(to_string(*rails), "tcp");
}

TEST(Network, HasADetailBehindTheFirstColon) {
  auto rails = parse_network("tcp:fd00::1");
  ASSERT_TRUE(rails.ok());
  EXPECT_EQ(rails->front().detail, "fd00::1");
  EXPECT_EQ(to_string(*rails), "tcp:fd00::1");
}

TEST(Network, IsAlikeWhateverDevicesAreCalled) {
  auto kind = [](const char* text) { return kind_of(parse_network(text).value()); };
  EXPECT_EQ(kind("tcp:eth0"), kind("tcp:ens3"));
  EXPECT_EQ(kind("verbs:mlx5_0"), kind("verbs"));
  EXPECT_NE(kind("ofi:tcp"), kind("ofi:shm"));
  EXPECT_NE(kind("ucx"), kind("ofi"));
}

TEST(Network, NamesWhatThereIsWhenAskedForSomethingElse) {
  for (const char* wrong :
       {"infiniband", ":eth0", "/tmp/evil", "../ofi", "tcp,", ",tcp", "TCP", " tcp", "tcp eth0"}) {
    auto rails = parse_network(wrong);
    ASSERT_FALSE(rails.ok()) << wrong;
    EXPECT_EQ(rails.status().code(), Code::invalid);
    for (const char* part : {"tcp", "ofi", "ucx", "verbs"})
      EXPECT_NE(text_of(rails.status()).find(part), std::string::npos) << rails.status().text();
  }
}

TEST(Network, SaysWhichRailItCannotOpenAndWhy) {
  auto domain = open_network({{"tcp", "no-such-interface"}}, {});
  ASSERT_FALSE(domain.ok());
  EXPECT_NE(text_of(domain.status()).find("tcp:no-such-interface"), std::string::npos)
      << domain.status().text();
}

// Beside this test lies no module.
TEST(Modules, ThatAreNotThereAreSaidToBeMissing) {
  auto module = load_module("ofi");
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.status().code(), Code::unsupported);
  EXPECT_NE(text_of(module.status()).find("plait_ofi.so"), std::string::npos) << module.status().text();
  EXPECT_EQ(load_module("/bin/sh").status().code(), Code::unsupported);
}

}  // namespace
}  // namespace plait::runtime
