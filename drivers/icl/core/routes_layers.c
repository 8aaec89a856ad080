/* Shortest routes over any graph: the routes to one destination form a tree, which has no cycle; trees share a channel as
 * long as their dependencies together have none. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

struct layers {
  const struct icl_graph* graph;
  struct icl_waits on[ICL_MAX_CHANNELS], tried;
  uint16_t* distance;
  uint32_t *queue, *cycle;
};

/* One of the ports of `chip` that lead nearer; which one turns with the destination, so that loads spread. */
static uint32_t pick_port(const struct layers* l, uint32_t chip, uint32_t to) {
  uint32_t ports[ICL_MAX_PORTS], n = 0;
  for (uint32_t port = 0; port < l->graph->ports; port++) {
    const uint32_t next = icl_far(l->graph, chip, port).chip;
    if (next != ICL_ANY && l->distance[next] + 1 == l->distance[chip]) ports[n++] = port;
  }
  return ports[(chip + to) % n];
}

static void set_tree(struct layers* l, uint32_t to, struct icl_routes* routes) {
  icl_graph_distances(l->graph, to, l->distance, l->queue);
  for (uint32_t chip = 0; chip < routes->chips; chip++)
    if (chip != to && l->distance[chip] != UINT16_MAX)
      routes->entry[chip * routes->chips + to] = icl_entry(pick_port(l, chip, to), 0);
}

static void add_tree(const struct icl_graph* g, const struct icl_routes* r, uint32_t to, struct icl_waits* waits) {
  for (uint32_t chip = 0; chip < r->chips; chip++) {
    const uint16_t entry = r->entry[chip * r->chips + to];
    if (entry == ICL_NO_ROUTE) continue;
    const uint32_t next = icl_far(g, chip, icl_entry_port(entry)).chip;
    if (next == to) continue;
    icl_waits_add(waits, icl_waits_index(waits, chip, icl_entry_port(entry), 0),
                  icl_entry_port(r->entry[next * r->chips + to]), 0);
  }
}

static icl_status place(struct layers* l, uint32_t to, uint32_t channels, struct icl_routes* routes) {
  const size_t bytes = (size_t)l->graph->chips * l->graph->ports * sizeof *l->tried.on;
  for (uint32_t channel = 0; channel < channels; channel++) {
    memcpy(l->tried.on, l->on[channel].on, bytes);
    add_tree(l->graph, routes, to, &l->tried);
    const int64_t cycle = icl_waits_cycle(&l->tried, l->graph, l->cycle);
    if (cycle < 0) return icl_fail(ICL_ERR_NO_MEMORY, "no memory to lay routes");
    if (cycle > 0) continue;
    memcpy(l->on[channel].on, l->tried.on, bytes);
    for (uint32_t chip = 0; chip < routes->chips; chip++) {
      uint16_t* entry = &routes->entry[chip * routes->chips + to];
      if (*entry != ICL_NO_ROUTE) *entry = icl_entry(icl_entry_port(*entry), channel);
    }
    return ICL_OK;
  }
  return ICL_ERR_UNSUPPORTED;
}

static icl_status start(struct layers* l, uint32_t channels) {
  const struct icl_graph* g = l->graph;
  l->distance = malloc(g->chips * sizeof *l->distance);
  l->queue = malloc(g->chips * sizeof *l->queue);
  l->cycle = malloc((size_t)g->chips * g->ports * sizeof *l->cycle);
  icl_status status = icl_waits_new(g->chips, g->ports, 1, &l->tried);
  for (uint32_t c = 0; status == ICL_OK && c < channels; c++) status = icl_waits_new(g->chips, g->ports, 1, &l->on[c]);
  if (status == ICL_OK && (l->distance == NULL || l->queue == NULL || l->cycle == NULL))
    status = icl_fail(ICL_ERR_NO_MEMORY, "no memory to lay routes");
  return status;
}

icl_status icl_routes_in_layers(const struct icl_graph* graph, uint32_t channels, struct icl_routes* routes) {
  struct layers l = {.graph = graph};
  icl_status status = start(&l, channels);
  for (uint32_t to = 0; status == ICL_OK && to < graph->chips; to++) {
    set_tree(&l, to, routes);
    status = place(&l, to, channels, routes);
  }
  free(l.distance);
  free(l.queue);
  free(l.cycle);
  icl_waits_free(&l.tried);
  for (uint32_t c = 0; c < ICL_MAX_CHANNELS; c++) icl_waits_free(&l.on[c]);
  return status;
}
