/* up*\/down* (Autonet): chips are ranked from a root, and a route goes up first, then down, never up again; a dependency
 * from down to up does not exist, hence no cycle. That a route depends on the destination alone holds if every chip that can
 * go down to it does so. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

struct up_down {
  const struct icl_graph* graph;
  uint32_t* order; /* chips by rank */
  uint32_t *rank, *cost;
  uint16_t* distance;
  uint32_t* queue;
};

/* The chip without a rank whose farthest chip is nearest: -1, when all have one. */
static int64_t find_root(struct up_down* u) {
  int64_t root = -1;
  uint32_t best = UINT32_MAX;
  for (uint32_t chip = 0; chip < u->graph->chips; chip++) {
    if (u->rank[chip] != UINT32_MAX) continue;
    icl_graph_distances(u->graph, chip, u->distance, u->queue);
    uint32_t far = 0;
    for (uint32_t i = 0; i < u->graph->chips; i++)
      if (u->distance[i] != UINT16_MAX && u->distance[i] > far) far = u->distance[i];
    if (far >= best) continue;
    best = far;
    root = chip;
  }
  return root;
}

/* Breadth first from a root, for each part of the graph that holds together. */
static void rank_chips(struct up_down* u) {
  memset(u->rank, 0xff, u->graph->chips * sizeof *u->rank);
  for (uint32_t ranked = 0; ranked < u->graph->chips;) {
    const int64_t root = find_root(u);
    uint32_t head = ranked;
    u->rank[root] = ranked;
    u->order[ranked++] = (uint32_t)root;
    for (; head < ranked; head++)
      for (uint32_t port = 0; port < u->graph->ports; port++) {
        const uint32_t next = icl_far(u->graph, u->order[head], port).chip;
        if (next == ICL_ANY || u->rank[next] != UINT32_MAX) continue;
        u->rank[next] = ranked;
        u->order[ranked++] = next;
      }
  }
}

/* The cheapest port of `chip`, of those that lead up (or down). */
static void route_by(struct up_down* u, uint32_t chip, uint32_t to, bool up, struct icl_routes* routes) {
  for (uint32_t port = 0; port < u->graph->ports; port++) {
    const uint32_t next = icl_far(u->graph, chip, port).chip;
    if (next == ICL_ANY || (u->rank[next] < u->rank[chip]) != up || u->cost[next] == UINT32_MAX) continue;
    if (u->cost[next] + 1 >= u->cost[chip]) continue;
    u->cost[chip] = u->cost[next] + 1;
    routes->entry[chip * routes->chips + to] = icl_entry(port, 0);
  }
}

static void route_to(struct up_down* u, uint32_t to, struct icl_routes* routes) {
  memset(u->cost, 0xff, u->graph->chips * sizeof *u->cost);
  u->cost[to] = 0;
  /* Downward ways come from chips above, hence in falling order of rank; then those that have none, rising. */
  for (uint32_t i = u->rank[to]; i-- > 0;) route_by(u, u->order[i], to, false, routes);
  for (uint32_t i = 0; i < u->graph->chips; i++)
    if (u->cost[u->order[i]] == UINT32_MAX) route_by(u, u->order[i], to, true, routes);
}

icl_status icl_routes_up_down(const struct icl_graph* graph, struct icl_routes* routes) {
  const uint32_t n = graph->chips;
  uint32_t* words = malloc((size_t)n * 4 * sizeof *words);
  uint16_t* distance = malloc(n * sizeof *distance);
  icl_status status = ICL_OK;
  if (words == NULL || distance == NULL) {
    status = icl_fail(ICL_ERR_NO_MEMORY, "no memory to lay routes");
  } else {
    struct up_down u = {graph, words, words + n, words + 2 * n, distance, words + 3 * n};
    memset(routes->entry, 0xff, (size_t)n * n * sizeof *routes->entry);
    rank_chips(&u);
    for (uint32_t to = 0; to < n; to++) route_to(&u, to, routes);
  }
  free(words);
  free(distance);
  return status;
}
