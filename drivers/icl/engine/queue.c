/* The life of a queue: opened, connected, failed once, closed for good. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "objects.h"

static struct icl_chip_queue* own(struct icl_queue* queue) { return (struct icl_chip_queue*)(void*)queue; }

/* A free number, not the one freed last. */
static icl_status take_number(struct icl_chip* chip, struct icl_chip_queue* q) {
  const uint32_t most = chip->engine->config.max_queues;
  for (uint32_t i = 0; i < most; i++) {
    const uint32_t id = (chip->queue_hint + i) % most;
    if (chip->queues[id] != NULL) continue;
    chip->queue_hint = id + 1;
    chip->queues[id] = q;
    q->id = id;
    return ICL_OK;
  }
  return icl_fail(ICL_ERR_NO_MEMORY, "all %u queues of chip %u are open (icl_config.max_queues)", most, chip->number);
}

static icl_status check(struct icl_ring* ring, const struct icl_queue_config* c) {
  if (icl_owned_chip(ring->engine, c->chip < ring->engine->base.chips ? c->chip : 0) == NULL ||
      c->chip >= ring->engine->base.chips)
    return icl_fail(ICL_ERR_NO_DEVICE, "chip %u is not this device's", c->chip);
  if (c->depth > ICL_MAX_DEPTH) return icl_fail(ICL_ERR_INVALID, "a queue is at most %d deep", ICL_MAX_DEPTH);
  if (c->stream != NULL) return icl_fail(ICL_ERR_UNSUPPORTED, "this driver has no streams");
  if (c->depth + 1 > ring->size - ring->reserved)
    return icl_fail(ICL_ERR_NO_MEMORY, "completions: no room for %u more of %u", c->depth + 1, ring->size);
  return ICL_OK;
}

icl_status icl_queue_make(struct icl_completions* completions, const struct icl_queue_config* c, struct icl_queue** queue) {
  struct icl_ring* ring = (struct icl_ring*)(void*)completions;
  icl_status status = check(ring, c);
  if (status != ICL_OK) return status;
  struct icl_chip* chip = icl_owned_chip(ring->engine, c->chip);
  struct icl_chip_queue* q = calloc(1, sizeof *q);
  struct icl_work* work = calloc(c->depth, sizeof *work);
  if (q == NULL || work == NULL) {
    free(q);
    free(work);
    return icl_fail(ICL_ERR_NO_MEMORY, "no memory for a queue of %u descriptors", c->depth);
  }
  *q = (struct icl_chip_queue){.base.driver = completions->driver, .chip = chip, .ring = ring, .depth = c->depth,
                               .nonce = icl_nonce(), .cookie = c->cookie, .work = work, .timeout_ms = c->timeout_ms};
  pthread_mutex_lock(&chip->lock);
  status = take_number(chip, q);
  pthread_mutex_unlock(&chip->lock);
  if (status != ICL_OK) {
    free(work);
    free(q);
    return status;
  }
  const struct icl_ticket_fields fields = {chip->number, q->id, atomic_load(&chip->words->incarnation), q->nonce};
  icl_ticket_write(&fields, q->base.ticket);
  ring->reserved += c->depth + 1;
  ring->queues++;
  *queue = &q->base;
  return ICL_OK;
}

icl_status icl_queue_connect(struct icl_queue* queue, const void* peer_ticket) {
  struct icl_chip_queue* q = own(queue);
  const struct icl_window* w = &q->chip->engine->window;
  struct icl_ticket_fields peer;
  uint32_t port = ICL_NO_PORT, channel = 0, back_port, back_channel;
  const icl_status status = icl_ticket_read(peer_ticket, &peer);
  if (status != ICL_OK) return status;
  if (peer.chip >= w->shape.chips || peer.queue > UINT16_MAX)
    return icl_fail(ICL_ERR_INVALID, "this ticket is of chip %u, which is not in the pod", peer.chip);
  if (atomic_load(&q->state) != ICL_QUEUE_OPENED) return icl_fail(ICL_ERR_STATE, "the queue was connected before, or failed");
  if (peer.chip != q->chip->number && (!icl_window_route(w, q->chip->number, peer.chip, &port, &channel) ||
                                       !icl_window_route(w, peer.chip, q->chip->number, &back_port, &back_channel)))
    return icl_fail(ICL_ERR_UNREACHABLE, "no route between chip %u and chip %u", q->chip->number, peer.chip);
  if (q->chip->engine->apart) icl_apart_look_at_links(q->chip->engine);
  pthread_mutex_lock(&q->chip->lock);
  q->peer = peer;
  q->port = port;
  q->channel = channel;
  q->connected_ns = q->watched_since_ns = icl_now_ns();
  uint32_t opened = ICL_QUEUE_OPENED; /* a reset of the chip may have failed it meanwhile */
  atomic_compare_exchange_strong(&q->state, &opened, ICL_QUEUE_CONNECTED);
  pthread_mutex_unlock(&q->chip->lock);
  atomic_fetch_add(&q->chip->engine->connected, 1);
  q->counted = true;
  return ICL_OK;
}

uint32_t icl_queue_state_of(const struct icl_queue* queue) {
  const uint32_t state = atomic_load(&((const struct icl_chip_queue*)(const void*)queue)->state);
  return state == QUEUE_CLOSED ? (uint32_t)ICL_QUEUE_FAILED : state;
}

void icl_queue_why_of(const struct icl_queue* queue, char* text, size_t room) {
  const struct icl_chip_queue* q = (const struct icl_chip_queue*)(const void*)queue;
  if (atomic_load(&q->state) == ICL_QUEUE_FAILED) snprintf(text, room, "%s", q->why);
}

void icl_queue_flush(struct icl_chip_queue* q, icl_status first) {
  const uint32_t posted = atomic_load(&q->posted);
  for (uint32_t i = atomic_load(&q->done); i != posted; i++) {
    const struct icl_work* w = &q->work[i & (q->depth - 1)];
    if ((w->flags & ICL_WANT_COMPLETION) != 0) icl_ring_put(q->ring, q, w->cookie, first, false);
    first = ICL_ERR_FLUSHED;
  }
}

void icl_queue_fail(struct icl_chip_queue* q, icl_status status, const char* format, ...) {
  const uint32_t state = atomic_load(&q->state);
  if (state == ICL_QUEUE_FAILED || state == QUEUE_CLOSED) return;
  va_list args;
  va_start(args, format);
  vsnprintf(q->why, sizeof q->why, format, args);
  va_end(args);
  atomic_store(&q->state, ICL_QUEUE_FAILED);
  while (atomic_load(&q->posting) != 0) sched_yield(); /* icl_post, which saw it connected, is a few stores long */
  icl_queue_unlist(q);
  icl_queue_flush(q, status);
  icl_ring_put(q->ring, q, q->cookie, status, true);
  icl_ring_wake(q->ring);
}

void icl_queue_abort(struct icl_queue* queue) {
  struct icl_chip_queue* q = own(queue);
  pthread_mutex_lock(&q->chip->lock);
  icl_queue_fail(q, ICL_ERR_ABORTED, "aborted by icl_abort");
  pthread_mutex_unlock(&q->chip->lock);
}

void icl_queue_dispose(struct icl_chip_queue* q) {
  q->ring->reserved -= q->depth + 1;
  free(q->work);
  free(q);
}

void icl_queue_end(struct icl_queue* queue) {
  struct icl_chip_queue* q = own(queue);
  pthread_mutex_lock(&q->chip->lock);
  if (atomic_load(&q->state) != ICL_QUEUE_FAILED) {
    atomic_store(&q->state, QUEUE_CLOSED);
    icl_queue_unlist(q);
    icl_queue_flush(q, ICL_ERR_FLUSHED);
  }
  q->chip->queues[q->id] = NULL;
  pthread_mutex_unlock(&q->chip->lock);
  if (q->counted) atomic_fetch_sub(&q->chip->engine->connected, 1);
  while (q->remotes != NULL) icl_queue_forget(&q->remotes->base);
  q->ring->queues--;
  q->closed = true;
  icl_ring_wake(q->ring);
  if (q->taken == q->pushed) icl_queue_dispose(q);
}
