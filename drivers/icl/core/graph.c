/* Pods as graphs. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

icl_status icl_graph_new(uint32_t chips, uint32_t ports, struct icl_graph** graph) {
  if (graph == NULL || chips < 1 || chips > ICL_MAX_CHIPS || ports < 1 || ports > ICL_MAX_PORTS)
    return icl_fail(ICL_ERR_INVALID, "a pod has 1..%d chips of 1..%d ports, not %u of %u", ICL_MAX_CHIPS, ICL_MAX_PORTS,
                    chips, ports);
  struct icl_graph* g = calloc(1, sizeof *g);
  struct icl_end* far = malloc((size_t)chips * ports * sizeof *far);
  if (g == NULL || far == NULL) {
    free(g);
    free(far);
    return icl_fail(ICL_ERR_NO_MEMORY, "no memory for a graph of %u chips", chips);
  }
  for (uint32_t i = 0; i < chips * ports; i++) far[i] = (struct icl_end){ICL_ANY, ICL_ANY};
  *g = (struct icl_graph){.chips = chips, .ports = ports, .far = far};
  *graph = g;
  return ICL_OK;
}

void icl_graph_free(struct icl_graph* graph) {
  if (graph == NULL) return;
  free(graph->far);
  free(graph);
}

uint32_t icl_graph_chips(const struct icl_graph* graph) { return graph == NULL ? 0 : graph->chips; }
uint32_t icl_graph_ports(const struct icl_graph* graph) { return graph == NULL ? 0 : graph->ports; }

static bool is_end(const struct icl_graph* g, struct icl_end end) {
  return g != NULL && end.chip < g->chips && end.port < g->ports;
}

struct icl_end icl_graph_far(const struct icl_graph* graph, struct icl_end end) {
  return is_end(graph, end) ? icl_far(graph, end.chip, end.port) : (struct icl_end){ICL_ANY, ICL_ANY};
}

icl_status icl_graph_join(struct icl_graph* graph, struct icl_end a, struct icl_end b) {
  if (!is_end(graph, a) || !is_end(graph, b))
    return icl_fail(ICL_ERR_INVALID, "no such port: chip %u port %u, or chip %u port %u", a.chip, a.port, b.chip, b.port);
  if (a.chip == b.chip) return icl_fail(ICL_ERR_INVALID, "chip %u cannot be joined to itself", a.chip);
  if (icl_far(graph, a.chip, a.port).chip != ICL_ANY || icl_far(graph, b.chip, b.port).chip != ICL_ANY)
    return icl_fail(ICL_ERR_BUSY, "chip %u port %u or chip %u port %u has a link already", a.chip, a.port, b.chip, b.port);
  graph->far[a.chip * graph->ports + a.port] = b;
  graph->far[b.chip * graph->ports + b.port] = a;
  graph->dimensions = 0;
  return ICL_OK;
}

icl_status icl_graph_cut(struct icl_graph* graph, struct icl_end end) {
  const struct icl_end far = icl_graph_far(graph, end);
  if (far.chip == ICL_ANY) return icl_fail(ICL_ERR_INVALID, "chip %u port %u has no link", end.chip, end.port);
  graph->far[end.chip * graph->ports + end.port] = (struct icl_end){ICL_ANY, ICL_ANY};
  graph->far[far.chip * graph->ports + far.port] = (struct icl_end){ICL_ANY, ICL_ANY};
  graph->dimensions = 0;
  return ICL_OK;
}

icl_status icl_graph_remove(struct icl_graph* graph, uint32_t chip) {
  if (graph == NULL || chip >= graph->chips) return icl_fail(ICL_ERR_INVALID, "no chip %u", chip);
  for (uint32_t port = 0; port < graph->ports; port++)
    if (icl_far(graph, chip, port).chip != ICL_ANY) icl_graph_cut(graph, (struct icl_end){chip, port});
  return ICL_OK;
}

icl_status icl_graph_read(struct icl_device* device, struct icl_graph** graph) {
  struct icl_device_info info = {.struct_size = sizeof info};
  icl_status status = icl_query_device(device, &info);
  struct icl_graph* g = NULL;
  if (status == ICL_OK) status = icl_graph_new(info.chips, info.ports, &g);
  for (uint32_t i = 0; status == ICL_OK && i < info.chips * info.ports; i++) {
    struct icl_port_info port = {.struct_size = sizeof port};
    status = icl_query_port(device, i / info.ports, i % info.ports, &port);
    struct icl_end far = {port.planned_chip, port.planned_port};
    if (far.chip == ICL_ANY) far = (struct icl_end){port.far_chip, port.far_port};
    if (status == ICL_OK && far.chip != ICL_ANY && far.chip * info.ports + far.port > i)
      status = icl_graph_join(g, (struct icl_end){i / info.ports, i % info.ports}, far);
  }
  if (status == ICL_OK)
    *graph = g;
  else
    icl_graph_free(g);
  return status;
}

void icl_graph_distances(const struct icl_graph* graph, uint32_t to, uint16_t* distance, uint32_t* queue) {
  memset(distance, 0xff, graph->chips * sizeof *distance);
  uint32_t head = 0, tail = 0;
  distance[to] = 0;
  queue[tail++] = to;
  while (head < tail) {
    const uint32_t chip = queue[head++];
    for (uint32_t port = 0; port < graph->ports; port++) {
      const uint32_t next = icl_far(graph, chip, port).chip;
      if (next == ICL_ANY || distance[next] != UINT16_MAX) continue;
      distance[next] = (uint16_t)(distance[chip] + 1);
      queue[tail++] = next;
    }
  }
}
