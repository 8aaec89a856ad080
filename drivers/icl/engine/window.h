/* Memory that the chips of a pod share: a file (emu), or the BAR of a PCI device. Chips meet here and nowhere else. Each word
 * has one writer (named below); who reads it takes it for a stranger's: no index, length or loop bound before it is
 * checked. docs/icl.md has the offsets. */
#ifndef ICL_ENGINE_WINDOW_H
#define ICL_ENGINE_WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>

#include "../icl.h"
#include "packet.h"

#define ICL_WINDOW_MARK 0x31646f706c6369ull /* "iclpod1" */
#define ICL_WINDOW_VERSION 1
#define ICL_WINDOW_HEAD 4096
#define ICL_SLOTS 32 /* of a lane: packets on the wire */
#define ICL_MAX_MTU 16384
#define ICL_MAX_CREDITS 64

/* What a pod is like; fixed when it is made. */
struct icl_shape {
  uint32_t chips, ports, channels;
  uint32_t mtu;         /* a multiple of 64 */
  uint32_t credits;     /* packets of room a channel */
  uint32_t quads, mbps; /* lane quads a port; Mb/s a quad and direction, 0: as fast as it goes */
  uint32_t latency_ns;  /* a hop */
  uint32_t limit_ms;    /* a link lost for longer goes down */
  uint32_t silent_ms;   /* a chip silent for longer counts as dead */
  uint64_t memory;      /* of a chip */
};

struct icl_window_head { /* the maker writes, once */
  uint64_t mark;
  uint32_t version, head_bytes;
  uint64_t bytes; /* of all */
  struct icl_shape shape;
  char text[1008]; /* the graph */
  uint32_t outside; /* 1: memory of chips is not in the window */
  uint32_t reserved;
  uint64_t pod; /* drawn when it was made */
};

struct icl_chip_words { /* the owner writes, but for what is said below */
  _Atomic uint32_t state; /* icl_chip_state; RUNNING to DEAD: whoever sees that the owner is gone */
  _Atomic uint32_t incarnation;
  _Atomic uint64_t beat_ns; /* CLOCK_MONOTONIC of the owner */
  _Atomic int32_t pid;
  _Atomic uint32_t kill, stuck_doorbell; /* faults on order: a tool writes */
  uint32_t reserved;
  _Atomic uint64_t claim; /* pciwin: whose it is, by a nonce; 0: nobody's */
  uint64_t reserved1[3];
};

struct icl_port_words {
  _Atomic uint32_t bell;   /* a futex: anyone adds 1 who has something for this port. Apart: the far end, and it is looked at */
  _Atomic uint32_t asleep; /* the owner */
  _Atomic uint64_t trained; /* the owner: generation << 8 | icl_port_state */
  _Atomic uint64_t self;   /* the owner: 1 << 63 | chip << 8 | port, once it speaks */
  _Atomic uint64_t last_down_ns;
  _Atomic uint32_t quads_up;
  _Atomic uint32_t reserved;
  _Atomic uint64_t cut_until_ns; /* faults on order: a tool writes */
  _Atomic uint32_t quads_cut, errors_ppm, seed, reserved1;
  _Atomic uint64_t counters[sizeof(struct icl_port_counters) / 8]; /* the owner */
  _Atomic uint64_t begun_ns; /* the owner: when its generation began */
  uint64_t reserved2[4];
};

struct icl_lane { /* one direction of a link */
  _Atomic uint64_t tail;    /* the sender: packets put */
  _Atomic uint32_t stalled; /* the sender: it waits for room or credits */
  uint32_t reserved[13];
  _Atomic uint64_t head;    /* the receiver: packets taken */
  _Atomic uint64_t acked;   /* generation << 32 | link sequence that is expected */
  _Atomic uint64_t naks;    /* generation << 32 | how often it asked to send again */
  _Atomic uint64_t freed[ICL_MAX_CHANNELS]; /* generation << 32 | packets that left the channel's room */
  uint64_t reserved2[5];
};
_Static_assert(sizeof(struct icl_chip_words) == 64, "a line each");
_Static_assert(sizeof(struct icl_port_words) % 64 == 0, "whole lines");
_Static_assert(sizeof(struct icl_lane) == 192, "two writers, no line shared");

struct icl_slot {
  uint64_t due_ns; /* when the last bit arrives, as the model says; 0: now */
  uint64_t reserved[7];
  struct icl_packet packet;
  unsigned char payload[];
};

/* A window as this process sees it: its own copy of what is fixed, checked when it was mapped. */
struct icl_window {
  unsigned char* base;
  uint64_t bytes;
  struct icl_shape shape;
  bool outside; /* memory of chips is not in it */
  uint32_t* far; /* [chip * ports + port]: chip << 8 | port, or UINT32_MAX */
  uint64_t pod;
  char text[1008];
  uint64_t routes_at, chips_at, ports_at, lanes_at, memory_at, lane_bytes;
};

/* Says what is wrong with a shape. */
icl_status icl_shape_check(const struct icl_shape* shape);
/* Where everything lies for `window->shape`; returns the bytes of the whole. */
uint64_t icl_window_lay_out(struct icl_window* window);
/* Looks at `bytes` at `base`, which somebody else wrote, and fills `window`. ICL_ERR_INVALID: it is no pod. */
icl_status icl_window_attach(void* base, uint64_t bytes, struct icl_window* window);
void icl_window_detach(struct icl_window* window); /* frees what attach took; does not unmap */

static inline struct icl_chip_words* icl_chip_words(const struct icl_window* w, uint32_t chip) {
  return (struct icl_chip_words*)(void*)(w->base + w->chips_at) + chip;
}
static inline struct icl_port_words* icl_port_words(const struct icl_window* w, uint32_t chip, uint32_t port) {
  return (struct icl_port_words*)(void*)(w->base + w->ports_at) + chip * w->shape.ports + port;
}
/* The lane by which this port sends. */
static inline struct icl_lane* icl_lane(const struct icl_window* w, uint32_t chip, uint32_t port) {
  return (struct icl_lane*)(void*)(w->base + w->lanes_at + (chip * w->shape.ports + port) * w->lane_bytes);
}
static inline struct icl_slot* icl_lane_slot(const struct icl_window* w, struct icl_lane* lane, uint64_t index) {
  return (struct icl_slot*)(void*)((unsigned char*)(lane + 1) +
                                   index % ICL_SLOTS * (sizeof(struct icl_slot) + w->shape.mtu));
}
static inline unsigned char* icl_chip_memory(const struct icl_window* w, uint32_t chip) {
  return w->base + w->memory_at + chip * w->shape.memory;
}
/* The far end of a port; false: nothing is joined. */
static inline bool icl_window_far(const struct icl_window* w, uint32_t chip, uint32_t port, uint32_t* far_chip,
                                  uint32_t* far_port) {
  const uint32_t far = w->far[chip * w->shape.ports + port];
  *far_chip = far >> 8;
  *far_port = far & 0xff;
  return far != UINT32_MAX;
}
/* One step of a route; false: there is none. Checked against the pod. */
bool icl_window_route(const struct icl_window* window, uint32_t chip, uint32_t to, uint32_t* port, uint32_t* channel);
void icl_window_set_route(const struct icl_window* window, uint32_t chip, uint32_t to, uint32_t entry);

#define ICL_WINDOW_NO_ROUTE UINT16_MAX

#endif
