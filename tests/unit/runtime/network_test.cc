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

TEST(Network, HasOptionsOfTcpBehindAQuestionMark) {
  auto rails = parse_network(
      "tcp:eth1?tls=1+connections=2+send_buffer=4M+receive_buffer=512K+pacing=1G+engine=polled,tcp?engine=io_"
      "uring");
  ASSERT_TRUE(rails.ok()) << rails.status().text();
  const RailOptions& options = rails->front().options;
  EXPECT_EQ(rails->front().detail, "eth1");
  EXPECT_TRUE(options.tls);
  EXPECT_EQ(options.connections, 2);
  EXPECT_EQ(options.send_buffer, 4U << 20);
  EXPECT_EQ(options.receive_buffer, 512U << 10);
  EXPECT_EQ(options.pacing, 1U << 30);
  EXPECT_EQ(options.engine, transport::tcp::EngineKind::polled);
  EXPECT_EQ((*rails)[1].detail, "");
  EXPECT_EQ((*rails)[1].options.engine, transport::tcp::EngineKind::uring);
  auto again = parse_network(to_string(*rails));
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ(again->front().options, options);
  EXPECT_EQ(to_string(*again), to_string(*rails));
}

TEST(Network, OptionsThatAreWrongAreToldWithAllKeys) {
  for (const char* wrong : {"",
                            "tls",
                            "tls=2",
                            "tls=",
                            "TLS=1",
                            "tls=1+",
                            "+tls=1",
                            "tls=1+tls=1",
                            "connections=0",
                            "connections=5",
                            "connections=-1",
                            "send_buffer=4T",
                            "send_buffer=K",
                            "send_buffer=2G",
                            "receive_buffer=1Mi",
                            "pacing=1.5G",
                            "pacing=18446744073709551615G",
                            "engine=uring",
                            "engine=",
                            "speed=1",
                            "tls=1?tls=1",
                            "tls=1&connections=2"}) {
    auto rails = parse_network("tcp:eth1?" + std::string(wrong));
    ASSERT_FALSE(rails.ok()) << wrong;
    EXPECT_EQ(rails.status().code(), Code::invalid);
    for (const char* key : {"tls=", "connections=", "send_buffer=", "receive_buffer=", "pacing=", "engine="})
      EXPECT_NE(text_of(rails.status()).find(key), std::string::npos) << rails.status().text();
  }
  for (const char* wrong : {"ucx?tls=1", "ofi:tcp?tls=1", "icl?mtu=256"}) {
    auto rails = parse_network(wrong);
    ASSERT_FALSE(rails.ok()) << wrong;
    EXPECT_NE(text_of(rails.status()).find("takes no options"), std::string::npos) << rails.status().text();
  }
  EXPECT_NE(text_of(parse_network("tcp?tls=1+engine=io_uring").status()).find("exclude"), std::string::npos);
}

TEST(Network, AnyButLinksOfChipsHasARate) {
  const std::string text =
      "tcp:eth1?tls=1+rate=4M+burst=64K,verbs:mlx5_0?mtu=1024+rate=1G,ucx?rate=1024,ofi:tcp,tcp?rate=2K";
  auto rails = parse_network(text);
  ASSERT_TRUE(rails.ok()) << rails.status().text();
  EXPECT_EQ((*rails)[0].pace, (RailRate{4 << 20, 64 << 10}));
  EXPECT_TRUE((*rails)[0].options.tls);
  EXPECT_EQ((*rails)[1].pace, (RailRate{1 << 30, 0}));
  EXPECT_EQ((*rails)[1].how, "mtu=1024");
  EXPECT_EQ((*rails)[2].pace, (RailRate{1024, 0}));
  EXPECT_EQ((*rails)[3].pace, RailRate());
  EXPECT_EQ((*rails)[4].pace, (RailRate{2048, 0}));
  auto again = parse_network(to_string(*rails));
  ASSERT_TRUE(again.ok()) << again.status().text();
  for (size_t i = 0; i < rails->size(); i++) EXPECT_EQ((*again)[i].pace, (*rails)[i].pace) << i;
  EXPECT_EQ((*again)[1].how, "mtu=1024");
  // Ranks may differ in it.
  EXPECT_EQ(kind_of(*rails), kind_of(parse_network("tcp?tls=1,verbs,ucx,ofi:tcp,tcp").value()));
}

TEST(Network, RatesThatAreWrongAreRefused) {
  for (const char* wrong :
       {"tcp?rate=0", "tcp?rate=1023", "tcp?rate=fast", "tcp?rate=1M+rate=1M", "tcp?rate=1M+", "tcp?burst=1M",
        "tcp?rate=1M+burst=0", "tcp?rate=1M+burst=2G", "ucx?rate=", "ofi:tcp?burst=1", "icl:emu:x?rate=1M"}) {
    auto rails = parse_network(wrong);
    ASSERT_FALSE(rails.ok()) << wrong;
    EXPECT_EQ(rails.status().code(), Code::invalid);
  }
}

TEST(Network, OptionsOfVerbsAreForItsModule) {
  const auto rails = parse_network("verbs:mlx5_0/2?traffic_class=106+mtu=1024,verbs?retries=7,verbs");
  ASSERT_TRUE(rails.ok()) << rails.status().text();
  EXPECT_EQ((*rails)[0].detail, "mlx5_0/2");
  EXPECT_EQ((*rails)[0].how, "traffic_class=106+mtu=1024");
  EXPECT_EQ((*rails)[1].how, "retries=7");
  EXPECT_EQ((*rails)[2].how, "");
  EXPECT_EQ(to_string(*rails), "verbs:mlx5_0/2?traffic_class=106+mtu=1024,verbs?retries=7,verbs");
  EXPECT_EQ(kind_of(*rails), "verbs,verbs,verbs");
}

TEST(Network, IsOfAnotherKindWithTls) {
  auto kind = [](const char* text) { return kind_of(parse_network(text).value()); };
  EXPECT_EQ(kind("tcp:eth0?tls=1"), "tcp?tls=1");
  EXPECT_NE(kind("tcp:eth0?tls=1"), kind("tcp:eth0"));
  EXPECT_EQ(kind("tcp:eth0?tls=0+connections=3"), kind("tcp:eth1"));
  EXPECT_NE(kind("tcp,tcp?tls=1"), kind("tcp?tls=1,tcp"));
}

TEST(Network, WithTlsNeedsASecret) {
  auto domain = open_network(parse_network("tcp:lo?tls=1").value(), {});
  ASSERT_FALSE(domain.ok());
  EXPECT_EQ(domain.status().code(), Code::auth);
  EXPECT_NE(text_of(domain.status()).find("PLAIT_SECRET_FILE"), std::string::npos) << domain.status().text();
}

TEST(Network, SaysWhichRailItCannotOpenAndWhy) {
  auto domain = open_network({{"tcp", "no-such-interface", {}}}, {});
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

TEST(Network, AlternativesHaveABarBetween) {
  const auto all = parse_alternatives("icl:emu:/dev/shm/pod#3|tcp:eth0,tcp:eth1");
  ASSERT_TRUE(all.ok()) << all.status().text();
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].front().detail, "emu:/dev/shm/pod#3");
  EXPECT_EQ((*all)[1].size(), 2u);
  EXPECT_EQ(to_string(*all), "icl:emu:/dev/shm/pod#3|tcp:eth0,tcp:eth1");
  EXPECT_EQ(kind_of(*all), "icl|tcp,tcp");
  EXPECT_EQ(to_string(*parse_alternatives("")), "tcp");
  for (const char* wrong : {"|tcp", "tcp|", "tcp||tcp", "|", "tcp|infiniband", "tcp|tcp|tcp|tcp|tcp"}) {
    const auto refused = parse_alternatives(wrong);
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_EQ(refused.status().code(), Code::invalid);
  }
}

TEST(Network, LinksOfChipsComeBeforeSharedMemory) {
  const auto before = [](const char* text) { return before_shared_memory(*parse_alternatives(text)); };
  EXPECT_EQ(before("tcp"), 0u);
  EXPECT_EQ(before("icl:emu:/p"), 1u);
  EXPECT_EQ(before("icl:emu:/p|tcp"), 1u);
  EXPECT_EQ(before("icl:emu:/p|icl:emu:/q|tcp"), 2u);
  EXPECT_EQ(before("tcp|icl:emu:/p"), 0u);
  EXPECT_EQ(before("icl:emu:/p,tcp|tcp"), 0u);
  EXPECT_EQ(between_hosts("icl:emu:/p|tcp:eth0"), "tcp:eth0");
  EXPECT_EQ(between_hosts("icl:emu:/p"), "icl:emu:/p");
}

}  // namespace
}  // namespace plait::runtime
