/* Tables of routes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

icl_status icl_routes_new(uint32_t chips, struct icl_routes** routes) {
  if (routes == NULL || chips < 1 || chips > ICL_MAX_CHIPS)
    return icl_fail(ICL_ERR_INVALID, "routes are for 1..%d chips, not %u", ICL_MAX_CHIPS, chips);
  struct icl_routes* r = calloc(1, sizeof *r);
  const size_t bytes = (size_t)chips * chips * sizeof *r->entry;
  uint16_t* entry = malloc(bytes);
  if (r == NULL || entry == NULL) {
    free(r);
    free(entry);
    return icl_fail(ICL_ERR_NO_MEMORY, "no memory for routes of %u chips", chips);
  }
  memset(entry, 0xff, bytes);
  *r = (struct icl_routes){.chips = chips, .entry = entry};
  *routes = r;
  return ICL_OK;
}

void icl_routes_free(struct icl_routes* routes) {
  if (routes == NULL) return;
  free(routes->entry);
  free(routes);
}

uint32_t icl_routes_chips(const struct icl_routes* routes) { return routes == NULL ? 0 : routes->chips; }

icl_status icl_routes_set(struct icl_routes* routes, uint32_t chip, uint32_t to, uint32_t port, uint32_t channel) {
  if (routes == NULL || chip >= routes->chips || to >= routes->chips || chip == to || port >= ICL_MAX_PORTS ||
      channel >= ICL_MAX_CHANNELS)
    return icl_fail(ICL_ERR_INVALID, "no route: chip %u to %u by port %u channel %u", chip, to, port, channel);
  routes->entry[chip * routes->chips + to] = icl_entry(port, channel);
  return ICL_OK;
}

icl_status icl_routes_get(const struct icl_routes* routes, uint32_t chip, uint32_t to, uint32_t* port,
                          uint32_t* channel) {
  if (routes == NULL || port == NULL || channel == NULL || chip >= routes->chips || to >= routes->chips)
    return icl_fail(ICL_ERR_INVALID, "no such chips: %u, %u", chip, to);
  const uint16_t entry = routes->entry[chip * routes->chips + to];
  if (entry == ICL_NO_ROUTE) return icl_fail(ICL_ERR_UNREACHABLE, "no route from chip %u to chip %u", chip, to);
  *port = icl_entry_port(entry);
  *channel = icl_entry_channel(entry);
  return ICL_OK;
}

/* A line, without comment: 4 numbers, or nothing. */
static icl_status parse_line(const char* line, size_t length, uint32_t number, struct icl_routes* routes) {
  char copy[64];
  unsigned value[4];
  char rest;
  size_t used = 0;
  for (; used < length && line[used] != '#'; used++)
    if (used == sizeof copy - 1 || line[used] == '\0' || line[used] == '-' || line[used] == '+')
      return icl_fail(ICL_ERR_INVALID, "routes: line %u is not 'CHIP TO PORT CHANNEL'", number);
  memcpy(copy, line, used);
  copy[used] = '\0';
  if (strspn(copy, " \t\r") == used) return ICL_OK;
  if (sscanf(copy, "%5u %5u %5u %5u %c", &value[0], &value[1], &value[2], &value[3], &rest) != 4)
    return icl_fail(ICL_ERR_INVALID, "routes: line %u is not 'CHIP TO PORT CHANNEL'", number);
  if (icl_routes_set(routes, value[0], value[1], value[2], value[3]) != ICL_OK)
    return icl_fail(ICL_ERR_INVALID, "routes: line %u: there is no chip, port or channel of that number", number);
  return ICL_OK;
}

icl_status icl_routes_parse(const char* text, uint32_t chips, struct icl_routes** routes) {
  if (text == NULL || routes == NULL) return icl_fail(ICL_ERR_INVALID, "icl_routes_parse: NULL");
  struct icl_routes* r = NULL;
  icl_status status = icl_routes_new(chips, &r);
  for (uint32_t number = 1; status == ICL_OK && *text != '\0'; number++) {
    const size_t length = strcspn(text, "\n");
    status = parse_line(text, length, number, r);
    text += length + (text[length] == '\n');
  }
  if (status == ICL_OK)
    *routes = r;
  else
    icl_routes_free(r);
  return status;
}

icl_status icl_routes_make(const struct icl_graph* graph, uint32_t channels, struct icl_routes** routes) {
  if (graph == NULL || routes == NULL || channels < 1 || channels > ICL_MAX_CHANNELS)
    return icl_fail(ICL_ERR_INVALID, "routes need a graph and 1..%d channels", ICL_MAX_CHANNELS);
  struct icl_routes* r = NULL;
  icl_status status = icl_routes_new(graph->chips, &r);
  if (status != ICL_OK) return status;
  status = icl_routes_by_dimension(graph, channels, r);
  if (status == ICL_ERR_UNSUPPORTED) status = icl_routes_in_layers(graph, channels, r);
  if (status == ICL_ERR_UNSUPPORTED) status = icl_routes_up_down(graph, r);
  /* Not believed, but proved. */
  if (status == ICL_OK) status = icl_routes_check(graph, r, channels);
  if (status == ICL_OK)
    *routes = r;
  else
    icl_routes_free(r);
  return status;
}
