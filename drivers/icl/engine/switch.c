/* Packets that pass through a chip. They keep their room on the channel by which they came until the next channel has room
 * for them: what routes must not let close in a circle (icl_route.h). */
#include <string.h>

#include "engine.h"

static struct icl_buffer* buffer(const struct icl_port* p, uint32_t channel, uint32_t index) {
  const struct icl_shape* s = &p->chip->engine->window.shape;
  const size_t size = (sizeof(struct icl_buffer) + s->mtu + 63) / 64 * 64;
  return (struct icl_buffer*)(void*)(p->fifo[channel].buffers + index % s->credits * size);
}

void icl_switch_free(struct icl_port* p, uint32_t channel) {
  atomic_store(&p->in->freed[channel], (uint64_t)p->generation << 32 | ++p->freed[channel]);
  if (atomic_load(&p->in->stalled) != 0) icl_port_call(p);
}

void icl_switch_put(struct icl_port* p, const struct icl_buffer* arrived) {
  const struct icl_window* w = &p->chip->engine->window;
  const uint32_t channel = arrived->packet.channel;
  struct icl_fifo* fifo = &p->fifo[channel];
  uint32_t port, next_channel;
  if (fifo->tail - fifo->head >= w->shape.credits) { /* sent without credit */
    ICL_COUNT(p, dropped, 1);
    return;
  }
  if (!icl_window_route(w, p->chip->number, arrived->packet.to_chip, &port, &next_channel)) {
    ICL_COUNT(p, dropped, 1);
    icl_switch_free(p, channel);
    return;
  }
  struct icl_buffer* kept = buffer(p, channel, fifo->tail++);
  kept->packet = arrived->packet;
  memcpy(kept->payload, arrived->payload, arrived->packet.bytes);
  kept->out_port = port;
  kept->out_channel = next_channel;
  ICL_COUNT(p, forwarded, 1);
  icl_port_wake(&p->chip->ports[port]);
}

bool icl_port_has_credit(struct icl_port* p, uint32_t channel) {
  const uint64_t word = atomic_load(&p->out->freed[channel]);
  const uint32_t freed = (uint32_t)(word >> 32) == p->generation ? (uint32_t)word : 0;
  /* More freed than used makes a large number: no credit. */
  const bool has = p->used[channel] - freed < p->chip->engine->window.shape.credits;
  if (!has) p->short_of_credits = true;
  return has;
}

static void stamp(struct icl_port* p, struct icl_buffer* to, uint32_t channel) {
  to->packet.channel = (uint8_t)channel;
  p->used[channel]++;
}

static bool take_passing(struct icl_port* p, uint32_t index, struct icl_buffer* to) {
  const uint32_t channels = p->chip->engine->window.shape.channels;
  struct icl_port* in = &p->chip->ports[index / channels];
  struct icl_fifo* fifo = &in->fifo[index % channels];
  if (fifo->head == fifo->tail) return false;
  const struct icl_buffer* first = buffer(in, index % channels, fifo->head);
  if (first->out_port != p->number || !icl_port_has_credit(p, first->out_channel)) return false;
  to->packet = first->packet;
  memcpy(to->payload, first->payload, first->packet.bytes);
  if (to->packet.hops < UINT8_MAX) to->packet.hops++;
  stamp(p, to, first->out_channel);
  fifo->head++;
  icl_switch_free(in, index % channels);
  /* Who stands behind it may leave by another port. */
  if (fifo->head != fifo->tail) icl_port_wake(&p->chip->ports[buffer(in, index % channels, fifo->head)->out_port]);
  return true;
}

static bool take_refusal(struct icl_port* p, struct icl_buffer* to) {
  struct icl_chip* chip = p->chip;
  uint32_t port, channel;
  if (chip->refusals_head == chip->refusals_tail) return false;
  const struct icl_packet* first = &chip->refusals[chip->refusals_head % ICL_REFUSALS];
  if (first->to_chip == chip->number) return false; /* icl_chip_loop takes it */
  if (!icl_window_route(&chip->engine->window, chip->number, first->to_chip, &port, &channel)) {
    chip->refusals_head++;
    return false;
  }
  if (port != p->number || !icl_port_has_credit(p, channel)) return false;
  to->packet = *first;
  stamp(p, to, channel);
  chip->refusals_head++;
  return true;
}

/* Queues take turns. */
static bool take_own(struct icl_port* p, struct icl_buffer* to) {
  if (take_refusal(p, to)) return true;
  struct icl_chip_queue* stop = NULL;
  while (p->first != NULL && p->first != stop) {
    struct icl_chip_queue* q = p->first;
    p->first = q->next;
    if (p->first == NULL) p->last = NULL;
    q->scheduled = false;
    if (!icl_queue_has_packet(q)) continue;
    const bool credit = icl_port_has_credit(p, q->channel);
    const bool taken = credit && icl_queue_next_packet(q, to);
    if (taken) stamp(p, to, q->channel);
    icl_queue_enlist(q);
    if (taken) return true;
    if (stop == NULL && q->scheduled) stop = q;
  }
  return false;
}

bool icl_switch_take(struct icl_port* p, struct icl_buffer* to) {
  const struct icl_shape* s = &p->chip->engine->window.shape;
  const uint32_t sources = s->ports * s->channels + 1;
  p->short_of_credits = false;
  for (uint32_t i = 0; i < sources; i++) {
    const uint32_t source = (p->turn + i) % sources;
    if (!(source + 1 == sources ? take_own(p, to) : take_passing(p, source, to))) continue;
    p->turn = source + 1;
    return true;
  }
  return false;
}

void icl_switch_flush(struct icl_port* p) {
  for (uint32_t c = 0; c < p->chip->engine->window.shape.channels; c++) {
    ICL_COUNT(p, dropped, p->fifo[c].tail - p->fifo[c].head);
    p->fifo[c].head = p->fifo[c].tail;
  }
}

void icl_switch_drop(struct icl_port* p) {
  const struct icl_shape* s = &p->chip->engine->window.shape;
  for (uint32_t i = 0; i < s->ports * s->channels; i++) {
    struct icl_port* in = &p->chip->ports[i / s->channels];
    struct icl_fifo* fifo = &in->fifo[i % s->channels];
    while (fifo->head != fifo->tail && buffer(in, i % s->channels, fifo->head)->out_port == p->number) {
      fifo->head++;
      ICL_COUNT(p, dropped, 1);
      icl_switch_free(in, i % s->channels);
      if (fifo->head != fifo->tail)
        icl_port_wake(&p->chip->ports[buffer(in, i % s->channels, fifo->head)->out_port]);
    }
  }
}
