// Where the network's figures come from.
#include "costs_table.h"

namespace plait::nccl::tuner {
namespace {

using NetworkOf = Variables;

TEST_F(NetworkOf, TcpIsWhatTheCostModelHas) {
  const auto network = read_network();
  ASSERT_TRUE(network.ok()) << network.status().text();
  EXPECT_DOUBLE_EQ(network->delivery.byte, 1e-10);
  EXPECT_GT(network->delivery.send_byte, 0);
  expect_says(network->about, "tcp, 6.4 us and 10 GB/s, assumed");
}

TEST_F(NetworkOf, VerbsSpareTheCores) {
  setenv("PLAIT_NETWORK", "verbs|tcp", 1);
  setenv("PLAIT_LINK_MBPS", "200000", 1);
  const auto network = read_network();
  ASSERT_TRUE(network.ok()) << network.status().text();
  EXPECT_EQ(network->delivery.send_byte, 0);
  expect_says(network->about, "verbs, 2.6 us");
}

TEST_F(NetworkOf, LinksAreAsFastAsTheVariableSays) {
  setenv("PLAIT_LINK_MBPS", "1000", 1);
  const auto network = read_network();
  ASSERT_TRUE(network.ok()) << network.status().text();
  EXPECT_DOUBLE_EQ(network->delivery.byte, 8e-9);
  expect_says(network->about, "0.125 GB/s, by PLAIT_LINK_MBPS");
}

TEST_F(NetworkOf, AFileHasTheLastWord) {
  setenv("PLAIT_LINK_MBPS", "1000", 1);
  use_parameters(R"({"latency": 5e-5, "byte": 1e-9, "fold": 1e-11, "engines": 4})");
  const auto network = read_network();
  ASSERT_TRUE(network.ok()) << network.status().text();
  EXPECT_DOUBLE_EQ(network->delivery.byte, 1e-9);
  EXPECT_DOUBLE_EQ(network->delivery.latency, 5e-5);
  EXPECT_DOUBLE_EQ(network->delivery.send, 1.6e-6);  // what it leaves out stays
  expect_says(network->about, file());
}

TEST_F(NetworkOf, AFileThatIsNoneIsRefused) {
  const std::pair<const char*, const char*> wrong[] = {{"", "JSON"},
                                                       {"[]", "JSON"},
                                                       {R"({"latencies": 1})", "latencies"},
                                                       {R"({"latency": -1})", "latency"},
                                                       {R"({"latency": "x"})", "latency"},
                                                       {R"({"byte": 0})", "ideal 2"}};
  for (const auto& [text, named] : wrong) {
    use_parameters(text);
    const auto network = read_network();
    ASSERT_FALSE(network.ok()) << text;
    EXPECT_EQ(network.status().code(), Code::invalid) << text;
    expect_says(std::string(network.status().text()), kParametersVariable);
    expect_says(std::string(network.status().text()), named);
  }
  setenv(kParametersVariable, "/nowhere/at/all.json", 1);
  EXPECT_EQ(read_network().status().code(), Code::invalid);
}

TEST_F(NetworkOf, VariablesThatMakeNoSenseAreRefused) {
  setenv("PLAIT_LINK_MBPS", "fast", 1);
  EXPECT_EQ(read_network().status().code(), Code::invalid);
  unsetenv("PLAIT_LINK_MBPS");
  setenv("PLAIT_NETWORK", "pigeons", 1);
  EXPECT_FALSE(read_network().ok());
}

TEST_F(NetworkOf, WhatJoinsNoHostsIsNone) {
  for (const char* none : {"shm", "icl:emu:/dev/shm/pod"}) {
    setenv("PLAIT_NETWORK", none, 1);
    EXPECT_EQ(read_network().status().code(), Code::unsupported) << none;
  }
  setenv("PLAIT_NETWORK", "icl:emu:/dev/shm/pod|tcp", 1);
  EXPECT_TRUE(read_network().ok());
}

}  // namespace
}  // namespace plait::nccl::tuner
