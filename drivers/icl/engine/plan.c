/* Pods are written, and addresses read. */
#include "plan.h"

#include <stdio.h>
#include <string.h>

#include "../icl_driver.h"
#include "engine.h"

/* Wires and routes. */
static void write_plan(struct icl_window* w, const struct icl_graph* graph, const struct icl_routes* routes) {
  const struct icl_shape* s = &w->shape;
  uint32_t* far = (uint32_t*)(void*)(w->base + ICL_WINDOW_HEAD);
  for (uint32_t i = 0; i < s->chips * s->ports; i++) {
    const struct icl_end end = icl_graph_far(graph, (struct icl_end){i / s->ports, i % s->ports});
    far[i] = end.chip == ICL_ANY ? UINT32_MAX : end.chip << 8 | end.port;
  }
  for (uint32_t i = 0; i < s->chips * s->chips; i++) {
    uint32_t port, channel;
    const bool set = icl_routes_get(routes, i / s->chips, i % s->chips, &port, &channel) == ICL_OK;
    icl_window_set_route(w, i / s->chips, i % s->chips, set ? port | channel << 8 : ICL_WINDOW_NO_ROUTE);
  }
}

void icl_plan_write(struct icl_window* w, const char* text, const struct icl_graph* graph, const struct icl_routes* routes) {
  struct icl_window_head head = {.version = ICL_WINDOW_VERSION, .head_bytes = sizeof head, .bytes = w->bytes,
                                 .shape = w->shape, .outside = w->outside, .pod = icl_nonce()};
  strncpy(head.text, text, sizeof head.text - 1);
  write_plan(w, graph, routes);
  memcpy(w->base, &head, sizeof head);
  atomic_store((_Atomic uint64_t*)(void*)w->base, ICL_WINDOW_MARK);
}

/* "0,1,4-7" into `chips`, each once; their number, or 0: it is no such list. */
static uint32_t parse_chips(const char* at, uint32_t all, uint32_t* chips) {
  uint32_t n = 0;
  for (;;) {
    unsigned first, last;
    int used = 0;
    if (*at < '0' || *at > '9' || sscanf(at, "%5u%n", &first, &used) != 1) return 0;
    at += used;
    last = first;
    if (*at == '-') {
      if (at[1] < '0' || at[1] > '9' || sscanf(at + 1, "%5u%n", &last, &used) != 1) return 0;
      at += 1 + used;
    }
    if (first > last || last >= all) return 0;
    for (uint32_t chip = first; chip <= last; chip++) {
      for (uint32_t i = 0; i < n; i++)
        if (chips[i] == chip) return 0;
      chips[n++] = chip;
    }
    if (*at == '\0') return n;
    if (*at++ != ',') return 0;
  }
}

icl_status icl_address_chips(const char* driver, const char* list, uint32_t all, uint32_t* chips, uint32_t* owned) {
  const uint32_t n = list == NULL ? 0 : parse_chips(list, all, chips);
  if (list != NULL && n == 0)
    return icl_fail(ICL_ERR_INVALID, "%s: '%.40s' are no chips of a pod of %u", driver, list, all);
  *owned = n;
  return ICL_OK;
}

icl_status icl_address_split(const char* driver, const char* rest, char* path, size_t room, const char** chips) {
  const size_t length = strcspn(rest, "?");
  *chips = NULL;
  if (length >= room) return icl_fail(ICL_ERR_INVALID, "%s: a path of at most %zu bytes is due", driver, room - 1);
  memcpy(path, rest, length);
  path[length] = '\0';
  if (rest[length] == '\0') return ICL_OK;
  if (strncmp(rest + length, "?chips=", 7) != 0)
    return icl_fail(ICL_ERR_INVALID, "%s: '%.40s' is not ?chips=0,1,4-7", driver, rest + length);
  *chips = rest + length + 7;
  return ICL_OK;
}
