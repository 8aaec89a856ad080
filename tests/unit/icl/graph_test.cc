// Pods as text.
#include "graphs.h"

namespace plait::icl {
namespace {

uint32_t links(const Graph& g) {
  uint32_t n = 0;
  for (uint32_t c = 0; c < icl_graph_chips(g.get()); c++)
    for (uint32_t p = 0; p < icl_graph_ports(g.get()); p++)
      n += icl_graph_far(g.get(), {c, p}).chip != ICL_ANY;
  return n / 2;
}

TEST(Graph, FormsHaveTheLinksTheyShould) {
  const struct {
    const char* text;
    uint32_t chips, ports, links;
  } cases[] = {{"ring 8", 8, 2, 8},
               {"ring 2", 2, 2, 1},
               {"ring 1", 1, 2, 0},
               {"mesh 4x4", 16, 4, 24},
               {"torus 4x4", 16, 4, 32},
               {"torus 2x3x4", 24, 6, 12 + 24 + 24},
               {"full 4", 4, 3, 6},
               {"full 17", 17, 16, 136},
               {"hybrid cube mesh", 8, 4, 16},
               {"custom 3: 0-1 1-2", 3, 2, 2},
               {"custom 2: 0-1 0:5-1:3\n", 2, 6, 2},
               {"mesh 32x32", 1024, 4, 1984}};
  for (const auto& c : cases) {
    const Graph g = graph(c.text);
    EXPECT_EQ(icl_graph_chips(g.get()), c.chips) << c.text;
    EXPECT_EQ(icl_graph_ports(g.get()), c.ports) << c.text;
    EXPECT_EQ(links(g), c.links) << c.text;
  }
}

TEST(Graph, BothEndsKnowEachOther) {
  const Graph g = graph("torus 3x5");
  for (uint32_t c = 0; c < 15; c++)
    for (uint32_t p = 0; p < 4; p++) {
      const icl_end far = icl_graph_far(g.get(), {c, p});
      const icl_end back = icl_graph_far(g.get(), far);
      EXPECT_EQ(back.chip, c);
      EXPECT_EQ(back.port, p);
    }
}

TEST(Graph, NonsenseIsRefusedByWord) {
  const struct {
    const char *text, *says;
  } cases[] = {{"", "a pod is"},
               {"rings 8", "a pod is"},
               {"ring", "a pod is"},
               {"ring x", "'x'"},
               {"ring 1025", "number"},
               {"ring 0", "1..1024"},
               {"mesh 4x", "due here"},
               {"mesh 64x64", "1..1024"},
               {"mesh 2x2x2x2", "due here"},
               {"ring 8 9", "nothing"},
               {"full 18", "1..17"},
               {"custom 3", "colon"},
               {"custom 3: 0-3", "'0-3'"},
               {"custom 3: 0-0", "itself"},
               {"custom 3: 0:0-1 0:0-2", "link already"},
               {"custom 99999: ", "colon"},
               {"ring 99999999999999999999", "number"}};
  for (const auto& c : cases) {
    icl_graph* g = nullptr;
    EXPECT_EQ(icl_graph_parse(c.text, &g) == ICL_OK, false) << c.text;
    EXPECT_EQ(g, nullptr);
    EXPECT_NE(std::string(icl_last_error()).find(c.says), std::string::npos)
        << c.text << ": " << icl_last_error();
  }
}

TEST(Graph, HolesAreCutOut) {
  const Graph g = graph("mesh 3x3");
  EXPECT_EQ(icl_graph_remove(g.get(), 4), ICL_OK);
  EXPECT_EQ(links(g), 8u);
  EXPECT_EQ(icl_graph_cut(g.get(), {4, 0}), ICL_ERR_INVALID);
  EXPECT_EQ(icl_graph_remove(g.get(), 9), ICL_ERR_INVALID);
}

}  // namespace
}  // namespace plait::icl
