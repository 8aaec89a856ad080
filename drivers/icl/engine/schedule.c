/* Which queues have something to send, by which port: doorbells, and lists in which queues take turns. */
#include "engine.h"

static bool has_request(const struct icl_chip_queue* q) {
  if (q->fetched == atomic_load_explicit(&q->posted, memory_order_acquire)) return false;
  return q->work[q->fetched & (q->depth - 1)].verb != ICL_VERB_READ || q->reads_open < ICL_MAX_READS;
}

bool icl_queue_has_packet(const struct icl_chip_queue* q) {
  return atomic_load_explicit(&q->state, memory_order_relaxed) == ICL_QUEUE_CONNECTED &&
         (q->ack_due || q->reads_head != q->reads_tail || has_request(q));
}

void icl_queue_enlist(struct icl_chip_queue* q) {
  if (q->scheduled || !icl_queue_has_packet(q)) return;
  struct icl_chip* chip = q->chip;
  struct icl_chip_queue** first = q->port == ICL_NO_PORT ? &chip->first : &chip->ports[q->port].first;
  struct icl_chip_queue** last = q->port == ICL_NO_PORT ? &chip->last : &chip->ports[q->port].last;
  q->scheduled = true;
  q->next = NULL;
  if (*first == NULL)
    *first = q;
  else
    (*last)->next = q;
  *last = q;
}

void icl_queue_schedule(struct icl_chip_queue* q) {
  if (q->scheduled) return;
  icl_queue_enlist(q);
  if (q->scheduled) icl_port_wake(&q->chip->ports[q->port == ICL_NO_PORT ? 0 : q->port]);
}

void icl_queue_unlist(struct icl_chip_queue* q) {
  if (!q->scheduled) return;
  struct icl_chip* chip = q->chip;
  struct icl_chip_queue** first = q->port == ICL_NO_PORT ? &chip->first : &chip->ports[q->port].first;
  struct icl_chip_queue** last = q->port == ICL_NO_PORT ? &chip->last : &chip->ports[q->port].last;
  struct icl_chip_queue* before = NULL;
  for (struct icl_chip_queue* at = *first; at != NULL && at != q; at = at->next) before = at;
  if (before == NULL)
    *first = q->next;
  else
    before->next = q->next;
  if (*last == q) *last = before;
  q->scheduled = false;
}

void icl_chip_doorbells(struct icl_port* p) {
  struct icl_chip* chip = p->chip;
  const uint32_t words = (chip->engine->config.max_queues + 63) / 64;
  if (atomic_load_explicit(&chip->words->stuck_doorbell, memory_order_relaxed) != 0) return;
  for (uint32_t i = 0; i < words; i++) {
    if (atomic_load_explicit(&p->doorbells[i], memory_order_relaxed) == 0) continue;
    uint64_t bits = atomic_exchange(&p->doorbells[i], 0);
    pthread_mutex_lock(&chip->lock);
    for (; bits != 0; bits &= bits - 1) {
      struct icl_chip_queue* q = chip->queues[i * 64 + (uint32_t)__builtin_ctzll(bits)];
      if (q != NULL) icl_queue_enlist(q);
    }
    pthread_mutex_unlock(&chip->lock);
  }
}
