/* Chips that other kernels run have clocks of their own: what they say of time is used only to see that it changed. Silence is
 * counted in looks of this process, so that a pause of its own, or of the whole machine, is nobody's silence. */
#include <stdlib.h>

#include "engine.h"

static uint32_t ends(const struct icl_engine* e) { return e->window.shape.chips * e->window.shape.ports; }

static uint64_t down_word(const struct icl_engine* e, uint32_t end) {
  const uint32_t ports = e->window.shape.ports;
  return atomic_load_explicit(&icl_port_words(&e->window, end / ports, end % ports)->last_down_ns, memory_order_relaxed);
}

static uint64_t beat_word(const struct icl_engine* e, uint32_t chip) {
  return atomic_load_explicit(&icl_chip_words(&e->window, chip)->beat_ns, memory_order_relaxed);
}

bool icl_apart_begin(struct icl_engine* e) {
  const uint32_t chips = e->window.shape.chips;
  if (!e->apart) return true;
  pthread_mutex_init(&e->seen_lock, NULL);
  e->seen_beat = calloc(chips, sizeof *e->seen_beat);
  e->silent_ticks = calloc(chips, sizeof *e->silent_ticks);
  e->seen_down = calloc(ends(e), sizeof *e->seen_down);
  if (e->seen_beat == NULL || e->silent_ticks == NULL || e->seen_down == NULL) return false;
  for (uint32_t chip = 0; chip < chips; chip++) e->seen_beat[chip] = beat_word(e, chip);
  for (uint32_t end = 0; end < ends(e); end++) e->seen_down[end].value = down_word(e, end);
  return true;
}

void icl_apart_end(struct icl_engine* e) {
  if (e->apart) pthread_mutex_destroy(&e->seen_lock);
  free(e->seen_beat);
  free(e->silent_ticks);
  free(e->seen_down);
}

void icl_apart_look_at_links(struct icl_engine* e) {
  pthread_mutex_lock(&e->seen_lock);
  const uint64_t now = icl_now_ns();
  for (uint32_t end = 0; end < ends(e); end++) {
    const uint64_t down = down_word(e, end);
    if (down != e->seen_down[end].value) e->seen_down[end] = (struct icl_seen){down, now};
  }
  pthread_mutex_unlock(&e->seen_lock);
}

void icl_apart_look(struct icl_engine* e) {
  for (uint32_t chip = 0; chip < e->window.shape.chips; chip++) {
    const uint64_t beat = beat_word(e, chip);
    if (beat != e->seen_beat[chip])
      e->silent_ticks[chip] = 0;
    else if (e->silent_ticks[chip] < UINT32_MAX)
      e->silent_ticks[chip]++;
    e->seen_beat[chip] = beat;
  }
  icl_apart_look_at_links(e);
}

uint64_t icl_down_ns(struct icl_engine* e, uint32_t chip, uint32_t port) {
  if (!e->apart || icl_owned_chip(e, chip) != NULL) return atomic_load(&icl_port_words(&e->window, chip, port)->last_down_ns);
  pthread_mutex_lock(&e->seen_lock);
  const uint64_t at_ns = e->seen_down[chip * e->window.shape.ports + port].at_ns;
  pthread_mutex_unlock(&e->seen_lock);
  return at_ns;
}
