/* A queue as the one who asks: descriptors become packets, answers become completions. Under the chip's lock. */
#include <string.h>

#include "engine.h"

static struct icl_work* work_at(const struct icl_chip_queue* q, uint32_t index) { return &q->work[index & (q->depth - 1)]; }

static void address(const struct icl_chip_queue* q, struct icl_packet* packet, uint8_t kind) {
  *packet = (struct icl_packet){.kind = kind, .from_chip = (uint16_t)q->chip->number, .from_queue = (uint16_t)q->id,
                                .to_chip = (uint16_t)q->peer.chip, .to_queue = (uint16_t)q->peer.queue,
                                .to_nonce = q->peer.nonce};
}

static bool write_packet(struct icl_chip_queue* q, struct icl_work* w, struct icl_buffer* to) {
  const uint32_t mtu = q->chip->engine->window.shape.mtu;
  const uint64_t left = w->bytes - q->sent;
  const uint32_t bytes = left < mtu ? (uint32_t)left : mtu;
  const unsigned char* from = w->data; /* one packet: no MTU is smaller */
  if (bytes > 0 && (w->flags & ICL_INLINE) == 0) {
    const struct icl_area* area = icl_area_find(&q->chip->memory, w->local_slot, w->local_nonce, 0,
                                                w->local_offset + q->sent, bytes);
    if (area == NULL) {
      icl_queue_fail(q, ICL_ERR_DENIED, "memory of chip %u was freed while a write from it was under way", q->chip->number);
      return false;
    }
    from = area->base + w->local_offset + q->sent;
  }
  if (bytes > 0) memcpy(to->payload, from, bytes);
  to->packet.bytes = bytes;
  to->packet.slot = w->remote_slot;
  to->packet.nonce = w->remote_nonce;
  to->packet.offset = w->remote_offset + q->sent;
  q->sent += bytes;
  if (q->sent < w->bytes || w->signal_slot == UINT32_MAX) return true;
  to->packet.flags = ICL_PACKET_SIGNALS;
  to->packet.signal_slot = w->signal_slot;
  to->packet.signal_nonce = w->signal_nonce;
  to->packet.signal_offset = w->signal_offset;
  to->packet.add = w->add;
  return true;
}

static void read_packet(struct icl_chip_queue* q, struct icl_work* w, struct icl_buffer* to) {
  to->packet.slot = w->remote_slot;
  to->packet.nonce = w->remote_nonce;
  to->packet.offset = w->remote_offset;
  to->packet.length = w->bytes;
  to->packet.request = q->fetched;
  q->sent = w->bytes;
  if (w->bytes > 0) q->reads_open++;
}

static bool request_packet(struct icl_chip_queue* q, struct icl_buffer* to) {
  struct icl_work* w = work_at(q, q->fetched);
  address(q, &to->packet, w->verb == ICL_VERB_READ ? ICL_PACKET_READ : ICL_PACKET_WRITE);
  if (q->sent == 0) w->got = 0;
  if (w->verb == ICL_VERB_READ)
    read_packet(q, w, to);
  else if (!write_packet(q, w, to))
    return false;
  to->packet.sequence = q->sequence++;
  if (q->sent < w->bytes) return true;
  w->end = q->sequence;
  q->sent = 0;
  q->fetched++;
  return true;
}

bool icl_queue_next_packet(struct icl_chip_queue* q, struct icl_buffer* to) {
  if (q->ack_due) {
    address(q, &to->packet, ICL_PACKET_ACK);
    to->packet.sequence = q->expected;
    q->ack_due = false;
    return true;
  }
  if (q->reads_head != q->reads_tail) {
    address(q, &to->packet, ICL_PACKET_DATA);
    return icl_respond_next(q, to);
  }
  return request_packet(q, to);
}

void icl_queue_advance(struct icl_chip_queue* q) {
  uint32_t done = atomic_load_explicit(&q->done, memory_order_relaxed);
  const uint32_t before = done;
  while (done != q->fetched) {
    const struct icl_work* w = work_at(q, done);
    if ((int32_t)(q->acked - w->end) < 0 || (w->verb == ICL_VERB_READ && w->got < w->bytes)) break;
    if ((w->flags & ICL_WANT_COMPLETION) != 0) icl_ring_put(q->ring, q, w->cookie, ICL_OK, false);
    atomic_store(&q->done, ++done);
  }
  if (done != before) icl_ring_wake(q->ring);
}

/* An answer that no healthy peer gives. */
static void broken(struct icl_chip_queue* q, const char* what) {
  icl_queue_fail(q, ICL_ERR_PROTOCOL, "chip %u queue %u %s: reset it, or look at its driver", q->peer.chip, q->peer.queue,
                 what);
}

static void take_ack(struct icl_chip_queue* q, const struct icl_packet* p) {
  if (p->sequence - q->acked > q->sequence - q->acked) {
    broken(q, "acknowledged what was not sent");
    return;
  }
  q->acked = p->sequence;
  icl_queue_advance(q);
}

static void take_data(struct icl_chip_queue* q, const struct icl_packet* p, const unsigned char* payload) {
  const uint32_t done = atomic_load_explicit(&q->done, memory_order_relaxed);
  struct icl_work* w = work_at(q, p->request);
  if (p->request - done >= q->fetched - done || w->verb != ICL_VERB_READ || p->offset != w->got ||
      p->bytes > w->bytes - w->got || p->bytes == 0) {
    broken(q, "answered a read that was not asked for");
    return;
  }
  const struct icl_area* area = icl_area_find(&q->chip->memory, w->local_slot, w->local_nonce, 0, w->local_offset + w->got,
                                              p->bytes);
  if (area == NULL) {
    icl_queue_fail(q, ICL_ERR_DENIED, "memory of chip %u was freed while a read into it was under way", q->chip->number);
    return;
  }
  memcpy(area->base + w->local_offset + w->got, payload, p->bytes);
  w->got += p->bytes;
  if (w->got < w->bytes) return;
  q->reads_open--;
  icl_queue_advance(q);
  icl_queue_schedule(q);
}

static void take_refusal(struct icl_chip_queue* q, const struct icl_packet* p) {
  const char* why = "does not exist any more, or is not connected to this one";
  icl_status status = ICL_ERR_REFUSED;
  if (p->nonce != q->peer.nonce) return; /* not from who knows the queue */
  if (p->status == ICL_ERR_DENIED) why = "says that the key was revoked, or does not give the right";
  if (p->status == ICL_ERR_LINK_DOWN) why = "misses packets, which a link lost on the way; connect new queues";
  if (p->status == ICL_ERR_PROTOCOL) why = "says that this end broke the protocol: look at this chip's driver";
  if (p->status == ICL_ERR_DENIED || p->status == ICL_ERR_LINK_DOWN || p->status == ICL_ERR_PROTOCOL) status = p->status;
  icl_queue_fail(q, status, "chip %u queue %u %s", q->peer.chip, q->peer.queue, why);
}

static void refuse(struct icl_chip* chip, const struct icl_packet* p, icl_status status) {
  if (chip->refusals_tail - chip->refusals_head >= ICL_REFUSALS) return; /* whoever floods, waits for a timeout */
  chip->refusals[chip->refusals_tail++ % ICL_REFUSALS] = (struct icl_packet){
      .kind = ICL_PACKET_REFUSED, .from_chip = (uint16_t)chip->number, .to_chip = p->from_chip, .from_queue = p->to_queue,
      .to_queue = p->from_queue, .nonce = p->to_nonce, .status = status};
  for (uint32_t i = 0; i < chip->engine->window.shape.ports; i++)
    if (chip->ports[i].started) icl_port_wake(&chip->ports[i]);
}

void icl_chip_take(struct icl_chip* chip, const struct icl_buffer* arrived) {
  const struct icl_packet* p = &arrived->packet;
  struct icl_chip_queue* q = p->to_queue < chip->engine->config.max_queues ? chip->queues[p->to_queue] : NULL;
  const bool request = p->kind == ICL_PACKET_WRITE || p->kind == ICL_PACKET_READ;
  const bool known = q != NULL && atomic_load_explicit(&q->state, memory_order_relaxed) == ICL_QUEUE_CONNECTED &&
                     q->peer.chip == p->from_chip && q->peer.queue == p->from_queue &&
                     (q->nonce == p->to_nonce || p->kind == ICL_PACKET_REFUSED);
  if (!known) {
    if (request && p->from_chip < chip->engine->window.shape.chips) refuse(chip, p, ICL_ERR_REFUSED);
    return;
  }
  if (request) {
    const icl_status status = icl_respond(q, p, arrived->payload);
    if (status != ICL_OK) refuse(chip, p, status);
    return;
  }
  if (p->kind == ICL_PACKET_ACK) take_ack(q, p);
  if (p->kind == ICL_PACKET_DATA) take_data(q, p, arrived->payload);
  if (p->kind == ICL_PACKET_REFUSED) take_refusal(q, p);
}

bool icl_chip_loop(struct icl_chip* chip, struct icl_buffer* scratch) {
  pthread_mutex_lock(&chip->lock);
  struct icl_chip_queue* q = chip->first;
  bool any = false;
  if (chip->refusals_head != chip->refusals_tail &&
      chip->refusals[chip->refusals_head % ICL_REFUSALS].to_chip == chip->number) {
    scratch->packet = chip->refusals[chip->refusals_head++ % ICL_REFUSALS];
    any = true;
  } else if (q != NULL) {
    icl_queue_unlist(q);
    any = icl_queue_has_packet(q) && icl_queue_next_packet(q, scratch);
    icl_queue_enlist(q);
  }
  if (any) icl_chip_take(chip, scratch);
  pthread_mutex_unlock(&chip->lock);
  return any || q != NULL;
}
