/* Completions: a ring that engines put to and the host takes from, without a lock on the host's side. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "objects.h"

static uint32_t turn_of(const struct icl_ring* r, uint64_t index) { return (uint32_t)(index / r->size) + 1; }

icl_status icl_ring_open(struct icl_device* device, uint32_t max_entries, struct icl_completions** completions) {
  uint32_t size = 64;
  while (size < max_entries) size *= 2;
  struct icl_ring* r = calloc(1, sizeof *r);
  struct icl_entry* entries = calloc(size, sizeof *entries);
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (r == NULL || entries == NULL || fd < 0) {
    free(r);
    free(entries);
    if (fd >= 0) close(fd);
    return fd < 0 ? icl_fail(ICL_ERR_SYSTEM, "no eventfd for completions: %s", strerror(errno))
                  : icl_fail(ICL_ERR_NO_MEMORY, "no memory for %u completions", size);
  }
  *r = (struct icl_ring){.base.driver = device->driver, .engine = icl_engine_of(device), .entries = entries, .size = size,
                         .fd = fd};
  pthread_mutex_init(&r->lock, NULL);
  atomic_fetch_add(&r->engine->objects, 1);
  *completions = &r->base;
  return ICL_OK;
}

void icl_ring_put(struct icl_ring* r, struct icl_chip_queue* queue, uint64_t cookie, icl_status status, bool failed) {
  pthread_mutex_lock(&r->lock);
  struct icl_entry* e = &r->entries[r->put % r->size];
  e->cookie = cookie;
  e->queue = queue;
  e->status = status;
  e->queue_failed = failed;
  queue->pushed++;
  atomic_store_explicit(&e->turn, turn_of(r, r->put++), memory_order_release);
  pthread_mutex_unlock(&r->lock);
}

void icl_ring_wake(struct icl_ring* r) {
  atomic_store_explicit(&r->happened, 1, memory_order_release);
  atomic_thread_fence(memory_order_seq_cst); /* what woke is visible before the flag is looked at: icl_arm */
  if (atomic_load_explicit(&r->armed, memory_order_relaxed) == 0 || atomic_exchange(&r->armed, 0) == 0) return;
  const uint64_t one = 1;
  const ssize_t written = write(r->fd, &one, sizeof one);
  (void)written; /* full: it is readable */
  atomic_store(&r->rung, 1); /* last, so that what was written is drained some time */
}

static bool any(const struct icl_ring* r) {
  return atomic_load_explicit(&r->entries[r->taken % r->size].turn, memory_order_acquire) == turn_of(r, r->taken);
}

static void settle(struct icl_chip_queue* q, const struct icl_entry* e) {
  q->taken++;
  if (e->queue_failed == 0) q->wanted--;
  if (q->closed && q->taken == q->pushed) icl_queue_dispose(q);
}

size_t icl_ring_poll(struct icl_completions* completions, struct icl_completion* out, size_t room) {
  struct icl_ring* r = (struct icl_ring*)(void*)completions;
  size_t n = 0;
  if (atomic_load_explicit(&r->armed, memory_order_relaxed) != 0) atomic_store(&r->armed, 0);
  /* An exchange: what happened before it is seen by whoever looks after this call. */
  if (atomic_load_explicit(&r->happened, memory_order_relaxed) != 0) atomic_exchange(&r->happened, 0);
  for (; n < room && any(r); n++, r->taken++) {
    const struct icl_entry* e = &r->entries[r->taken % r->size];
    out[n] = (struct icl_completion){e->cookie, e->status, e->queue_failed};
    settle(e->queue, e);
  }
  return n;
}

icl_status icl_ring_arm(struct icl_completions* completions) {
  struct icl_ring* r = (struct icl_ring*)(void*)completions;
  if (atomic_load(&r->rung) != 0) {
    uint64_t count;
    atomic_store(&r->rung, 0);
    const ssize_t drained = read(r->fd, &count, sizeof count);
    (void)drained;
  }
  atomic_store(&r->armed, 1);
  atomic_thread_fence(memory_order_seq_cst);
  if (!any(r) && atomic_load(&r->happened) == 0) return ICL_OK;
  atomic_store(&r->armed, 0);
  return ICL_ERR_AGAIN;
}

int icl_ring_fd(struct icl_completions* completions) { return ((struct icl_ring*)(void*)completions)->fd; }

icl_status icl_ring_close(struct icl_completions* completions) {
  struct icl_ring* r = (struct icl_ring*)(void*)completions;
  if (r->queues > 0) return icl_fail(ICL_ERR_BUSY, "%u queues complete to this ring still", r->queues);
  struct icl_completion lost;
  while (icl_ring_poll(completions, &lost, 1) > 0) continue;
  atomic_fetch_sub(&r->engine->objects, 1);
  close(r->fd);
  pthread_mutex_destroy(&r->lock);
  free(r->entries);
  free(r);
  return ICL_OK;
}
