/* How a link comes up, and goes down.
 *
 * Each end shows a generation and a state. A generation begins with both ends' sequences and credits at zero, and nothing of another
 * one is taken. An end that loses the link adds one; the lower end takes the higher one's; when both show the same, the link
 * is up. A loss that ends within the pod's limit changes nothing: packets are sent again. */
#include <string.h>

#include "engine.h"

bool icl_port_is_cut(const struct icl_port* port, uint64_t now) {
  return atomic_load_explicit(&port->words->cut_until_ns, memory_order_relaxed) > now;
}

static void show(struct icl_port* p, uint32_t state) {
  p->state = state;
  atomic_store(&p->words->trained, (uint64_t)p->generation << 8 | state);
  icl_port_call(p);
}

/* Nothing sent, nothing received, all room free: of `generation`. */
static void begin(struct icl_port* p, uint32_t generation) {
  pthread_mutex_lock(&p->chip->lock);
  p->generation = generation;
  p->next = p->unacked = p->resend = p->expected = 0;
  p->naks_seen = p->naks_sent = 0;
  p->nak_open = p->stalled = false;
  memset(p->used, 0, sizeof p->used);
  memset(p->freed, 0, sizeof p->freed);
  const uint64_t zero = (uint64_t)generation << 32;
  icl_switch_flush(p);
  for (uint32_t c = 0; c < ICL_MAX_CHANNELS; c++) atomic_store(&p->in->freed[c], zero);
  atomic_store(&p->in->naks, zero);
  atomic_store(&p->in->acked, zero);
  atomic_store(&p->words->begun_ns, icl_now_ns());
  pthread_mutex_unlock(&p->chip->lock);
}

/* `when_ns`: queues that were connected later have lost nothing. */
static void lose(struct icl_port* p, uint64_t when_ns, uint32_t state) {
  ICL_COUNT(p, downs, 1);
  atomic_store(&p->words->last_down_ns, when_ns);
  icl_event_put(p->chip->engine, ICL_EVENT_LINK_DOWN, p->chip->number, p->number, p->far_chip, p->far_port);
  begin(p, p->generation + 1);
  show(p, state);
}

/* Follows cuts: true once the link is lost for longer than the limit. */
static bool cut_too_long(struct icl_port* p, uint64_t now) {
  const bool cut = icl_port_is_cut(p, now);
  const uint64_t limit_ns = p->chip->engine->window.shape.limit_ms * UINT64_C(1000000);
  if (cut && !p->was_cut) p->cut_since_ns = now;
  if (!cut && p->was_cut && p->state == ICL_PORT_UP) ICL_COUNT(p, flaps, 1);
  p->was_cut = cut;
  return cut && now - p->cut_since_ns > limit_ns;
}

static void follow_quads(struct icl_port* p) {
  const uint32_t quads = p->chip->engine->window.shape.quads;
  const uint32_t cut = atomic_load_explicit(&p->words->quads_cut, memory_order_relaxed);
  const uint32_t up = cut < quads ? quads - cut : 1; /* losing the last one is a cut, not a degradation */
  if (up == p->quads_up) return;
  if (up < p->quads_up)
    icl_event_put(p->chip->engine, ICL_EVENT_LINK_DEGRADED, p->chip->number, p->number, p->far_chip, p->far_port);
  p->quads_up = up;
  atomic_store(&p->words->quads_up, up);
}

static void train_up(struct icl_port* p, bool far_runs, uint32_t far_generation, uint32_t far_state) {
  if (!far_runs) return;
  if ((int32_t)(far_generation - p->generation) > 0) {
    begin(p, far_generation);
    show(p, ICL_PORT_TRAINING);
  }
  if (far_generation != p->generation || (far_state != ICL_PORT_TRAINING && far_state != ICL_PORT_UP)) return;
  show(p, ICL_PORT_UP);
  icl_event_put(p->chip->engine, ICL_EVENT_LINK_UP, p->chip->number, p->number, p->far_chip, p->far_port);
}

static void hold_up(struct icl_port* p, bool far_runs, uint32_t far_generation, bool cut, uint64_t now) {
  const bool reset = atomic_exchange(&p->reset, 0) != 0;
  if (cut || !far_runs) {
    lose(p, now, ICL_PORT_DOWN);
  } else if (reset) {
    lose(p, now, ICL_PORT_TRAINING);
  } else if (far_generation != p->generation) { /* the far end lost the link, or is another process's now: since when? */
    const uint64_t begun = p->chip->engine->apart ? 0 : atomic_load(&p->far_words->begun_ns);
    lose(p, begun != 0 && begun < now ? begun : now, ICL_PORT_TRAINING);
  }
}

bool icl_train(struct icl_port* p, uint64_t now) {
  if (p->far_chip == ICL_ANY) return false;
  const struct icl_window* w = &p->chip->engine->window;
  const uint64_t far = atomic_load(&p->far_words->trained);
  const uint32_t far_generation = (uint32_t)(far >> 8), far_state = far & 0xff;
  const bool far_runs = atomic_load(&icl_chip_words(w, p->far_chip)->state) == ICL_CHIP_RUNNING;
  const bool cut = cut_too_long(p, now);
  follow_quads(p);
  if (p->state == ICL_PORT_UP) hold_up(p, far_runs, far_generation, cut, now);
  if (p->state == ICL_PORT_DOWN && far_runs && !p->was_cut) show(p, ICL_PORT_TRAINING);
  if (p->state == ICL_PORT_TRAINING && !p->was_cut) train_up(p, far_runs, far_generation, far_state);
  if (p->state == ICL_PORT_DOWN) {
    pthread_mutex_lock(&p->chip->lock);
    icl_switch_drop(p);
    pthread_mutex_unlock(&p->chip->lock);
  }
  return p->state == ICL_PORT_UP;
}
