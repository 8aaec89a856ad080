/* Routes of grids: dimension after dimension, the first one first. In a ring of a torus the channel is 0 while the packet
 * still has to cross the dateline, between the last chip and the first, and 1 behind it: so on neither channel the
 * ring closes. */
#include "graph.h"

/* The port of `chip` that leads to `next`. */
static uint32_t port_to(const struct icl_graph* g, uint32_t chip, uint32_t next) {
  for (uint32_t port = 0; port < g->ports; port++)
    if (icl_far(g, chip, port).chip == next) return port;
  return g->ports;
}

static void route(const struct icl_graph* g, uint32_t chip, uint32_t to, struct icl_routes* routes) {
  uint32_t stride = g->chips;
  for (uint32_t d = 0; d < g->dimensions; d++) {
    const uint32_t size = g->size[d];
    stride /= size;
    const uint32_t x = chip / stride % size, y = to / stride % size;
    if (x == y) continue;
    const bool rings = g->wraps && size >= 3;
    const bool up = rings ? (y + size - x) % size <= size / 2 : y > x;
    const uint32_t next_x = (x + (up ? 1 : size - 1)) % size;
    const bool crosses = up ? y < x : y > x;
    const uint32_t port = port_to(g, chip, chip - x * stride + next_x * stride);
    routes->entry[chip * g->chips + to] = icl_entry(port, rings && !crosses ? 1 : 0);
    return;
  }
}

icl_status icl_routes_by_dimension(const struct icl_graph* graph, uint32_t channels, struct icl_routes* routes) {
  if (graph->dimensions == 0) return ICL_ERR_UNSUPPORTED;
  for (uint32_t d = 0; d < graph->dimensions; d++)
    if (graph->wraps && graph->size[d] >= 3 && channels < 2) return ICL_ERR_UNSUPPORTED;
  for (uint32_t chip = 0; chip < graph->chips; chip++)
    for (uint32_t to = 0; to < graph->chips; to++)
      if (chip != to) route(graph, chip, to, routes);
  return ICL_OK;
}
