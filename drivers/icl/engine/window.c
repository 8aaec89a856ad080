#include "window.h"

#include <stdlib.h>
#include <string.h>

#include "../icl_driver.h"

#define PAGE 4096u

static uint64_t pages(uint64_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

static icl_status bad(const char* what, unsigned long long value, const char* range) {
  return icl_fail(ICL_ERR_INVALID, "a pod's %s is %s, not %llu", what, range, value);
}

icl_status icl_shape_check(const struct icl_shape* s) {
  if (s->chips < 1 || s->chips > ICL_MAX_CHIPS) return bad("number of chips", s->chips, "1..1024");
  if (s->ports < 1 || s->ports > ICL_MAX_PORTS) return bad("number of ports", s->ports, "1..16");
  if (s->channels < 1 || s->channels > ICL_MAX_CHANNELS) return bad("number of channels", s->channels, "1..8");
  if (s->mtu < 64 || s->mtu > ICL_MAX_MTU || s->mtu % 64 != 0) return bad("mtu", s->mtu, "64..16384, a multiple of 64");
  if (s->credits < 1 || s->credits > ICL_MAX_CREDITS) return bad("credits", s->credits, "1..64");
  if (s->quads < 1 || s->quads > ICL_MAX_QUADS) return bad("number of quads", s->quads, "1..4");
  if (s->mbps > 1000000) return bad("mbps", s->mbps, "0..1000000");
  if (s->latency_ns > 1000000000) return bad("latency", s->latency_ns, "at most a second");
  if (s->limit_ms < 1 || s->limit_ms > 60000) return bad("link limit", s->limit_ms, "1..60000 ms");
  if (s->silent_ms < 200 || s->silent_ms > 600000) return bad("silence", s->silent_ms, "200..600000 ms");
  if (s->memory < PAGE || s->memory % PAGE != 0 || s->memory > UINT64_C(1) << 40)
    return bad("memory of a chip", s->memory, "4096 bytes to 1 TiB, a multiple of 4096");
  return ICL_OK;
}

uint64_t icl_window_lay_out(struct icl_window* w) {
  const struct icl_shape* s = &w->shape;
  const uint64_t ends = (uint64_t)s->chips * s->ports;
  w->lane_bytes = sizeof(struct icl_lane) + ICL_SLOTS * (sizeof(struct icl_slot) + s->mtu);
  w->routes_at = pages(ICL_WINDOW_HEAD + ends * sizeof *w->far);
  w->chips_at = w->routes_at + pages((uint64_t)s->chips * s->chips * sizeof(uint16_t));
  w->ports_at = w->chips_at + pages(s->chips * sizeof(struct icl_chip_words));
  w->lanes_at = w->ports_at + pages(ends * sizeof(struct icl_port_words));
  w->memory_at = w->lanes_at + pages(ends * w->lane_bytes);
  return w->outside ? w->memory_at : w->memory_at + s->chips * s->memory;
}

/* Far ends exist, and know each other. */
static icl_status check_far(const struct icl_window* w) {
  const uint32_t ends = w->shape.chips * w->shape.ports;
  for (uint32_t i = 0; i < ends; i++) {
    const uint32_t far = w->far[i], chip = far >> 8, port = far & 0xff;
    if (far == UINT32_MAX) continue;
    if (chip >= w->shape.chips || port >= w->shape.ports ||
        w->far[chip * w->shape.ports + port] != (i / w->shape.ports << 8 | i % w->shape.ports))
      return icl_fail(ICL_ERR_INVALID, "this pod is damaged: chip %u port %u leads nowhere", i / w->shape.ports,
                      i % w->shape.ports);
  }
  return ICL_OK;
}

icl_status icl_window_attach(void* base, uint64_t bytes, struct icl_window* window) {
  struct icl_window_head head;
  if (bytes < ICL_WINDOW_HEAD) return icl_fail(ICL_ERR_INVALID, "this is no pod: %llu bytes", (unsigned long long)bytes);
  memcpy(&head, base, sizeof head);
  if (head.mark != ICL_WINDOW_MARK || head.version != ICL_WINDOW_VERSION || head.head_bytes != sizeof head)
    return icl_fail(ICL_ERR_INVALID, "this is no pod, or one of another version");
  icl_status status = icl_shape_check(&head.shape);
  if (status != ICL_OK) return status;
  struct icl_window w = {.base = base, .bytes = bytes, .shape = head.shape, .outside = head.outside != 0, .pod = head.pod};
  if (head.outside > 1) return icl_fail(ICL_ERR_INVALID, "this pod is damaged: its memory is nowhere");
  if (icl_window_lay_out(&w) > bytes || head.bytes > bytes)
    return icl_fail(ICL_ERR_INVALID, "this pod is cut short: %llu bytes", (unsigned long long)bytes);
  memcpy(w.text, head.text, sizeof w.text - 1);
  const size_t far_bytes = (size_t)w.shape.chips * w.shape.ports * sizeof *w.far;
  w.far = malloc(far_bytes);
  if (w.far == NULL) return icl_fail(ICL_ERR_NO_MEMORY, "no memory for a pod of %u chips", w.shape.chips);
  memcpy(w.far, w.base + ICL_WINDOW_HEAD, far_bytes);
  status = check_far(&w);
  if (status == ICL_OK)
    *window = w;
  else
    free(w.far);
  return status;
}

void icl_window_detach(struct icl_window* window) {
  free(window->far);
  window->far = NULL;
}

static _Atomic uint16_t* route_word(const struct icl_window* w, uint32_t chip, uint32_t to) {
  return (_Atomic uint16_t*)(void*)(w->base + w->routes_at) + chip * w->shape.chips + to;
}

bool icl_window_route(const struct icl_window* w, uint32_t chip, uint32_t to, uint32_t* port, uint32_t* channel) {
  if (chip >= w->shape.chips || to >= w->shape.chips || chip == to) return false;
  const uint16_t entry = atomic_load_explicit(route_word(w, chip, to), memory_order_relaxed);
  *port = entry & 0xff;
  *channel = entry >> 8;
  return entry != ICL_WINDOW_NO_ROUTE && *port < w->shape.ports && *channel < w->shape.channels &&
         w->far[chip * w->shape.ports + *port] != UINT32_MAX;
}

void icl_window_set_route(const struct icl_window* w, uint32_t chip, uint32_t to, uint32_t entry) {
  atomic_store_explicit(route_word(w, chip, to), (uint16_t)entry, memory_order_relaxed);
}
