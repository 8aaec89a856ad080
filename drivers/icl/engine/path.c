/* What is wrong between two chips, in words: their routes are walked in the window. */
#include <stdio.h>

#include "engine.h"

bool icl_chip_silent(const struct icl_engine* e, uint32_t chip, uint64_t now) {
  if (e->apart) return e->silent_ticks[chip] * (uint64_t)ICL_TICK_NS > e->window.shape.silent_ms * UINT64_C(1000000);
  const uint64_t beat = atomic_load(&icl_chip_words(&e->window, chip)->beat_ns);
  return now > beat && now - beat > e->window.shape.silent_ms * UINT64_C(1000000);
}

static icl_status check_chip(struct icl_engine* e, uint32_t chip, uint64_t now, char* why, size_t room) {
  const struct icl_chip_words* words = icl_chip_words(&e->window, chip);
  const uint32_t state = atomic_load(&words->state);
  const int32_t pid = atomic_load(&words->pid);
  if (state == ICL_CHIP_DEAD) {
    snprintf(why, room, "chip %u is dead (its process was %d): start it again, or route around it", chip, pid);
    return ICL_ERR_CHIP_DEAD;
  }
  if (state == ICL_CHIP_LEFT) {
    snprintf(why, room, "chip %u was closed by its process %d: look there for why", chip, pid);
    return ICL_ERR_CHIP_DEAD;
  }
  if (state == ICL_CHIP_RUNNING && icl_chip_silent(e, chip, now)) {
    snprintf(why, room, "chip %u has been silent for more than %u ms: is %sits process %d stopped?", chip,
             e->window.shape.silent_ms, e->apart ? "its machine off, or " : "", pid);
    return ICL_ERR_CHIP_DEAD;
  }
  return ICL_OK;
}

static icl_status check_link(struct icl_engine* e, uint32_t chip, uint32_t port, uint32_t far_chip, uint32_t far_port,
                             uint64_t since_ns, uint64_t now, char* why, size_t room) {
  const struct icl_port_words* words = icl_port_words(&e->window, chip, port);
  const uint64_t down = icl_down_ns(e, chip, port);
  // The far end may have noticed first.
  const struct icl_port_words* far_words = icl_port_words(&e->window, far_chip, far_port);
  const bool is_down = (atomic_load(&words->trained) & 0xff) == ICL_PORT_DOWN ||
                       (atomic_load(&far_words->trained) & 0xff) == ICL_PORT_DOWN;
  if (down <= since_ns || down > now) return ICL_OK;
  snprintf(why, room, "the link from chip %u port %u to chip %u port %u %s %llu ms ago: %s", chip, port, far_chip, far_port,
           is_down ? "went down" : "was lost", (unsigned long long)((now - down) / 1000000),
           is_down ? "look at the cable, or route around it" : "it is up again, connect new queues");
  return ICL_ERR_LINK_DOWN;
}

/* A dead chip takes its links with it: look for chips first. */
icl_status icl_path_check(struct icl_engine* e, uint32_t from, uint32_t to, uint64_t since_ns, char* why, size_t room) {
  const struct icl_window* w = &e->window;
  const uint64_t now = icl_now_ns();
  icl_status found = ICL_OK;
  uint32_t at = from, port, channel, far_chip, far_port;
  for (uint32_t hops = 0; at != to && hops < w->shape.chips; hops++, at = far_chip) {
    if (!icl_window_route(w, at, to, &port, &channel) || !icl_window_far(w, at, port, &far_chip, &far_port)) {
      snprintf(why, room, "no route from chip %u to chip %u any more", at, to);
      return ICL_ERR_UNREACHABLE;
    }
    const icl_status status = check_chip(e, far_chip, now, why, room);
    if (status != ICL_OK) return status;
    if (found == ICL_OK) found = check_link(e, at, port, far_chip, far_port, since_ns, now, why, room);
    if (found == ICL_OK) found = check_link(e, far_chip, far_port, at, port, since_ns, now, why, room);
  }
  return found;
}
