/* The host's side of a descriptor ring. */
#include <stdlib.h>
#include <string.h>

#include "objects.h"

icl_status icl_queue_import(struct icl_queue* queue, const void* key, struct icl_remote** remote) {
  struct icl_chip_queue* q = (struct icl_chip_queue*)(void*)queue;
  struct icl_key_fields fields;
  const icl_status status = icl_key_read(key, &fields);
  if (status != ICL_OK) return status;
  if (atomic_load(&q->state) == ICL_QUEUE_OPENED) return icl_fail(ICL_ERR_STATE, "import: the queue is not connected yet");
  if (fields.chip != q->peer.chip)
    return icl_fail(ICL_ERR_INVALID, "this key is of chip %u; the queue's peer is chip %u", fields.chip, q->peer.chip);
  struct icl_chip_remote* r = calloc(1, sizeof *r);
  if (r == NULL) return icl_fail(ICL_ERR_NO_MEMORY, "no memory for a handle");
  *r = (struct icl_chip_remote){.base = {queue->driver, queue, fields.bytes, fields.rights}, .slot = fields.slot,
                                .nonce = fields.nonce, .next = q->remotes, .before = &q->remotes};
  if (r->next != NULL) r->next->before = &r->next;
  q->remotes = r;
  *remote = &r->base;
  return ICL_OK;
}

void icl_queue_forget(struct icl_remote* remote) {
  struct icl_chip_remote* r = (struct icl_chip_remote*)(void*)remote;
  *r->before = r->next;
  if (r->next != NULL) r->next->before = r->before;
  free(r);
}

static bool lies_in(uint64_t offset, uint64_t bytes, uint64_t all) { return offset <= all && bytes <= all - offset; }

static icl_status check_signal(const struct icl_chip_queue* q, const struct icl_descriptor* d) {
  if (d->signal == NULL)
    return d->verb == ICL_VERB_SIGNAL ? icl_fail(ICL_ERR_INVALID, "a signal needs a remote semaphore") : ICL_OK;
  if (d->verb == ICL_VERB_READ) return icl_fail(ICL_ERR_INVALID, "a read signals nothing");
  if (d->signal->queue != &q->base) return icl_fail(ICL_ERR_INVALID, "the semaphore was imported on another queue");
  if (!lies_in(d->signal_offset, 8, d->signal->bytes) || d->signal_offset % 8 != 0)
    return icl_fail(ICL_ERR_INVALID, "there is no semaphore at %llu of %llu bytes", (unsigned long long)d->signal_offset,
                    (unsigned long long)d->signal->bytes);
  if ((d->signal->rights & ICL_SIGNAL) == 0) return icl_fail(ICL_ERR_DENIED, "the key does not give the right to signal");
  return ICL_OK;
}

static icl_status check_local(const struct icl_chip_queue* q, const struct icl_descriptor* d) {
  if ((d->flags & ICL_INLINE) != 0) {
    if (d->verb != ICL_VERB_WRITE || d->bytes > ICL_INLINE_BYTES || d->inline_data == NULL)
      return icl_fail(ICL_ERR_INVALID, "inline: writes of up to %d bytes", ICL_INLINE_BYTES);
    return ICL_OK;
  }
  if (d->local == NULL || d->local->device != &q->chip->engine->base || d->local->chip != q->chip->number)
    return icl_fail(ICL_ERR_INVALID, "local memory is of the queue's chip %u", q->chip->number);
  return lies_in(d->local_offset, d->bytes, d->local->bytes)
             ? ICL_OK
             : icl_fail(ICL_ERR_INVALID, "%llu bytes at %llu do not lie in local memory of %llu", (unsigned long long)d->bytes,
                        (unsigned long long)d->local_offset, (unsigned long long)d->local->bytes);
}

static icl_status check_remote(const struct icl_chip_queue* q, const struct icl_descriptor* d) {
  if (d->remote == NULL || d->remote->queue != &q->base)
    return icl_fail(ICL_ERR_INVALID, "remote memory is what was imported on this queue");
  if (!lies_in(d->remote_offset, d->bytes, d->remote->bytes))
    return icl_fail(ICL_ERR_INVALID, "%llu bytes at %llu do not lie in remote memory of %llu", (unsigned long long)d->bytes,
                    (unsigned long long)d->remote_offset, (unsigned long long)d->remote->bytes);
  const uint32_t right = d->verb == ICL_VERB_READ ? ICL_READ : ICL_WRITE;
  if ((d->remote->rights & right) == 0)
    return icl_fail(ICL_ERR_DENIED, "the key does not give the right to %s", right == ICL_READ ? "read" : "write");
  return ICL_OK;
}

static icl_status check(const struct icl_chip_queue* q, const struct icl_descriptor* d) {
  if (d->verb < ICL_VERB_WRITE || d->verb > ICL_VERB_SIGNAL || (d->flags & ~3u) != 0 ||
      (d->verb == ICL_VERB_SIGNAL && d->bytes != 0) || d->bytes > ICL_MAX_TRANSFER)
    return icl_fail(ICL_ERR_INVALID, "no such descriptor: verb %u, flags %u, %llu bytes", d->verb, d->flags,
                    (unsigned long long)d->bytes);
  icl_status status = check_signal(q, d);
  if (status != ICL_OK || (d->bytes == 0 && d->verb != ICL_VERB_READ)) return status;
  status = check_local(q, d);
  return status != ICL_OK ? status : check_remote(q, d);
}

static void fill(struct icl_work* w, const struct icl_descriptor* d) {
  const struct icl_chip_memory* local = (const struct icl_chip_memory*)(const void*)d->local;
  const struct icl_chip_remote* remote = (const struct icl_chip_remote*)(const void*)d->remote;
  const struct icl_chip_remote* signal = (const struct icl_chip_remote*)(const void*)d->signal;
  w->verb = (uint8_t)d->verb;
  w->flags = (uint8_t)d->flags;
  w->bytes = d->bytes;
  w->cookie = d->cookie;
  w->signal_slot = UINT32_MAX;
  if ((d->flags & ICL_INLINE) != 0 && d->bytes > 0) {
    memcpy(w->data, d->inline_data, d->bytes);
  } else if (local != NULL) {
    w->local_slot = local->slot;
    w->local_nonce = local->nonce;
    w->local_offset = d->local_offset;
  }
  if (remote != NULL) {
    w->remote_slot = remote->slot;
    w->remote_nonce = remote->nonce;
    w->remote_offset = d->remote_offset;
  }
  if (signal == NULL) return;
  w->signal_slot = signal->slot;
  w->signal_nonce = signal->nonce;
  w->signal_offset = d->signal_offset;
  w->add = d->add;
}

static void ring_doorbell(struct icl_chip_queue* q) {
  struct icl_port* port = &q->chip->ports[q->port == ICL_NO_PORT ? 0 : q->port];
  atomic_fetch_or(&port->doorbells[q->id / 64], UINT64_C(1) << q->id % 64);
  icl_port_wake(port);
}

static icl_status take(struct icl_chip_queue* q, const struct icl_descriptor* descriptors, size_t count, size_t* taken) {
  uint32_t posted = atomic_load_explicit(&q->posted, memory_order_relaxed);
  const uint32_t done = atomic_load_explicit(&q->done, memory_order_acquire);
  icl_status status = ICL_OK;
  size_t n = 0;
  for (; n < count && posted - done < q->depth; n++, posted++) {
    const bool wanted = (descriptors[n].flags & ICL_WANT_COMPLETION) != 0;
    if (wanted && q->wanted >= q->depth) break;
    status = check(q, &descriptors[n]);
    if (status != ICL_OK) break;
    fill(&q->work[posted & (q->depth - 1)], &descriptors[n]);
    q->wanted += wanted;
  }
  atomic_store_explicit(&q->posted, posted, memory_order_release);
  *taken = n;
  return status;
}

/* `posting` keeps a failure from flushing the ring in between: it waits until we are out (icl_queue_fail). */
icl_status icl_queue_post(struct icl_queue* queue, const struct icl_descriptor* descriptors, size_t count, size_t* taken) {
  struct icl_chip_queue* q = (struct icl_chip_queue*)(void*)queue;
  atomic_store(&q->posting, 1);
  const bool connected = atomic_load(&q->state) == ICL_QUEUE_CONNECTED;
  const icl_status status = connected ? take(q, descriptors, count, taken) : ICL_ERR_STATE;
  atomic_store_explicit(&q->posting, 0, memory_order_release);
  if (*taken > 0) ring_doorbell(q);
  if (!connected) return icl_fail(ICL_ERR_STATE, "the queue is not connected, or failed: icl_queue_why says why");
  return status;
}
