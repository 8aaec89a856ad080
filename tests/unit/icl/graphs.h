// Graphs and routes that end with their scope.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "drivers/icl/icl_route.h"

namespace plait::icl {

struct Free {
  void operator()(icl_graph* g) const { icl_graph_free(g); }
  void operator()(icl_routes* r) const { icl_routes_free(r); }
};
using Graph = std::unique_ptr<icl_graph, Free>;
using Routes = std::unique_ptr<icl_routes, Free>;

inline Graph graph(const std::string& text) {
  icl_graph* g = nullptr;
  EXPECT_EQ(icl_graph_parse(text.c_str(), &g), ICL_OK) << text << ": " << icl_last_error();
  return Graph(g);
}

inline Routes routes(const Graph& g, uint32_t channels) {
  icl_routes* r = nullptr;
  EXPECT_EQ(icl_routes_make(g.get(), channels, &r), ICL_OK) << icl_last_error();
  return Routes(r);
}

}  // namespace plait::icl
