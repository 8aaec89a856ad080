/* The software engine of a chip: what hardware does in chips that have it. It moves packets between rings and memory of this
 * process and the lanes of a window, and forwards what is for others. emu and pciwin share it.
 *
 * Threads: a thread a port (port.c), which sends, receives and forwards; one a device that keeps watch (watch.c). A chip's lock guards
 * what its threads share; the host's post and poll do not take it. Nothing here waits for another process. */
#ifndef ICL_ENGINE_ENGINE_H
#define ICL_ENGINE_ENGINE_H

#include <pthread.h>

#include "../icl_driver.h"
#include "window.h"

#define ICL_INLINE_BYTES 64
#define ICL_MAX_READS 16    /* of a queue, under way */
#define ICL_MAX_DEPTH 4096
#define ICL_REFUSALS 64     /* of a chip, waiting to be sent */
#define ICL_MAX_TRANSFER (UINT64_C(1) << 30)
#define ICL_NO_PORT UINT32_MAX

/* What lies in a descriptor ring. */
struct icl_work {
  uint8_t verb, flags; /* icl_verb, icl_flags */
  uint16_t inline_bytes;
  uint32_t local_slot, remote_slot, signal_slot; /* signal_slot UINT32_MAX: none */
  uint64_t local_nonce, remote_nonce, signal_nonce;
  uint64_t local_offset, remote_offset, signal_offset;
  uint64_t bytes, add, cookie;
  uint64_t got;            /* the engine: of a read */
  uint32_t first, end;     /* the engine: packet sequences */
  uint8_t data[ICL_INLINE_BYTES];
};

/* What lies in a completion ring. `turn` is 1 + how often the ring went round: whoever polls looks at that word alone. */
struct icl_entry {
  uint64_t cookie;
  struct icl_chip_queue* queue;
  icl_status status;
  uint32_t queue_failed;
  _Atomic uint32_t turn;
};

struct icl_ring { /* an icl_completions */
  struct icl_completions base;
  struct icl_engine* engine;
  pthread_mutex_t lock; /* of those who put */
  struct icl_entry* entries;
  uint32_t size;
  uint64_t put;       /* under lock */
  uint64_t taken;     /* the host's */
  uint32_t reserved;  /* entries promised to queues */
  uint32_t queues;
  int fd;
  _Atomic uint32_t armed, rung;
  _Atomic uint32_t happened; /* since the last poll: a completion, an add, room */
};

/* Memory, or an export of it: slots of a chip's tables. Under the chip's lock. */
struct icl_area {
  unsigned char* base;
  uint64_t bytes, nonce;
  uint32_t rights; /* of exports */
  uint32_t used;
};
struct icl_table {
  struct icl_area* areas;
  uint32_t size, hint;
};

struct icl_read { /* the target's, of a read to answer */
  uint32_t slot, request;
  uint64_t nonce, offset, length, sent;
};

struct icl_chip_queue {
  struct icl_queue base;
  struct icl_chip* chip;
  struct icl_ring* ring;
  uint32_t id, depth;
  uint64_t nonce, cookie;
  struct icl_work* work;
  /* The host's, and read by the engine. */
  _Atomic uint32_t posted;
  _Atomic uint32_t posting; /* the host is in icl_post */
  uint32_t wanted;          /* completions asked for, and not taken */
  uint32_t taken, pushed;   /* entries of the ring; pushed: under its lock, and final once the queue is closed */
  bool closed, counted;
  struct icl_chip_remote* remotes;
  /* The engine's, under the chip's lock. */
  _Atomic uint32_t state;   /* icl_queue_state, QUEUE_CLOSED */
  _Atomic uint32_t done;    /* work that is done */
  uint32_t fetched;         /* work whose packets were all sent */
  uint64_t sent;            /* bytes of the work being sent */
  uint32_t sequence, acked, expected; /* packets: to send, acknowledged, to come */
  uint32_t reads_open;
  bool ack_due, scheduled;
  struct icl_read reads[ICL_MAX_READS];
  uint32_t reads_head, reads_tail;
  struct icl_chip_queue* next;  /* of those with something to send by a port */
  struct icl_ticket_fields peer;
  uint32_t port, channel;       /* the first hop; ICL_NO_PORT: the own chip */
  uint64_t connected_ns;
  /* The watch's. */
  uint32_t timeout_ms;
  uint64_t watched_since_ns;
  uint64_t watched, watched_got;
  char why[320];
};
enum { QUEUE_CLOSED = 100 };

struct icl_buffer { /* a packet in a chip */
  struct icl_packet packet;
  uint32_t out_port, out_channel;
  unsigned char payload[];
};

struct icl_fifo { /* a channel's room at the end of a lane */
  uint32_t head, tail; /* free-running; at most credits between them */
  unsigned char* buffers;
};

struct icl_port {
  struct icl_chip* chip;
  uint32_t number, far_chip, far_port; /* far_chip ICL_ANY: nothing is joined */
  struct icl_port_words *words, *far_words;
  struct icl_lane *out, *in;
  pthread_t thread;
  bool started;
  _Atomic uint32_t reset;       /* asked for by icl_reset_link */
  _Atomic uint32_t bell, asleep; /* of a device whose chips are apart: rung within this process */
  _Atomic uint32_t called;      /* likewise: how often the far end's bell was rung */
  _Atomic uint64_t* doorbells;  /* a bit a queue */
  struct icl_fifo fifo[ICL_MAX_CHANNELS];
  struct icl_chip_queue *first, *last; /* queues with something to send by this port */
  uint32_t turn;                /* of the switch */
  /* The thread's own. */
  uint32_t state, generation, last_bell;
  uint64_t tail, head;          /* of out, of in */
  uint32_t next, unacked, resend; /* link sequences to give, not acknowledged, to send (again) */
  uint32_t used[ICL_MAX_CHANNELS], freed[ICL_MAX_CHANNELS]; /* freed: of the own fifos, under the chip's lock */
  uint32_t naks_seen, naks_sent, expected;
  bool nak_open, stalled, was_cut, short_of_credits;
  uint64_t free_ns, cut_since_ns, sent_ns;
  uint64_t errors_random;
  uint32_t quads_up;
  uint32_t naps;                /* looks at a bell in vain, since something moved */
  unsigned char* retry;         /* ICL_SLOTS buffers: sent and not acknowledged */
  struct icl_buffer* arrived;   /* where a packet is checked */
};

struct icl_chip {
  struct icl_engine* engine;
  uint32_t number;
  struct icl_chip_words* words;
  pthread_mutex_t lock;
  struct icl_table memory, exports;
  struct icl_chip_queue** queues;
  uint32_t queue_hint;
  struct icl_port* ports;
  struct icl_chip_queue *first, *last; /* queues to the own chip */
  struct icl_packet refusals[ICL_REFUSALS];
  uint32_t refusals_head, refusals_tail;
  unsigned char* base;          /* of its memory */
  uint8_t* pages;               /* of its memory: 1 in use */
  uint64_t free_bytes;
  _Atomic bool dead;
};

struct icl_events {
  pthread_mutex_t lock;
  struct icl_event kept[256];
  uint32_t head, tail, lost;
  int fd;
};

/* A word of another chip, and when it became what it is, by the clock of this process; 0: before this process looked. */
struct icl_seen {
  uint64_t value, at_ns;
};

/* The device. A driver embeds it at the start of its own. */
struct icl_engine {
  struct icl_device base;
  struct icl_window window;
  struct icl_config config;
  uint32_t owned;
  struct icl_chip* chips; /* [owned] */
  uint16_t* chip_index;   /* [pod's chips]: index + 1 of those owned; 0: not owned */
  struct icl_events events;
  pthread_t watch;
  bool watching;
  _Atomic uint32_t stop;
  _Atomic uint32_t objects; /* memory, completions: icl_close is busy */
  _Atomic uint32_t connected;
  /* The watch's: what it saw of each chip last. */
  uint32_t *seen_state, *seen_incarnation;
  uint32_t next_to_look_at;
  uint64_t* seen_beat;        /* apart: [pod's chips] */
  uint32_t* silent_ticks;     /* apart: looks since a beat */
  pthread_mutex_t seen_lock;
  struct icl_seen* seen_down; /* apart: [pod's ports], of last_down_ns; under seen_lock */
  /* Of the driver: whether the owner of a chip lives, as the system knows; NULL: beats must do. */
  bool (*owner_lives)(struct icl_engine*, uint32_t chip);
  /* Of the driver: whether a chip of this device is still its own; NULL: nobody can take it. */
  bool (*owns)(struct icl_engine*, uint32_t chip);
  /* The window is a device's, and chips may be run by other kernels: no futex of theirs can be reached, so that ports look at their
   * bells now and then; and their clocks are not ours, so that what they say of time counts from when it is seen to change. */
  bool apart;
  /* Makes sure that memory of the window is there before it is touched; NULL: it is. */
  icl_status (*back)(struct icl_engine*, uint64_t at, uint64_t bytes);
};

static inline struct icl_engine* icl_engine_of(struct icl_device* device) { return (struct icl_engine*)(void*)device; }
static inline struct icl_chip* icl_owned_chip(struct icl_engine* e, uint32_t chip) {
  return e->chip_index[chip] == 0 ? NULL : &e->chips[e->chip_index[chip] - 1];
}

/* engine.c: `engine` is zeroed but for window, config and the functions. Its chips are the driver's to claim. */
icl_status icl_engine_start(struct icl_engine* engine, const struct icl_driver* driver, const uint32_t* chips, uint32_t owned);
icl_status icl_engine_stop(struct icl_engine* engine);
extern const struct icl_driver icl_engine_calls; /* what an engine does of a driver's table; open and close are NULL */

uint64_t icl_now_ns(void);
uint64_t icl_nonce(void);
void icl_event_put(struct icl_engine* engine, uint32_t kind, uint32_t chip, uint32_t port, uint32_t far_chip,
                   uint32_t far_port);

/* port.c */
void* icl_port_run(void* port);
void icl_port_wake(struct icl_port* port);               /* its thread, of this process */
void icl_port_call(struct icl_port* port);               /* whoever runs its far end */
void icl_words_wake(struct icl_port_words* words);       /* likewise, of a pod whose chips are not apart */
void icl_port_count(struct icl_port* port, size_t counter, uint64_t add); /* offsetof(struct icl_port_counters, ...) */
#define ICL_COUNT(port, name, add) icl_port_count(port, offsetof(struct icl_port_counters, name), add)
static inline struct icl_buffer* icl_retry(const struct icl_port* p, uint32_t sequence) {
  const size_t size = sizeof(struct icl_buffer) + p->chip->engine->window.shape.mtu;
  return (struct icl_buffer*)(void*)(p->retry + sequence % ICL_SLOTS * ((size + 63) / 64 * 64));
}

/* train.c: brings the link up or down; true: it is up. */
bool icl_train(struct icl_port* port, uint64_t now);
bool icl_port_is_cut(const struct icl_port* port, uint64_t now);
/* link_out.c, link_in.c: each moves at most one packet; false: nothing to do before *next_ns. */
bool icl_link_send(struct icl_port* port, uint64_t now, uint64_t* next_ns);
bool icl_link_receive(struct icl_port* port, uint64_t now, uint64_t* next_ns);

/* switch.c, under the chip's lock */
/* Keeps a packet that came by `port` for another chip. */
void icl_switch_put(struct icl_port* port, const struct icl_buffer* arrived);
/* The next packet to leave by `port`, copied into `to`; false: none that has credit. */
bool icl_switch_take(struct icl_port* port, struct icl_buffer* to);
void icl_switch_free(struct icl_port* came_by, uint32_t channel);
void icl_switch_flush(struct icl_port* port); /* what came by it */
void icl_switch_drop(struct icl_port* port);  /* what would leave by it */
bool icl_port_has_credit(struct icl_port* port, uint32_t channel);

/* schedule.c, requester.c, responder.c, under the chip's lock */
void icl_queue_enlist(struct icl_chip_queue* queue);   /* if it has something to send */
void icl_queue_schedule(struct icl_chip_queue* queue); /* and wakes its port */
void icl_queue_unlist(struct icl_chip_queue* queue);
void icl_chip_doorbells(struct icl_port* port); /* takes the lock */
/* The queue's next packet, into `to`; false: none. */
bool icl_queue_next_packet(struct icl_chip_queue* queue, struct icl_buffer* to);
bool icl_queue_has_packet(const struct icl_chip_queue* queue);
void icl_queue_advance(struct icl_chip_queue* queue);
void icl_chip_take(struct icl_chip* chip, const struct icl_buffer* arrived);
bool icl_chip_loop(struct icl_chip* chip, struct icl_buffer* scratch); /* to itself; takes the lock */
icl_status icl_respond(struct icl_chip_queue* queue, const struct icl_packet* packet, const unsigned char* payload);
bool icl_respond_next(struct icl_chip_queue* queue, struct icl_buffer* to);

/* tables.c, under the chip's lock */
struct icl_area* icl_area_find(struct icl_table* table, uint32_t slot, uint64_t nonce, uint32_t rights, uint64_t offset,
                               uint64_t bytes);
icl_status icl_area_add(struct icl_table* table, const struct icl_area* area, uint32_t* slot);

/* queue.c */
void icl_queue_fail(struct icl_chip_queue* queue, icl_status status, const char* format, ...)
    __attribute__((format(printf, 3, 4)));              /* under the chip's lock; once */
void icl_queue_flush(struct icl_chip_queue* queue, icl_status first); /* under the chip's lock; no post runs */
/* ring.c */
void icl_ring_put(struct icl_ring* ring, struct icl_chip_queue* queue, uint64_t cookie, icl_status status, bool failed);
void icl_ring_wake(struct icl_ring* ring);
void icl_queue_dispose(struct icl_chip_queue* queue); /* closed, and its completions taken */
/* watch.c, path.c */
#define ICL_TICK_NS 50000000L /* between two looks of the watch */
void* icl_watch_run(void* engine);
/* apart.c: what chips with clocks of their own say, seen from here. The first look is at the start; the others are the watch's,
 * and, at links, of who connects a queue: what was lost before then is seen before then. */
bool icl_apart_begin(struct icl_engine* engine);
void icl_apart_look(struct icl_engine* engine);
void icl_apart_look_at_links(struct icl_engine* engine);
void icl_apart_end(struct icl_engine* engine);
/* When a link's end was lost last, by the clock of this process. */
uint64_t icl_down_ns(struct icl_engine* engine, uint32_t chip, uint32_t port);
/* What is wrong between two chips since `since_ns`; ICL_OK: nothing seen. */
icl_status icl_path_check(struct icl_engine* engine, uint32_t from, uint32_t to, uint64_t since_ns, char* why, size_t room);
bool icl_chip_silent(const struct icl_engine* engine, uint32_t chip, uint64_t now);

#endif
