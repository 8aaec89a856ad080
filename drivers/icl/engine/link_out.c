/* The sending end of a lane: go-back-N. What was sent is kept until the far end acknowledged it; when it asks again, or all
 * was taken from the lane and some is not acknowledged, everything since is sent again. */
#include <string.h>

#include "crc32c.h"
#include "engine.h"

#define AHEAD_NS UINT64_C(200000) /* the model sends so far ahead of time: threads are not woken for each packet */
#define LATE_NS UINT64_C(200000)  /* and makes up for that much sleep */
#define LOOK_NS UINT64_C(5000000)

/* Reads what the far end says; false: it says what cannot be. */
static bool take_acknowledgements(struct icl_port* p) {
  const bool all_taken = atomic_load(&p->out->head) == p->tail; /* before the next line: packets are taken after it */
  const uint64_t acked = atomic_load(&p->out->acked), naks = atomic_load(&p->out->naks);
  if ((uint32_t)(acked >> 32) != p->generation) return true;
  const uint32_t kept = p->next - p->unacked, more = (uint32_t)acked - p->unacked;
  if (more > kept) return false;
  if (p->resend - p->unacked < more) p->resend = (uint32_t)acked;
  p->unacked = (uint32_t)acked;
  const bool asked = (uint32_t)(naks >> 32) == p->generation && (uint32_t)naks != p->naks_seen;
  if (asked) p->naks_seen = (uint32_t)naks;
  if (asked || (all_taken && p->resend == p->next)) p->resend = p->unacked;
  return true;
}

/* Sets the flag that asks the far end for a wake; true when it was not set, so that the caller looks once more. */
static bool stall(struct icl_port* p) {
  if (p->stalled) return false;
  p->stalled = true;
  atomic_store(&p->out->stalled, 1);
  return true;
}

static void end_stall(struct icl_port* p) {
  if (!p->stalled) return;
  p->stalled = false;
  atomic_store(&p->out->stalled, 0);
}

/* When the last bit of `bytes` arrives, as the model says. */
static uint64_t due(struct icl_port* p, uint64_t bytes, uint64_t now) {
  const struct icl_shape* s = &p->chip->engine->window.shape;
  if (s->mbps == 0) return s->latency_ns == 0 ? 0 : now + s->latency_ns;
  if (p->free_ns + LATE_NS < now) p->free_ns = now - LATE_NS;
  p->free_ns += bytes * 8000 / ((uint64_t)s->mbps * p->quads_up);
  return p->free_ns + s->latency_ns;
}

/* A bit of the packet turns over now and then, if so ordered. */
static void disturb(struct icl_port* p, struct icl_slot* slot) {
  const uint32_t ppm = atomic_load_explicit(&p->words->errors_ppm, memory_order_relaxed);
  if (ppm == 0) return;
  if (p->errors_random == 0)
    p->errors_random = 1 + (uint64_t)atomic_load(&p->words->seed) * 0x9e3779b97f4a7c15u + p->chip->number * 64 + p->number;
  p->errors_random ^= p->errors_random << 13;
  p->errors_random ^= p->errors_random >> 7;
  p->errors_random ^= p->errors_random << 17;
  if (p->errors_random % 1000000 >= ppm) return;
  unsigned char* at = (unsigned char*)&slot->packet;
  at[(p->errors_random >> 32) % sizeof slot->packet] ^= 1;
}

static void transmit(struct icl_port* p, const struct icl_buffer* b, uint64_t now) {
  struct icl_slot* slot = icl_lane_slot(&p->chip->engine->window, p->out, p->tail);
  slot->due_ns = due(p, sizeof b->packet + b->packet.bytes, now);
  memcpy(&slot->packet, &b->packet, sizeof b->packet);
  memcpy(slot->payload, b->payload, b->packet.bytes);
  disturb(p, slot);
  atomic_store(&p->out->tail, ++p->tail);
  icl_port_call(p);
}

/* A new packet, sealed and kept. */
static bool take_packet(struct icl_port* p) {
  struct icl_buffer* b = icl_retry(p, p->next);
  pthread_mutex_lock(&p->chip->lock);
  const bool any = icl_switch_take(p, b);
  pthread_mutex_unlock(&p->chip->lock);
  if (!any) return false;
  b->packet.generation = p->generation;
  b->packet.link_sequence = p->next++;
  const uint32_t header = icl_crc32c(0, (unsigned char*)&b->packet + ICL_PACKET_CRC_FROM,
                                     sizeof b->packet - ICL_PACKET_CRC_FROM);
  b->packet.crc = icl_crc32c(header, b->payload, b->packet.bytes);
  ICL_COUNT(p, tx_packets, 1);
  ICL_COUNT(p, tx_bytes, sizeof b->packet + b->packet.bytes);
  return true;
}

static void no_later(uint64_t* next_ns, uint64_t ns) {
  if (ns < *next_ns) *next_ns = ns;
}

bool icl_link_send(struct icl_port* p, uint64_t now, uint64_t* next_ns) {
  if (p->state != ICL_PORT_UP || p->was_cut) {
    no_later(next_ns, now + LOOK_NS);
    return false;
  }
  if (!take_acknowledgements(p)) {
    atomic_store(&p->reset, 1); /* who acknowledges what was not sent is trained anew */
    return true;
  }
  if (p->next != p->unacked) no_later(next_ns, now + LOOK_NS);
  const bool full = p->tail - atomic_load(&p->out->head) >= ICL_SLOTS;
  if (full || (p->resend == p->next && p->next - p->unacked >= ICL_SLOTS)) return stall(p);
  if (p->free_ns > now + AHEAD_NS) {
    no_later(next_ns, p->free_ns - AHEAD_NS / 2);
    return false;
  }
  const bool again = p->resend != p->next;
  if (!again && !take_packet(p)) {
    const bool short_of_credits = p->short_of_credits;
    if (short_of_credits && stall(p)) {
      ICL_COUNT(p, credit_stalls, 1);
      return true;
    }
    return false;
  }
  end_stall(p);
  if (again) ICL_COUNT(p, retries, 1);
  transmit(p, icl_retry(p, p->resend), now);
  p->resend++;
  return true;
}
