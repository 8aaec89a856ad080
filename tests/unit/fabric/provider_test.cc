// Which providers are chosen, and in which words others are refused.
#include "fabric/provider.h"

#include <gtest/gtest.h>

namespace plait::fabric {
namespace {

bool says(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

Request request(std::string provider, Mode mode = Mode::automatic) {
  Request made;
  made.provider = std::move(provider);
  made.mode = mode;
  return made;
}

TEST(Provider, OffersSayWhatTheyAreUsedAs) {
  bool loopback = false;
  for (const Offer& o : list("tcp")) {
    EXPECT_EQ(o.mode, Mode::direct) << o.provider << " " << o.domain << ": " << o.why;
    EXPECT_TRUE(o.why.empty()) << o.why;
    EXPECT_EQ(o.use(), "remote memory access");
    loopback |= o.address == "127.0.0.1" && o.domain == "lo";
  }
  EXPECT_TRUE(loopback);
  for (const Offer& o : list("shm")) {
    EXPECT_EQ(o.mode, Mode::messages);
    EXPECT_TRUE(says(o.use(), "messages: ")) << o.use();
    EXPECT_TRUE(says(o.why, "cannot be used directly")) << o.why;
  }
  EXPECT_TRUE(list("nosuchprovider").empty());
}

TEST(Provider, OneThatIsNotThere) {
  const auto none = choose(request("nosuchprovider"));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), Code::unsupported);
  EXPECT_TRUE(says(none.status().text(), "nosuchprovider")) << none.status().text();
  EXPECT_TRUE(says(none.status().text(), "fi_info")) << none.status().text();
}

TEST(Provider, WhatItLacksIsSaid) {
  const auto choice = choose(request("tcp"));
  ASSERT_TRUE(choice.ok()) << choice.status().text();
  const fi_info& can = *choice->info;
  EXPECT_EQ(lacks(can, Mode::direct), "");
  const auto without = [&](auto change) {
    const Info info(fi_dupinfo(&can));
    change(*info);
    return lacks(*info, Mode::direct);
  };
  EXPECT_TRUE(says(without([](fi_info& i) { i.caps = FI_MSG; }), "FI_RMA"));
  EXPECT_TRUE(says(without([](fi_info& i) { i.domain_attr->cq_data_size = 2; }), "4 bytes"));
  EXPECT_TRUE(says(without([](fi_info& i) { i.tx_attr->msg_order = FI_ORDER_SAS; }), "FI_ORDER_WAW"));
  EXPECT_TRUE(says(without([](fi_info& i) { i.domain_attr->mr_key_size = 16; }), "8 bytes"));
  EXPECT_TRUE(says(without([](fi_info& i) { i.ep_attr->max_msg_size = 64; }), "4096 bytes"));
  EXPECT_EQ(lacks(*Info(fi_dupinfo(&can)), Mode::messages), "");
}

TEST(Provider, AnAddressOfThisHostOnly) {
  Request one = request("tcp");
  one.address = "127.0.0.1";
  const auto choice = choose(one);
  ASSERT_TRUE(choice.ok()) << choice.status().text();
  EXPECT_TRUE(choice->loopback());
  EXPECT_TRUE(choice->network);
}

}  // namespace
}  // namespace plait::fabric
