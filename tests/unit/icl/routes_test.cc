// Routes that are made arrive and cannot deadlock; tables that could are refused, with the cycle.
#include <random>

#include "graphs.h"

namespace plait::icl {
namespace {

// Hops from a to b, -1 where there is no route.
int hops(const Graph& g, const Routes& r, uint32_t a, uint32_t b) {
  int n = 0;
  for (; a != b; n++) {
    uint32_t port, channel;
    if (icl_routes_get(r.get(), a, b, &port, &channel) != ICL_OK) return -1;
    a = icl_graph_far(g.get(), {a, port}).chip;
  }
  return n;
}

Routes clockwise(const Graph& g, uint32_t channel) {
  icl_routes* r = nullptr;
  const uint32_t n = icl_graph_chips(g.get());
  EXPECT_EQ(icl_routes_new(n, &r), ICL_OK);
  for (uint32_t a = 0; a < n; a++)
    for (uint32_t b = 0; b < n; b++)
      if (a != b) icl_routes_set(r, a, b, 0, channel);
  return Routes(r);
}

TEST(Routes, EveryFormHasSome) {
  for (const char* text :
       {"ring 1", "ring 2", "ring 3", "ring 8", "mesh 4x4", "mesh 1x5", "torus 4x4", "torus 3x3x3",
        "torus 2x5", "full 4", "full 17", "hybrid cube mesh", "custom 5: 0-1 1-2 2-3 3-4 4-0 0-2"})
    for (uint32_t channels : {1u, 2u, 4u}) {
      const Graph g = graph(text);
      const Routes r = routes(g, channels);
      ASSERT_NE(r, nullptr) << text;
      EXPECT_EQ(icl_routes_check(g.get(), r.get(), channels), ICL_OK) << text << ": " << icl_last_error();
      for (uint32_t a = 0; a < icl_graph_chips(g.get()); a++)
        for (uint32_t b = 0; b < icl_graph_chips(g.get()); b++) EXPECT_GE(hops(g, r, a, b), 0) << text;
    }
}

TEST(Routes, TorusTakesTheShortWay) {
  const Graph g = graph("torus 8x8");
  const Routes r = routes(g, 2);
  EXPECT_EQ(hops(g, r, 0, 7), 1);
  EXPECT_EQ(hops(g, r, 0, 63), 2);
  EXPECT_EQ(hops(g, r, 0, 36), 8);
}

TEST(Routes, RingOnOneChannelIsRefusedWithItsCycle) {
  const Graph g = graph("ring 4");
  const Routes r = clockwise(g, 0);
  ASSERT_EQ(icl_routes_check(g.get(), r.get(), 2), ICL_ERR_CYCLE);
  EXPECT_NE(std::string(icl_last_error())
                .find("chip 0 port 0 vc 0 -> chip 1 port 0 vc 0 -> chip 2 port 0 vc 0 -> chip 3 port 0 vc 0 "
                      "-> chip 0 port 0 vc 0"),
            std::string::npos)
      << icl_last_error();
}

TEST(Routes, LongCyclesAreCutInTheSentence) {
  const Graph g = graph("ring 1024");
  const Routes r = clockwise(g, 1);
  ASSERT_EQ(icl_routes_check(g.get(), r.get(), 2), ICL_ERR_CYCLE);
  EXPECT_NE(std::string(icl_last_error()).find("1000 more"), std::string::npos) << icl_last_error();
}

TEST(Routes, ThreeOfARingDoNotCloseACycle) {
  // Nobody waits for more than one channel: packets go at most one hop further.
  const Graph g = graph("ring 3");
  const Routes r = routes(g, 1);
  EXPECT_EQ(icl_routes_check(g.get(), r.get(), 1), ICL_OK);
}

TEST(Routes, WhatDoesNotArriveIsNamed) {
  const Graph g = graph("ring 4");
  const Routes r = routes(g, 2);
  icl_routes_set(r.get(), 0, 2, 0, 0);
  icl_routes_set(r.get(), 1, 2, 1, 0);
  ASSERT_EQ(icl_routes_check(g.get(), r.get(), 2), ICL_ERR_UNREACHABLE);
  EXPECT_NE(std::string(icl_last_error()).find("from chip 0 to chip 2 runs in a circle"), std::string::npos)
      << icl_last_error();

  icl_routes* table = nullptr;
  ASSERT_EQ(icl_routes_parse("0 2 0 0  # by way of 1\n", 4, &table), ICL_OK);
  EXPECT_EQ(icl_routes_check(g.get(), table, 2), ICL_ERR_UNREACHABLE);
  EXPECT_NE(std::string(icl_last_error()).find("ends at chip 1"), std::string::npos);
  icl_routes_free(table);
}

TEST(Routes, PortsAndChannelsMustExist) {
  const Graph g = graph("mesh 2x2");
  for (const char* text : {"0 1 1 0", "0 1 9 0", "0 1 2 3"}) {
    icl_routes* table = nullptr;
    ASSERT_EQ(icl_routes_parse(text, 4, &table), ICL_OK) << icl_last_error();
    EXPECT_EQ(icl_routes_check(g.get(), table, 2), ICL_ERR_INVALID) << text;
    icl_routes_free(table);
  }
}

TEST(Routes, TablesAreRefusedByLine) {
  for (const char* text :
       {"0 1 0", "\n0 1 0 0 0", "0 0 0 0", "4 0 0 0", "0 1 16 0", "0 1 0 8", "-1 1 0 0", "x"}) {
    icl_routes* table = nullptr;
    EXPECT_EQ(icl_routes_parse(text, 4, &table), ICL_ERR_INVALID) << text;
    EXPECT_NE(std::string(icl_last_error()).find("line"), std::string::npos);
  }
}

TEST(Routes, GraphsWithHoles) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::minstd_rand random(seed);
  const auto pick = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  for (int round = 0; round < 30; round++) {
    const Graph g = graph(round % 2 == 0 ? "mesh 6x6" : "torus 5x5");
    const uint32_t chips = icl_graph_chips(g.get());
    for (int hole = 0; hole < 8; hole++) icl_graph_remove(g.get(), pick(chips));
    for (int cut = 0; cut < 6; cut++) icl_graph_cut(g.get(), {pick(chips), pick(4)});
    for (uint32_t channels : {1u, 2u, 8u}) {
      const Routes r = routes(g, channels);
      ASSERT_NE(r, nullptr);
      // Whoever reaches a chip is reached by it.
      for (uint32_t a = 0; a < chips; a++)
        for (uint32_t b = 0; b < a; b++) EXPECT_EQ(hops(g, r, a, b) < 0, hops(g, r, b, a) < 0);
    }
  }
}

TEST(Routes, AThousandChips) {
  for (const char* text : {"torus 32x32", "mesh 32x32", "ring 1024"}) {
    const Graph g = graph(text);
    const Routes whole = routes(g, 2);
    ASSERT_NE(whole, nullptr);
    EXPECT_EQ(icl_routes_check(g.get(), whole.get(), 2), ICL_OK);
  }
  const Graph g = graph("torus 32x32");
  icl_graph_remove(g.get(), 500);
  EXPECT_NE(routes(g, 8), nullptr);
  EXPECT_NE(routes(g, 1), nullptr);
}

}  // namespace
}  // namespace plait::icl
