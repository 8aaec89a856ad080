// What people write: sizes, faults, parameters; and the refusals of what they did not mean.
#include <gtest/gtest.h>

#include "sim/ways.h"
#include "sim/what_if.h"
#include "sim/words.h"

namespace plait::sim {
namespace {

TEST(Sizes, NumbersAndUnits) {
  EXPECT_EQ(*read_size("1.5M"), 1536u << 10);
  EXPECT_EQ(*read_size("256 MiB"), 256u << 20);
  EXPECT_EQ(*read_size("17"), 17u);
  EXPECT_EQ(*read_size("0"), 0u);
  EXPECT_EQ(*read_size("8B"), 8u);
  for (const char* wrong : {"", "M", "1X", "-1", "1M 2", "1e99"})
    EXPECT_FALSE(read_size(wrong).ok()) << wrong;
  EXPECT_DOUBLE_EQ(*read_time("2 ms"), 2e-3);
  EXPECT_FALSE(read_time("2 years").ok());
}

std::string fault(const std::string& text, WhatIf& what_if) {
  static const auto plan = read_plan("4 hosts x 2 chips x 1 nic", "room");
  static const auto places = take_places(*plan, free_places(*plan));
  return std::string(read_what_if(text, *places, what_if).text());
}
std::string fault(const std::string& text) {
  WhatIf ignored;
  return fault(text, ignored);
}

TEST(WhatIfs, InWords) {
  WhatIf w;
  EXPECT_EQ(fault("cut link 3-host 1", w), "ok");
  EXPECT_EQ(w.cut.size(), 2u);
  EXPECT_EQ(fault("cut link host 0-leaf 0 at 2 ms", w), "ok");
  ASSERT_EQ(w.changes.size(), 2u);
  EXPECT_DOUBLE_EQ(w.changes[0].at, 2e-3);
  EXPECT_EQ(w.changes[0].factor, 0);
  EXPECT_EQ(fault("slow link host 0-leaf 0 to 25% at 1us", w), "ok");
  EXPECT_DOUBLE_EQ(w.changes[2].factor, .25);
  EXPECT_EQ(fault("slow host 2 by 3", w), "ok");
  EXPECT_EQ(w.changes[4].target, 4u);
  EXPECT_EQ(w.changes[5].target, 5u);
  EXPECT_EQ(w.changes[5].factor, 3);
  EXPECT_EQ(fault("slow rank 7 by 1.5", w), "ok");
  EXPECT_EQ(fault("kill rank 7 at 3us", w), "ok");
  EXPECT_EQ(w.changes.back().kind, Change::Kind::dead);
}

TEST(WhatIfs, AreRefused) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "say 'cut link 3-4'"},
      {"burn rank 3", "say 'cut link 3-4'"},
      {"cut rank 3", "what is cut is a link"},
      {"cut link 3-9", "there is no '9' in this room"},
      {"cut link 3-4", "there is no link between 3 and 4"},
      {"slow link host 0-leaf 0", "how slow?"},
      {"slow link host 0-leaf 0 to 5", "said in %"},
      {"slow host 4 by 2", "there is no host 4"},
      {"slow host x by 2", "there is no host x"},
      {"slow host 1", "how slow?"},
      {"kill host 1", "'host' where"},
      {"kill rank 8", "there is no rank 8"},
      {"kill rank 1 at noon", "'noon' where a number"},
      {"kill rank 1 at 1 us twice", "'twice' is too much"},
      {"slow rank 1 by 2 at 1us", "from the beginning"},
      {"kill rank 99999999999999999999", "there is no rank"},
      {"slow host 1 by -2", "where a number"},
  };
  for (auto [text, why] : wrong)
    EXPECT_NE(fault(text).find(why), std::string::npos) << text << ": " << fault(text);
}

TEST(ParameterFiles, OverlayWhatIsThere) {
  Parameters p = default_parameters();
  ASSERT_TRUE(read_parameters(R"({"latency": 1e-6, "engines": 2, "fold": 3e-12})", "p.json", p).ok());
  EXPECT_EQ(p.latency, 1e-6);
  EXPECT_EQ(p.endpoint.engines, 2u);
  EXPECT_EQ(p.endpoint.fold, 3e-12);
  EXPECT_EQ(p.endpoint.send, default_parameters().endpoint.send);
  Parameters again;
  ASSERT_TRUE(read_parameters(to_json(p), "p.json", again).ok());
  EXPECT_EQ(to_json(again), to_json(p));
  for (const char* wrong :
       {"", "[]", "{", R"({"speed": 1})", R"({"engines": -1})", R"({"engines": 1.5})", R"({"latency": "1"})",
        R"({"latency": -1})", R"({"windows": 0})", R"({"engines": 99999999999})", R"({"latency": 1e999})"}) {
    const Status status = read_parameters(wrong, "p.json", p);
    EXPECT_FALSE(status.ok()) << wrong;
    EXPECT_TRUE(status.text().starts_with("p.json: ")) << status.text();
  }
  EXPECT_EQ(p.latency, 1e-6);
}

TEST(Ways, ByName) {
  const Question q{.ranks = 64, .levels = {{8}, {4}, {2}}};
  EXPECT_TRUE(find_way(q, "ring").ok());
  EXPECT_TRUE(find_way(q, "ring/direct").ok());
  EXPECT_TRUE(find_way(q, "ring/direct/double_tree").ok());
  EXPECT_FALSE(find_way(q, "ring/direct/ring/ring").ok());
  EXPECT_FALSE(find_way(q, "lap").ok());
  EXPECT_FALSE(find_way(q, "ring/lap").ok());
  EXPECT_FALSE(find_way({.ranks = 6, .levels = {{6}}}, "swing").ok());
  EXPECT_GT(all_ways(q).size(), 40u);
  auto ring = find_way(q, "ring");
  EXPECT_EQ(*count_messages(*ring, 64, 3), 64.0 * 126 * 3);
  EXPECT_DOUBLE_EQ(bus_factor(collectives::Collective::allreduce, 8), 1.75);
}

}  // namespace
}  // namespace plait::sim
