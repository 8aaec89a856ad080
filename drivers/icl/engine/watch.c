/* The thread that keeps watch, a device: it shows that this process lives, sees who else does, and fails queues whose way
 * is broken, or on which nothing moves. */
#include <stdio.h>
#include <time.h>

#include "engine.h"

#define LOOKS 64 /* chips whose owner the system is asked about, a tick: all 1024 in less than a second */

static void say(struct icl_engine* e, uint32_t chip, uint32_t kind) {
  icl_event_put(e, kind, chip, ICL_ANY, ICL_ANY, ICL_ANY);
}

static void look_at_chip(struct icl_engine* e, uint32_t chip) {
  const struct icl_chip_words* words = icl_chip_words(&e->window, chip);
  const uint32_t state = atomic_load(&words->state), incarnation = atomic_load(&words->incarnation);
  const uint32_t before = e->seen_state[chip];
  if (state != before && state == ICL_CHIP_RUNNING) say(e, chip, ICL_EVENT_CHIP_UP);
  if (state != before && (state == ICL_CHIP_DEAD || state == ICL_CHIP_LEFT)) say(e, chip, ICL_EVENT_CHIP_DEAD);
  if (state == before && incarnation != e->seen_incarnation[chip]) say(e, chip, ICL_EVENT_CHIP_RESET);
  e->seen_state[chip] = state;
  e->seen_incarnation[chip] = incarnation;
}

/* Who sees that the owner is gone, says so to all. */
static void look_for_dead(struct icl_engine* e) {
  for (uint32_t i = 0; e->owner_lives != NULL && i < LOOKS && i < e->base.chips; i++) {
    const uint32_t chip = e->next_to_look_at++ % e->base.chips;
    struct icl_chip_words* words = icl_chip_words(&e->window, chip);
    uint32_t running = ICL_CHIP_RUNNING;
    if (atomic_load(&words->state) != running || icl_owned_chip(e, chip) != NULL || e->owner_lives(e, chip)) continue;
    atomic_compare_exchange_strong(&words->state, &running, ICL_CHIP_DEAD);
  }
}

/* A fault on order, or another process took the chip: from now on it does nothing here. */
static void die(struct icl_chip* chip, bool lost) {
  pthread_mutex_lock(&chip->lock);
  atomic_store(&chip->dead, true);
  if (!lost) atomic_store(&chip->words->state, ICL_CHIP_DEAD);
  for (uint32_t i = 0; i < chip->engine->config.max_queues; i++)
    if (chip->queues[i] != NULL)
      icl_queue_fail(chip->queues[i], ICL_ERR_CHIP_DEAD, "chip %u, of this process, %s: open the device anew",
                     chip->number, lost ? "was silent, and another took it" : "is dead");
  pthread_mutex_unlock(&chip->lock);
}

static void beat(struct icl_chip* chip) {
  const bool lost = chip->engine->owns != NULL && !chip->engine->owns(chip->engine, chip->number);
  if (!chip->dead && (lost || atomic_load(&chip->words->kill) != 0)) die(chip, lost);
  if (chip->dead) return;
  atomic_store(&chip->words->beat_ns, icl_now_ns());
  if (atomic_load(&chip->words->state) != ICL_CHIP_RUNNING) atomic_store(&chip->words->state, ICL_CHIP_RUNNING);
}

/* Of a queue on which nothing moved: what can be seen of the reason. */
static void name_timeout(struct icl_chip_queue* q, char* text, size_t room) {
  const struct icl_window* w = &q->chip->engine->window;
  const uint32_t port = q->port == ICL_NO_PORT ? 0 : q->port;
  uint32_t far_chip = 0, far_port = 0;
  icl_window_far(w, q->chip->number, port, &far_chip, &far_port);
  if ((atomic_load(&q->chip->ports[port].doorbells[q->id / 64]) >> q->id % 64 & 1) != 0)
    snprintf(text, room, "the doorbell of chip %u port %u was rung, but its engine fetches nothing: reset the chip",
             q->chip->number, port);
  else if (q->port != ICL_NO_PORT && (atomic_load(&q->chip->ports[port].words->trained) & 0xff) != ICL_PORT_UP)
    snprintf(text, room, "the link of chip %u port %u to chip %u port %u is not up: was chip %u opened?", q->chip->number, port,
             far_chip, far_port, far_chip);
  else
    snprintf(text, room, "no answer by port %u, to chip %u port %u: is a chip on the way stuck, or do routes deadlock?", port,
             far_chip, far_port);
}

static void watch_progress(struct icl_chip_queue* q, uint64_t now) {
  const uint32_t done = atomic_load(&q->done);
  const uint64_t mark = (uint64_t)done << 32 | q->acked;
  const uint64_t got = q->work[done & (q->depth - 1)].got;
  const bool idle = done == atomic_load(&q->posted);
  const bool young = now < q->watched_since_ns; /* connected since this look at the chip began */
  if (idle || young || mark != q->watched || got != q->watched_got) {
    q->watched = mark;
    q->watched_got = got;
    q->watched_since_ns = now;
    return;
  }
  const uint64_t still = (now - q->watched_since_ns) / 1000000;
  char why[200];
  if (still < q->timeout_ms) return;
  name_timeout(q, why, sizeof why);
  icl_queue_fail(q, ICL_ERR_TIMEOUT, "nothing moved to chip %u for %llu ms: %s", q->peer.chip, (unsigned long long)still,
                 why);
}

static void watch_queue(struct icl_chip_queue* q, uint64_t now) {
  struct icl_engine* e = q->chip->engine;
  char why[240];
  icl_status status = icl_path_check(e, q->chip->number, q->peer.chip, q->connected_ns, why, sizeof why);
  if (status == ICL_OK) status = icl_path_check(e, q->peer.chip, q->chip->number, q->connected_ns, why, sizeof why);
  if (status == ICL_OK && atomic_load(&icl_chip_words(&e->window, q->peer.chip)->incarnation) != q->peer.incarnation) {
    status = ICL_ERR_CHIP_RESET;
    snprintf(why, sizeof why, "chip %u was reset since its ticket was made: connect new queues", q->peer.chip);
  }
  if (status != ICL_OK)
    icl_queue_fail(q, status, "to chip %u: %s", q->peer.chip, why);
  else
    watch_progress(q, now);
}

static void watch_chip(struct icl_chip* chip) {
  const uint64_t now = icl_now_ns();
  beat(chip);
  pthread_mutex_lock(&chip->lock);
  for (uint32_t i = 0; i < chip->engine->config.max_queues; i++)
    if (chip->queues[i] != NULL && atomic_load(&chip->queues[i]->state) == ICL_QUEUE_CONNECTED)
      watch_queue(chip->queues[i], now);
  pthread_mutex_unlock(&chip->lock);
}

void* icl_watch_run(void* argument) {
  struct icl_engine* e = argument;
  const struct timespec tick = {0, ICL_TICK_NS};
  while (atomic_load(&e->stop) == 0) {
    if (e->apart) icl_apart_look(e);
    for (uint32_t i = 0; i < e->owned; i++) watch_chip(&e->chips[i]);
    look_for_dead(e);
    for (uint32_t chip = 0; chip < e->base.chips; chip++) look_at_chip(e, chip);
    nanosleep(&tick, NULL);
  }
  return NULL;
}
