// What people write: rooms, sizes, faults, parameters; and the refusals of what they did not mean.
#include <gtest/gtest.h>

#include "sim/ways.h"
#include "sim/what_if.h"

namespace plait::sim {
namespace {

int32_t places(std::string_view text) {
  auto room = read_room(text);
  EXPECT_TRUE(room.ok()) << room.status().text();
  return room.ok() ? room->network->terminals() : -1;
}
std::string refusal(std::string_view text) {
  auto room = read_room(text);
  return room.ok() ? "" : std::string(room.status().text());
}

TEST(Rooms, InWords) {
  EXPECT_EQ(places("ideal 7"), 7);
  EXPECT_EQ(places("ring 8"), 8);
  EXPECT_EQ(places("mesh 4x4"), 16);
  EXPECT_EQ(places("torus 8 x 8 x 4"), 256);
  EXPECT_EQ(places("hybrid cube mesh 100Gb/s"), 8);
  EXPECT_EQ(places("4 hosts x 2 nics 100Gb/s"), 4);
  EXPECT_EQ(places("4 hosts x 8 chips x 2 nics, 400 Gb/s, 2us, inside 900GB/s, switch 3.2 Tb/s"), 32);
  EXPECT_EQ(places("128 leaves x 64 hosts x 8 chips oversubscribed 2"), 65536);
}

TEST(Rooms, NumbersAndUnits) {
  auto room = read_room("mesh 4x4 100Gb/s 250ns");
  std::vector<uint32_t> way;
  room->network->route(0, 1, way);
  EXPECT_DOUBLE_EQ(room->network->link(way[0]).capacity, 12.5e9);
  EXPECT_DOUBLE_EQ(room->network->link(way[0]).latency, 2.5e-7);
  EXPECT_DOUBLE_EQ(read_room("ring 4 1.5e1 GB/s")->network->link(0).capacity, 15e9);
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

TEST(Rooms, LevelsAreInnermostFirst) {
  EXPECT_EQ(read_room("mesh 4x3")->levels, (std::vector<int>{4, 3}));
  EXPECT_EQ(read_room("2 leaves x 4 hosts x 8 chips")->levels, (std::vector<int>{8, 4, 2}));
  EXPECT_EQ(read_room("4 hosts")->levels, (std::vector<int>{4}));
  EXPECT_EQ(read_room("2 leaves x 4 hosts x 8 chips")->host, 8);
}

TEST(Rooms, AreRefusedByTheWordThatIsNotUnderstood) {
  EXPECT_NE(refusal("cube 8").find("'cube' is no room"), std::string::npos);
  EXPECT_NE(refusal("").find("is no room"), std::string::npos);
  EXPECT_NE(refusal("mesh 4x").find("'the end' where a number is expected"), std::string::npos);
  EXPECT_NE(refusal("mesh 4x0").find("'0' is no number"), std::string::npos);
  EXPECT_NE(refusal("mesh 2.5x4").find("'2.5' is no whole number"), std::string::npos);
  EXPECT_NE(refusal("mesh 4x4 fast").find("'fast' is not understood"), std::string::npos);
  EXPECT_NE(refusal("mesh 4x4 100").find("'the end' is no time"), std::string::npos);
  EXPECT_NE(refusal("mesh 4x4 100 Qb/s").find("'"), std::string::npos);
  EXPECT_NE(refusal("mesh 4x4 inside 1Gb/s").find("'inside' is not understood"), std::string::npos);
  EXPECT_NE(refusal("ring 4x4").find("one size"), std::string::npos);
  EXPECT_NE(refusal("4 cows").find("'cows' where leaves"), std::string::npos);
  EXPECT_NE(refusal("mesh 999999x999999").find("at most"), std::string::npos);
  EXPECT_NE(refusal("mesh 1048576x1048576x1048576x1048576").find("at most"), std::string::npos);
  EXPECT_NE(refusal("1048576 leaves x 1048576 hosts x 1048576 chips").find("at most"), std::string::npos);
  EXPECT_NE(refusal("mesh 1x1x1x1x1x1x1x1x1").find("at most 8 dimensions"), std::string::npos);
  EXPECT_NE(refusal("4 hosts oversubscribed 0.5").find("oversubscribed by 1"), std::string::npos);
  EXPECT_NE(refusal("mesh \x01").find("'?' where a number is expected"), std::string::npos);
  EXPECT_NE(refusal("1...2 hosts").find("no number"), std::string::npos);
}

std::string fault(const std::string& text, WhatIf& what_if) {
  static const auto room = read_room("4 hosts x 2 chips");
  return std::string(read_what_if(text, room.value(), 8, what_if).text());
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
  const Question q{.ranks = 64, .levels = {8, 4, 2}};
  EXPECT_TRUE(find_way(q, "ring").ok());
  EXPECT_TRUE(find_way(q, "ring/direct").ok());
  EXPECT_TRUE(find_way(q, "ring/direct/double_tree").ok());
  EXPECT_FALSE(find_way(q, "ring/direct/ring/ring").ok());
  EXPECT_FALSE(find_way(q, "lap").ok());
  EXPECT_FALSE(find_way(q, "ring/lap").ok());
  EXPECT_FALSE(find_way({.ranks = 6, .levels = {6}}, "swing").ok());
  EXPECT_GT(all_ways(q).size(), 40u);
  auto ring = find_way(q, "ring");
  EXPECT_EQ(*count_messages(*ring, 64, 3), 64.0 * 126 * 3);
  EXPECT_DOUBLE_EQ(bus_factor(collectives::Collective::allreduce, 8), 1.75);
}

}  // namespace
}  // namespace plait::sim
