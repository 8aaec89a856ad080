/* The receiving end of a lane: takes packets in sequence whose CRC holds, and asks for the others again. */
#include <string.h>

#include "crc32c.h"
#include "engine.h"

static void tell_sender(struct icl_port* p) {
  atomic_thread_fence(memory_order_seq_cst);
  if (atomic_load(&p->in->stalled) != 0) icl_port_call(p);
}

static void ask_again(struct icl_port* p) {
  p->nak_open = true;
  atomic_store(&p->in->naks, (uint64_t)p->generation << 32 | ++p->naks_sent);
  icl_port_call(p);
}

/* Copies the packet out of the window first: what was checked cannot change any more. */
static bool copy_checked(struct icl_port* p, const struct icl_slot* slot, struct icl_buffer* to) {
  memcpy(&to->packet, &slot->packet, sizeof to->packet);
  const uint32_t bytes = to->packet.bytes;
  if (bytes > p->chip->engine->window.shape.mtu) return false;
  memcpy(to->payload, slot->payload, bytes);
  const uint32_t header = icl_crc32c(0, (unsigned char*)&to->packet + ICL_PACKET_CRC_FROM,
                                     sizeof to->packet - ICL_PACKET_CRC_FROM);
  return icl_crc32c(header, to->payload, bytes) == to->packet.crc;
}

/* A packet in sequence: it is for this chip, or for another. */
static void deliver(struct icl_port* p) {
  const struct icl_packet* packet = &p->arrived->packet;
  ICL_COUNT(p, rx_packets, 1);
  ICL_COUNT(p, rx_bytes, sizeof *packet + packet->bytes);
  if (packet->channel >= p->chip->engine->window.shape.channels) {
    ICL_COUNT(p, dropped, 1);
    return;
  }
  pthread_mutex_lock(&p->chip->lock);
  if (packet->to_chip == p->chip->number) {
    icl_chip_take(p->chip, p->arrived);
    icl_switch_free(p, packet->channel);
  } else {
    icl_switch_put(p, p->arrived);
  }
  pthread_mutex_unlock(&p->chip->lock);
}

static void receive(struct icl_port* p, const struct icl_slot* slot) {
  if (!copy_checked(p, slot, p->arrived)) {
    ICL_COUNT(p, crc_errors, 1);
    ask_again(p);
    return;
  }
  const struct icl_packet* packet = &p->arrived->packet;
  if (packet->generation != p->generation) return;
  const int32_t ahead = (int32_t)(packet->link_sequence - p->expected);
  if (ahead > 0 && !p->nak_open) ask_again(p);
  if (ahead != 0) return;
  p->nak_open = false;
  p->expected++;
  deliver(p);
}

bool icl_link_receive(struct icl_port* p, uint64_t now, uint64_t* next_ns) {
  const uint64_t tail = atomic_load(&p->in->tail);
  if (tail == p->head) return false;
  if (tail - p->head > ICL_SLOTS || p->was_cut) { /* nonsense, or lost on the wire */
    p->head = tail;
    atomic_store(&p->in->head, tail);
    return true;
  }
  const struct icl_slot* slot = icl_lane_slot(&p->chip->engine->window, p->in, p->head);
  uint64_t due;
  memcpy(&due, &slot->due_ns, sizeof due);
  const bool apart = p->chip->engine->apart; /* its time is of another clock */
  if (!apart && due > now && due - now < 2000000000u) { /* no link is as slow as that */
    if (due < *next_ns) *next_ns = due;
    return false;
  }
  receive(p, slot);
  /* First what was acknowledged, then that it was taken: the sender relies on it. */
  atomic_store(&p->in->acked, (uint64_t)p->generation << 32 | p->expected);
  atomic_store(&p->in->head, ++p->head);
  tell_sender(p);
  return true;
}
