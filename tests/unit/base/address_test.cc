// Addresses as text, as bytes and as the socket calls want them.
#include "base/address.h"

#include <gtest/gtest.h>

namespace plait {
namespace {

Address ip(std::string_view text) {
  auto a = parse_ip(text);
  EXPECT_TRUE(a.ok()) << text << ": " << a.status().text();
  return a.ok() ? *a : Address{};
}

TEST(Address, TextAndBack) {
  for (const char* text : {"10.0.0.1", "0.0.0.0", "255.255.255.255", "::", "::1", "fd00::1:2", "fe80::1%1"}) {
    EXPECT_EQ(to_string(ip(text)), text);
  }
  EXPECT_EQ(to_string(ip("[fd00::1]")), "fd00::1");
  EXPECT_EQ(to_string(ip("10.0.0.1").with_port(2000)), "10.0.0.1:2000");
  EXPECT_EQ(to_string(ip("fd00::1").with_port(2000)), "[fd00::1]:2000");
  EXPECT_EQ(to_string(ip("fe80::1%1").with_port(7)), "[fe80::1%1]:7");
  EXPECT_EQ(to_string(ip("fe80::1%lo")).substr(0, 8), "fe80::1%");
  EXPECT_EQ(to_string(Address{}), "no address");
}

TEST(Address, WhatIsNoneIsRefused) {
  for (const char* text :
       {"", "10.0.0", "10.0.0.256", "1.2.3.4.5", "localhost", "10.0.0.1:80", "[10.0.0.1", "fd00:::1",
        "10.0.0.1%lo", "fe80::1%", "fe80::1%nosuchlink", "fe80::1%0", "%", "[]"}) {
    auto a = parse_ip(text);
    ASSERT_FALSE(a.ok()) << text;
    EXPECT_EQ(a.status().code(), Code::invalid);
  }
}

TEST(Address, Kinds) {
  EXPECT_TRUE(ip("127.0.0.2").loopback() && ip("::1").loopback());
  EXPECT_FALSE(ip("10.0.0.1").loopback() || ip("::2").loopback() || ip("::").loopback());
  EXPECT_TRUE(ip("169.254.3.4").link_local() && ip("fe80::1").link_local() && ip("febf::1").link_local());
  EXPECT_FALSE(ip("169.253.3.4").link_local() || ip("fec0::1").link_local());
  EXPECT_TRUE(ip("0.0.0.0").any() && ip("::").any());
  EXPECT_FALSE(ip("::1").any());
}

// What travels as bytes is compared as bytes: by who logs an address once, by who looks whether it is its
// own.
TEST(Address, HasOneForm) {
  Address a = ip("10.0.0.1");
  EXPECT_TRUE(a.valid() && ip("fd00::1").valid());
  for (size_t i = 4; i < a.bytes.size(); i++) {
    Address other = a;
    other.bytes[i] = 1;
    EXPECT_FALSE(other.valid()) << "byte " << i;
  }
  a.zero = 1;
  EXPECT_FALSE(a.valid());
  EXPECT_FALSE(Address{}.valid());
}

TEST(Address, ThroughTheSocketCalls) {
  for (const char* text : {"10.0.0.1", "fd00::1", "fe80::1%1"}) {
    const Address a = ip(text).with_port(4711);
    const SocketAddress s = to_socket(a);
    EXPECT_EQ(from_socket(s.get(), s.length), a) << text;
  }
  EXPECT_EQ(to_string(from_socket(to_socket(ip("::ffff:10.0.0.1")).get(), sizeof(sockaddr_in6))), "10.0.0.1");
  sockaddr_storage other{};
  other.ss_family = AF_UNIX;
  EXPECT_FALSE(from_socket(reinterpret_cast<sockaddr*>(&other), sizeof other).valid());
  const SocketAddress s = to_socket(ip("10.0.0.1"));
  EXPECT_FALSE(from_socket(s.get(), 4).valid());
}

}  // namespace
}  // namespace plait
