// Which interfaces are used, and "host:port".
#include "bootstrap/interfaces.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "bootstrap/resolve.h"

namespace plait::bootstrap {
namespace {

Interface make(const char* name, const char* address, bool up = true) {
  return {name, *parse_ip(address), up};
}

const std::vector<Interface> kHost = {make("lo", "127.0.0.1"),         make("lo", "::1"),
                                      make("docker0", "172.17.0.1"),   make("eth0", "10.0.0.5"),
                                      make("eth0", "fe80::5"),         make("eth0", "fd00::5"),
                                      make("eth1", "192.168.7.5"),     make("eth10", "10.9.0.5"),
                                      make("eth2", "10.2.0.5", false), make("veth12", "169.254.3.3"),
                                      make("virbr0", "192.168.122.1")};

std::string chosen(const std::vector<Interface>& all, std::string_view wanted) {
  auto list = choose(all, wanted);
  if (!list.ok()) return "error: " + std::string(list.status().text());
  std::string text;
  for (const Interface& i : *list) text += (text.empty() ? "" : " ") + to_string(i.address);
  return text;
}

TEST(Interfaces, DefaultsToWhatReachesOtherHosts) {
  EXPECT_EQ(chosen(kHost, ""), "10.0.0.5 fd00::5 192.168.7.5 10.9.0.5 fe80::5");
}

TEST(Interfaces, NobodyKnowsHowFastLoopbackIs) {
  for (const char* name : {"lo", "", "no-such-interface", "../lo", "lo:1"})
    EXPECT_EQ(speed_mbps(name), 0u) << name;
}

TEST(Interfaces, BridgesAndLoopbackOnlyWhereThereIsNothingElse) {
  EXPECT_EQ(chosen({kHost[0], kHost[2]}, ""), "172.17.0.1");
  EXPECT_EQ(chosen({kHost[0], kHost[1]}, ""), "127.0.0.1 ::1");
  EXPECT_NE(chosen({}, "").find("error"), std::string::npos);
  EXPECT_EQ(chosen({kHost[0], make("eth0", "172.17.0.2")}, ""), "172.17.0.2");  // inside a container
}

TEST(Interfaces, NamesAreExactAndInOrder) {
  EXPECT_EQ(chosen(kHost, "eth1"), "192.168.7.5");
  EXPECT_EQ(chosen(kHost, "eth10, eth1"), "10.9.0.5 192.168.7.5");
  EXPECT_EQ(chosen(kHost, "docker0"), "172.17.0.1");
  EXPECT_EQ(chosen(kHost, "lo"), "127.0.0.1 ::1");
}

TEST(Interfaces, AddressesAndSubnets) {
  EXPECT_EQ(chosen(kHost, "10.0.0.0/8"), "10.0.0.5 10.9.0.5");
  EXPECT_EQ(chosen(kHost, "10.9.0.5"), "10.9.0.5");
  EXPECT_EQ(chosen(kHost, "fd00::/16,192.168.0.0/17"), "fd00::5 192.168.7.5 192.168.122.1");
  EXPECT_EQ(chosen(kHost, "0.0.0.0/0,^docker0,^lo,^veth12,^virbr0"), "10.0.0.5 192.168.7.5 10.9.0.5");
}

TEST(Interfaces, SomeAreLeftOut) {
  EXPECT_EQ(chosen(kHost, "^eth0,^eth10"), "192.168.7.5");
  EXPECT_EQ(chosen(kHost, "^eth0,^eth1,^eth10,^lo,^veth12,^virbr0"), "172.17.0.1");
}

TEST(Interfaces, WhatFitsNothingIsNamedBesideWhatThereIs) {
  for (const char* wanted : {"eth", "eth2", "ib0", "10.3.0.0/16", "eth,wrong", "^eth0,eth0"}) {
    const std::string text = chosen(kHost, wanted);
    EXPECT_NE(text.find("error"), std::string::npos) << wanted;
    EXPECT_NE(text.find("PLAIT_IFACE"), std::string::npos) << text;
    EXPECT_NE(text.find("eth10 (10.9.0.5)"), std::string::npos) << text;
    EXPECT_NE(text.find("eth2 (10.2.0.5, down)"), std::string::npos) << text;
  }
}

// One list for hosts that name theirs differently.
TEST(Interfaces, AnEntryMayFitNothingAsLongAsAnotherDoes) {
  EXPECT_EQ(chosen(kHost, "nosuch0,eth0,wrong"), chosen(kHost, "eth0"));
}

TEST(Interfaces, TheSourceForAPeer) {
  auto source = source_for(parse_ip("127.0.0.1")->with_port(9), {});
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ(to_string(*source), "127.0.0.1");
  EXPECT_EQ(to_string(*source_for(*parse_ip("10.1.1.1"), kHost)), "127.0.0.1");  // in the order given
  EXPECT_EQ(to_string(*source_for(*parse_ip("10.1.1.1"), {kHost[6], kHost[3]})), "192.168.7.5");
  EXPECT_EQ(source_for(*parse_ip("fd00::9"), {kHost[6]}).status().code(), Code::invalid);
}

TEST(HostPorts, AreParsed) {
  auto list = parse_host_ports("node1:2000,10.0.0.1:1,[fd00::1]:65535");
  ASSERT_TRUE(list.ok()) << list.status().text();
  ASSERT_EQ(list->size(), 3u);
  EXPECT_EQ((*list)[0].host, "node1");
  EXPECT_EQ((*list)[0].port, 2000);
  EXPECT_EQ((*list)[2].host, "fd00::1");
  EXPECT_EQ((*list)[2].port, 65535);
  for (const char* bad : {"",          "node1",      "node1:",
                          ":1",        "node1:0",    "node1:65536",
                          "node1:x",   "node1:1x",   "fd00::1:5",
                          "[fd00::1]", "[fd00::1]5", "[fd00::1",
                          "[node1]:5", "a:1,",       "a:1,,b:2",
                          "a:-1",      "a: 1",       "a b:1",
                          "a:1, b:2",  "a\n:1",      "a:1,a:1,a:1,a:1,a:1,a:1,a:1,a:1,a:1"}) {
    EXPECT_EQ(parse_host_ports(bad).status().code(), Code::invalid) << bad;
  }
}

TEST(Resolve, OnePlaceIsNoList) {
  for (const char* bad : {"a,b:1", "a:1,b:1", ",:1"}) EXPECT_FALSE(parse_host_port(bad).ok()) << bad;
}

TEST(Resolve, NumbersCostNothingAndNamesAreBounded) {
  const transport::Bounds soon{Deadline::in_ms(5'000), nullptr}, over{Deadline::in_ms(0), nullptr};
  auto numeric = resolve("fd00::1", 7, over);
  ASSERT_TRUE(numeric.ok());
  EXPECT_EQ(to_string(numeric->front()), "[fd00::1]:7");
  if (access("/etc/hosts", R_OK) != 0) GTEST_SKIP() << "no /etc/hosts here: nobody knows localhost";
  auto local = resolve("localhost", 7, soon);
  ASSERT_TRUE(local.ok()) << local.status().text();
  EXPECT_TRUE(local->front().loopback());
  EXPECT_EQ(local->front().port, 7);
  const std::atomic<bool> aborted{true};
  EXPECT_EQ(resolve("localhost", 7, {Deadline(), &aborted}).status().code(), Code::aborted);
  auto unknown = resolve("no-such-host.invalid", 7, soon);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.status().text().find("no-such-host.invalid"), std::string::npos);
}

}  // namespace
}  // namespace plait::bootstrap
