/* A queue as the one who is asked: what may land here, and where. The tables of the own chip decide, nothing that a packet
 * says. Under the chip's lock. */
#include <stdatomic.h>
#include <string.h>

#include "engine.h"

static icl_status land(struct icl_chip_queue* q, const struct icl_packet* p, const unsigned char* payload) {
  struct icl_table* exports = &q->chip->exports;
  const struct icl_area *to = NULL, *signal = NULL;
  if (p->bytes > 0) {
    to = icl_area_find(exports, p->slot, p->nonce, ICL_WRITE, p->offset, p->bytes);
    if (to == NULL) return ICL_ERR_DENIED;
  }
  if ((p->flags & ICL_PACKET_SIGNALS) != 0) {
    signal = icl_area_find(exports, p->signal_slot, p->signal_nonce, ICL_SIGNAL, p->signal_offset, 8);
    if (signal == NULL || p->signal_offset % 8 != 0) return ICL_ERR_DENIED;
  }
  if (to != NULL) memcpy(to->base + p->offset, payload, p->bytes);
  if (signal != NULL) {
    atomic_fetch_add_explicit((_Atomic uint64_t*)(void*)(signal->base + p->signal_offset), p->add, memory_order_release);
    icl_ring_wake(q->ring);
  }
  return ICL_OK;
}

static icl_status keep_read(struct icl_chip_queue* q, const struct icl_packet* p) {
  if (icl_area_find(&q->chip->exports, p->slot, p->nonce, ICL_READ, p->offset, p->length) == NULL) return ICL_ERR_DENIED;
  if (p->length == 0) return ICL_OK;
  if (q->reads_tail - q->reads_head >= ICL_MAX_READS) return ICL_ERR_PROTOCOL;
  q->reads[q->reads_tail++ % ICL_MAX_READS] =
      (struct icl_read){.slot = p->slot, .request = p->request, .nonce = p->nonce, .offset = p->offset, .length = p->length};
  return ICL_OK;
}

icl_status icl_respond(struct icl_chip_queue* q, const struct icl_packet* p, const unsigned char* payload) {
  /* Links lose nothing and routes keep the order: a gap is what a link took with it when it went down. */
  if (p->sequence != q->expected) return ICL_ERR_LINK_DOWN;
  const icl_status status = p->kind == ICL_PACKET_READ ? keep_read(q, p) : land(q, p, payload);
  if (status != ICL_OK) return status;
  q->expected++;
  q->ack_due = true;
  icl_queue_schedule(q);
  return ICL_OK;
}

bool icl_respond_next(struct icl_chip_queue* q, struct icl_buffer* to) {
  struct icl_read* r = &q->reads[q->reads_head % ICL_MAX_READS];
  const uint32_t mtu = q->chip->engine->window.shape.mtu;
  const uint64_t left = r->length - r->sent;
  const uint32_t bytes = left < mtu ? (uint32_t)left : mtu;
  const struct icl_area* area = icl_area_find(&q->chip->exports, r->slot, r->nonce, ICL_READ, r->offset + r->sent, bytes);
  if (area == NULL) { /* revoked meanwhile */
    to->packet.kind = ICL_PACKET_REFUSED;
    to->packet.nonce = q->nonce;
    to->packet.status = ICL_ERR_DENIED;
    q->reads_head++;
    return true;
  }
  memcpy(to->payload, area->base + r->offset + r->sent, bytes);
  to->packet.bytes = bytes;
  to->packet.request = r->request;
  to->packet.offset = r->sent;
  r->sent += bytes;
  if (r->sent == r->length) q->reads_head++;
  return true;
}
