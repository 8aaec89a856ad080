/* The proof that all drivers share: routes arrive, and cannot deadlock. */
#include <stdio.h>
#include <stdlib.h>

#include "graph.h"

static uint16_t entry_of(const struct icl_routes* r, uint32_t chip, uint32_t to) {
  return r->entry[chip * r->chips + to];
}

static icl_status check_entries(const struct icl_graph* g, const struct icl_routes* r, uint32_t channels) {
  for (uint32_t i = 0; i < r->chips * r->chips; i++) {
    const uint16_t entry = r->entry[i];
    if (entry == ICL_NO_ROUTE) continue;
    const uint32_t chip = i / r->chips, port = icl_entry_port(entry);
    if (port >= g->ports || icl_far(g, chip, port).chip == ICL_ANY)
      return icl_fail(ICL_ERR_INVALID, "the route from chip %u to chip %u leaves by port %u, where there is no link", chip,
                      i % r->chips, port);
    if (icl_entry_channel(entry) >= channels)
      return icl_fail(ICL_ERR_INVALID, "the route from chip %u to chip %u leaves on channel %u of %u", chip, i % r->chips,
                      icl_entry_channel(entry), channels);
  }
  return ICL_OK;
}

/* seen[chip]: 1 + the walk that came by; a walk may end at `to`, or where one before it has been. */
static icl_status check_arrival(const struct icl_graph* g, const struct icl_routes* r, uint32_t to, uint32_t* seen) {
  for (uint32_t chip = 0; chip < r->chips; chip++) seen[chip] = 0;
  for (uint32_t from = 0; from < r->chips; from++) {
    if (entry_of(r, from, to) == ICL_NO_ROUTE) continue;
    uint32_t at = from;
    while (at != to && seen[at] == 0) {
      const uint16_t entry = entry_of(r, at, to);
      if (entry == ICL_NO_ROUTE)
        return icl_fail(ICL_ERR_UNREACHABLE, "the route from chip %u to chip %u ends at chip %u, which has none", from, to,
                        at);
      seen[at] = from + 1;
      at = icl_far(g, at, icl_entry_port(entry)).chip;
    }
    if (at != to && seen[at] == from + 1)
      return icl_fail(ICL_ERR_UNREACHABLE, "the route from chip %u to chip %u runs in a circle through chip %u", from, to,
                      at);
  }
  return ICL_OK;
}

static void add_waits(const struct icl_graph* g, const struct icl_routes* r, uint32_t to, struct icl_waits* waits) {
  for (uint32_t chip = 0; chip < r->chips; chip++) {
    const uint16_t entry = entry_of(r, chip, to);
    if (entry == ICL_NO_ROUTE) continue;
    const uint32_t next = icl_far(g, chip, icl_entry_port(entry)).chip;
    if (next == to) continue; /* taken there, without condition */
    const uint16_t then = entry_of(r, next, to);
    icl_waits_add(waits, icl_waits_index(waits, chip, icl_entry_port(entry), icl_entry_channel(entry)),
                  icl_entry_port(then), icl_entry_channel(then));
  }
}

static icl_status name_cycle(const struct icl_waits* w, const uint32_t* cycle, int64_t length) {
  enum { MOST = 24 };
  char text[MOST * 40 + 80] = "";
  size_t used = 0;
  const int64_t shown = length < MOST ? length : MOST;
  for (int64_t i = 0; i <= shown; i++) {
    const uint32_t at = cycle[i == shown ? 0 : i], end = at / w->channels;
    if (i == shown && shown < length)
      used += (size_t)snprintf(text + used, sizeof text - used, "... %ld more ... -> ", (long)(length - shown));
    used += (size_t)snprintf(text + used, sizeof text - used, "chip %u port %u vc %u%s", end / w->ports, end % w->ports,
                             at % w->channels, i == shown ? "" : " -> ");
  }
  return icl_fail(ICL_ERR_CYCLE, "these routes can deadlock, since packets may wait in a circle: %s", text);
}

static icl_status check_cycle(const struct icl_graph* g, const struct icl_waits* waits) {
  uint32_t* cycle = malloc((size_t)waits->chips * waits->ports * waits->channels * sizeof *cycle);
  if (cycle == NULL) return icl_fail(ICL_ERR_NO_MEMORY, "no memory to check routes");
  const int64_t length = icl_waits_cycle(waits, g, cycle);
  icl_status status = ICL_OK;
  if (length > 0) status = name_cycle(waits, cycle, length);
  if (length < 0) status = icl_fail(ICL_ERR_NO_MEMORY, "no memory to check routes");
  free(cycle);
  return status;
}

icl_status icl_routes_check(const struct icl_graph* graph, const struct icl_routes* routes, uint32_t channels) {
  if (graph == NULL || routes == NULL || channels < 1 || channels > ICL_MAX_CHANNELS)
    return icl_fail(ICL_ERR_INVALID, "a check needs a graph, routes and 1..%d channels", ICL_MAX_CHANNELS);
  if (graph->chips != routes->chips)
    return icl_fail(ICL_ERR_INVALID, "routes of %u chips are not for a pod of %u", routes->chips, graph->chips);
  icl_status status = check_entries(graph, routes, channels);
  if (status != ICL_OK) return status;
  uint32_t* seen = malloc(graph->chips * sizeof *seen);
  struct icl_waits waits = {.on = NULL};
  status = seen == NULL ? icl_fail(ICL_ERR_NO_MEMORY, "no memory to check routes")
                        : icl_waits_new(graph->chips, graph->ports, channels, &waits);
  for (uint32_t to = 0; status == ICL_OK && to < graph->chips; to++) {
    status = check_arrival(graph, routes, to, seen);
    if (status == ICL_OK) add_waits(graph, routes, to, &waits);
  }
  if (status == ICL_OK) status = check_cycle(graph, &waits);
  icl_waits_free(&waits);
  free(seen);
  return status;
}
