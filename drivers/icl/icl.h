/* icl: inter-chip links, the driver shim. One C ABI between training chips that carry their own links and what runs on
 * them; a driver for a kind of chip fills the table in icl_driver.h, routes are in icl_route.h, docs/icl.md is the guide.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Terms
 *   pod       chips joined by links without switches between them; a chip's number in it is 0..ICL_MAX_CHIPS-1.
 *   port      a chip's end of one link, of 1..ICL_MAX_QUADS lane quads; 0..ICL_MAX_PORTS-1.
 *   device    a driver at work in this process; it owns one chip or several. Others of the pod are peers.
 *   queue     one end of a connection of two chips, reliable and in order: a descriptor ring with a doorbell.
 *   completions  a ring that the queues opened with it complete to, and the descriptor to sleep in.
 *   semaphore an aligned 64-bit word of exported memory, that peers add to and its owner reads without a call.
 *
 * Conventions
 *   - A call that can fail returns icl_status: ICL_OK, or an error, negative; then nothing has changed, no out-parameter
 *     is set (where the call does not say otherwise), and icl_last_error() is a sentence about it.
 *   - A struct that begins with struct_size is set to sizeof by the caller, in and out, only ever grows at its end, and 0
 *     means default in each field of a config. ICL_ERR_INVALID: struct_size is 0, or larger than known with non-zero rest.
 *     Out: what the callee does not know is zeroed.
 *   - Sizes and offsets in bytes, times in the unit of the name. Handles are opaque, of the process that made them: a
 *     child of fork() may not use them.
 *   - Any call may be given a NULL handle or pointer where one is due: ICL_ERR_INVALID. Calls without a status (free,
 *     close) ignore NULL.
 *
 * Threads
 *   - One thread at a time, whichever, drives an icl_completions: it, its queues, and their icl_remotes. What differs: icl_abort(),
 *     icl_queue_state() and icl_queue_why() may come from any thread while the queue is not being closed.
 *   - All other calls: any thread, any time; not while another thread frees the same handle.
 *   - No call waits for a peer. icl_post, icl_poll, icl_arm: no allocation, no lock, no system call but to wake an engine
 *     that sleeps and (arm) to drain the descriptor.
 *
 * Order
 *   - Of one queue, descriptors take effect at the target in the order posted, and complete in it: bytes first, then the
 *     add of the same descriptor, then the next descriptor's. An add is a release: who sees it (acquire) sees all
 *     bytes of this descriptor and of those before it. Not so reads: one sees what was written before it, and may
 *     see what is written after it until it has completed.
 *   - Nothing is ordered between queues, nor between two ends of one.
 *
 * Trust: keys and tickets carry nonces that a peer must present; send them over an authenticated channel. A target checks
 * every packet against tables of its own; a broken peer may lose its own traffic, nobody else's. */
#ifndef ICL_ICL_H
#define ICL_ICL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ICL_VERSION 1 /* of this header; icl_version() of the library */
#define ICL_MAX_CHIPS 1024
#define ICL_MAX_PORTS 16
#define ICL_MAX_QUADS 4
#define ICL_MAX_CHANNELS 8 /* virtual channels of a link */
#define ICL_KEY_BYTES 40
#define ICL_TICKET_BYTES 32
#define ICL_ANY UINT32_MAX

/* The reason of an error, by name: icl_status_name(). The first group comes from calls, the second also in completions. */
typedef int32_t icl_status;
enum {
  ICL_OK = 0,
  ICL_ERR_INVALID = -1,     /* an argument is wrong, or out of bounds */
  ICL_ERR_NO_MEMORY = -2,   /* of the host, of the chip, or no room in a table of the device */
  ICL_ERR_NO_DEVICE = -3,   /* no such driver, pod or chip here */
  ICL_ERR_UNSUPPORTED = -4, /* not with this driver */
  ICL_ERR_SYSTEM = -5,      /* the operating system refused a call */
  ICL_ERR_BUSY = -6,        /* in use: something that was made of it exists still, or another process owns it */
  ICL_ERR_STATE = -7,       /* not in this state */
  ICL_ERR_CYCLE = -8,       /* routes that could deadlock */
  ICL_ERR_AGAIN = -9,       /* icl_arm: something is pending, poll */

  ICL_ERR_DENIED = -20,      /* the key was revoked, or does not give the right */
  ICL_ERR_REFUSED = -21,     /* the peer's queue is closed, or not connected to this one */
  ICL_ERR_UNREACHABLE = -22, /* no route leads there */
  ICL_ERR_LINK_DOWN = -23,   /* a link on the way was lost for longer than its limit, or reset */
  ICL_ERR_CHIP_DEAD = -24,   /* the peer, or a chip on the way: died, fell silent, or its process left */
  ICL_ERR_CHIP_RESET = -25,
  ICL_ERR_TIMEOUT = -26,     /* the queue's end-to-end timeout; icl_queue_why() says what was seen */
  ICL_ERR_PROTOCOL = -27,    /* a peer sent what no peer may */
  ICL_ERR_ABORTED = -28,     /* icl_abort */
  ICL_ERR_FLUSHED = -29      /* behind a failure, or open when its queue was closed */
};
const char* icl_status_name(icl_status status); /* "ICL_ERR_LINK_DOWN"; never NULL; static */
const char* icl_last_error(void); /* of this thread's last failed call; valid until its next one; never NULL */
uint32_t icl_version(void);

struct icl_device;
struct icl_memory;
struct icl_exported;
struct icl_completions;
struct icl_queue;
struct icl_remote;

/* ---- Devices --------------------------------------------------------------------------------------------------- */

struct icl_config {
  size_t struct_size;
  uint32_t max_queues;  /* a chip; default 256 */
  uint32_t max_exports; /* a chip; default 1024 */
};

/* Opens `address`: a driver's name, a colon, and what that driver reads: "emu:/dev/shm/pod?chips=0,1",
 * "pciwin:0000:00:04.0"; a driver's name alone where it finds a device itself: "pciwin", "pciwin?chips=1". `config` may be NULL. Chips begin to train their links; this does not wait for peers.
 * ICL_ERR_NO_DEVICE, ICL_ERR_BUSY (a chip is owned already), ICL_ERR_NO_MEMORY, ICL_ERR_SYSTEM. */
icl_status icl_open(const char* address, const struct icl_config* config, struct icl_device** device);
/* Takes the chips out of the pod: peers see them as dead. ICL_ERR_BUSY while completions, memory or remotes exist. */
icl_status icl_close(struct icl_device* device);
/* The names of the drivers in this library, for a message: "emu". `i` from 0; NULL beyond the last. */
const char* icl_driver_name(uint32_t i);

struct icl_device_info {
  size_t struct_size;
  char driver[16], address[128];
  uint32_t chips, ports, channels; /* of the pod; ports a chip, at most */
  uint32_t owned;                  /* chips of this device */
  uint32_t mtu;                    /* payload bytes of a packet */
  uint32_t max_depth;              /* of a queue */
  uint32_t inline_bytes;           /* ICL_INLINE */
  uint64_t max_transfer;           /* bytes of a descriptor */
  uint32_t device_memory;          /* 1: icl_register takes ICL_DEVICE_POINTER */
  uint32_t reserved;
  uint64_t pod;                    /* equal on all devices of a pod, on whatever machine; no other pod has it. 0: not known */
};
icl_status icl_query_device(struct icl_device* device, struct icl_device_info* info);

enum icl_chip_state { ICL_CHIP_ABSENT, ICL_CHIP_RUNNING, ICL_CHIP_DEAD, ICL_CHIP_LEFT };
struct icl_chip_info {
  size_t struct_size;
  uint32_t state;         /* icl_chip_state */
  uint32_t owned;         /* 1: by this device */
  uint32_t incarnation;   /* grows by each reset and new owner */
  int32_t pid;            /* of its process, where there is one */
  uint64_t memory, free;  /* of the chip; free: of chips owned, else 0 */
  int32_t temperature_mC; /* INT32_MIN: not known */
};
icl_status icl_query_chip(struct icl_device* device, uint32_t chip, struct icl_chip_info* info);

enum icl_port_state { ICL_PORT_NONE, ICL_PORT_TRAINING, ICL_PORT_UP, ICL_PORT_DOWN };
/* Counters grow from the time the chip was opened. Each way: tx leaves by this port, rx came by it. */
struct icl_port_counters {
  uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes;   /* payload and headers, each once: without what was retried */
  uint64_t forwarded;      /* packets that came by this port for another chip */
  uint64_t crc_errors;     /* received, thrown away, and asked for again */
  uint64_t retries;        /* packets sent again */
  uint64_t flaps;          /* losses of the link shorter than the limit, that nobody noticed */
  uint64_t downs;          /* longer ones */
  uint64_t credit_stalls;  /* times a packet had to wait for the far end's room */
  uint64_t dropped;        /* packets lost with the link, or without a route */
};
struct icl_port_info {
  size_t struct_size;
  uint32_t state;          /* icl_port_state; ICL_PORT_NONE: nothing is plugged in */
  uint32_t quads, quads_up;/* built, and working now */
  uint32_t mbps;           /* each way, of quads_up */
  uint32_t far_chip, far_port; /* as the far end said; ICL_ANY before it said anything */
  uint32_t planned_chip, planned_port; /* as the pod was planned, ICL_ANY without a plan: compare, to find wrong cables */
  struct icl_port_counters counters; /* of any chip, as its owner counts */
};
icl_status icl_query_port(struct icl_device* device, uint32_t chip, uint32_t port, struct icl_port_info* info);

enum icl_event_kind { ICL_EVENT_LINK_UP = 1, ICL_EVENT_LINK_DOWN, ICL_EVENT_LINK_DEGRADED, ICL_EVENT_CHIP_DEAD,
                      ICL_EVENT_CHIP_UP, ICL_EVENT_CHIP_RESET, ICL_EVENT_LOST };
/* Of owned chips' ports, and of every chip of the pod. LOST: `chip` events did not fit: read the state anew. */
struct icl_event {
  uint32_t kind, chip, port, far_chip, far_port; /* port, far: ICL_ANY where none */
  uint64_t when_ns;                              /* CLOCK_MONOTONIC */
};
/* Readable while events wait. Belongs to the device; do not read, write or close it. */
int icl_event_fd(struct icl_device* device);
/* Takes up to `room` events, the oldest first, and returns how many; never waits. */
size_t icl_read_events(struct icl_device* device, struct icl_event* events, size_t room);

/* ---- Memory ---------------------------------------------------------------------------------------------------- */

enum icl_memory_kind { ICL_HOST_POINTER, ICL_DEVICE_POINTER };
enum icl_rights { ICL_READ = 1, ICL_WRITE = 2, ICL_SIGNAL = 4 }; /* of peers: read, write, add to semaphores */

/* `bytes` of the chip's memory, zeroed, aligned to 4096. ICL_ERR_NO_MEMORY. */
icl_status icl_alloc(struct icl_device* device, uint32_t chip, uint64_t bytes, struct icl_memory** memory);
/* Makes `bytes` at `base` known to the engines of the chip. The caller keeps it mapped until icl_free. A device pointer:
 * of an accelerator that the driver knows (ICL_ERR_UNSUPPORTED). `base` of a semaphore's memory is aligned to 8. */
icl_status icl_register(struct icl_device* device, uint32_t chip, uint32_t kind, void* base, uint64_t bytes,
                        struct icl_memory** memory);
/* Once it returned, no engine touches the memory. ICL_ERR_BUSY while exports of it exist; descriptors under way that
 * use it fail their queue with ICL_ERR_DENIED. */
icl_status icl_free(struct icl_memory* memory);
/* Where this process reaches it by load and store, or NULL (chips whose memory no BAR shows). */
void* icl_map(const struct icl_memory* memory);

/* Lets peers reach `bytes` at `offset` with `rights` (icl_rights; 0 is allowed: a name without rights). ICL_SIGNAL needs
 * memory that icl_map shows and offsets aligned to 8. ICL_ERR_NO_MEMORY: max_exports. */
icl_status icl_export(struct icl_memory* memory, uint64_t offset, uint64_t bytes, uint32_t rights,
                      struct icl_exported** exported);
/* ICL_KEY_BYTES for peers to import; as long as `exported`. */
const void* icl_key(const struct icl_exported* exported);
/* Frees `exported`. Once it returned, nothing lands through its key any more, what is under way included; a peer that
 * tries gets ICL_ERR_DENIED, and its queue fails. */
void icl_revoke(struct icl_exported* exported);

/* ---- Queues ---------------------------------------------------------------------------------------------------- */

struct icl_completion {
  uint64_t cookie;       /* the descriptor's; of a failed queue: the queue's */
  icl_status status;     /* ok: landed in the target's memory, or read from it. Else nothing is known about landing. */
  uint32_t queue_failed; /* 1: the queue failed, for `status`; once a queue, after all its descriptors' */
};
/* No count is given: each queue that is opened brings room for its own depth, so it never runs over. ICL_ERR_NO_MEMORY:
 * `max_entries` (0: 65536) bounds the sum of depth + 1 of the queues whose completions were not all taken. */
icl_status icl_completions_open(struct icl_device* device, uint32_t max_entries, struct icl_completions** completions);
/* ICL_ERR_BUSY while queues are open. Completions not taken are lost. */
icl_status icl_completions_close(struct icl_completions* completions);
/* Takes up to `room` completions in order, and returns how many. Disarms. */
size_t icl_poll(struct icl_completions* completions, struct icl_completion* out, size_t room);
/* Before every sleep: poll, look at your semaphores, arm, sleep. ICL_OK: the descriptor turns readable when a completion comes,
 * or a peer adds to a semaphore through one of the queues, or a descriptor slot is freed. ICL_ERR_AGAIN (no error, no sentence):
 * completions wait, or one of these came since the last icl_poll; not armed: poll, and look again. Spurious readiness and
 * spurious ICL_ERR_AGAIN may happen. */
icl_status icl_arm(struct icl_completions* completions);
int icl_wait_fd(struct icl_completions* completions); /* belongs to it; do not read, write or close it */

struct icl_queue_config {
  size_t struct_size;
  uint32_t chip;       /* whose engine; owned by the device */
  uint32_t depth;      /* a power of two; descriptors posted and not done, and completions wanted and not taken: each at
                          most so many. Default 64 */
  uint32_t timeout_ms; /* fails when nothing of the oldest descriptor moved for so long. Default 10000 */
  uint32_t reserved;
  uint64_t cookie;     /* comes back with the queue's failure */
  void* stream;        /* of the accelerator, whose order descriptors wait in; NULL; else ICL_ERR_UNSUPPORTED where unknown */
};
/* ICL_ERR_NO_MEMORY: the chip's queues, or room in `completions`. */
icl_status icl_queue_open(struct icl_completions* completions, const struct icl_queue_config* config,
                          struct icl_queue** queue);
/* ICL_TICKET_BYTES for the peer's icl_connect: chip, queue, nonce; as long as the queue. */
const void* icl_ticket(const struct icl_queue* queue);
/* Binds the queue to the peer's, once: from now on it takes what that one sends, and nothing else. Both ends connect, in
 * any order, to the own chip too; post only once the peer has said (out of band) that it is connected. Local: links that
 * still train on the way are waited for by the first descriptors. ICL_ERR_INVALID: no ticket; ICL_ERR_STATE: twice;
 * ICL_ERR_UNREACHABLE: no route there, or none back. */
icl_status icl_connect(struct icl_queue* queue, const void* peer_ticket);

enum { ICL_QUEUE_OPENED, ICL_QUEUE_CONNECTED, ICL_QUEUE_FAILED };
uint32_t icl_queue_state(const struct icl_queue* queue);
/* Why it failed: what, which chip, port and far end, what to try. NUL-terminated, cut to `room`; "" while it did not. */
void icl_queue_why(const struct icl_queue* queue, char* text, size_t room);
/* Fails the queue with ICL_ERR_ABORTED, soon. */
void icl_abort(struct icl_queue* queue);
/* Final: once it returned nothing lands through the queue, at this end, and no memory of this end is touched by it;
 * peers' late packets are refused. Waits for no peer. Completions wanted and still open come from icl_poll as
 * ICL_ERR_FLUSHED; the queue's own cookie does not. The handle and its icl_remotes are gone. */
void icl_queue_close(struct icl_queue* queue);

/* A peer's memory, for descriptors of `queue` only. Local: the peer checks when a packet comes. ICL_ERR_STATE before
 * icl_connect; ICL_ERR_INVALID: no key, or of another chip than the peer's. */
icl_status icl_import(struct icl_queue* queue, const void* key, struct icl_remote** remote);
void icl_remote_info(const struct icl_remote* remote, uint64_t* bytes, uint32_t* rights);
/* Not while descriptors that name it are being posted; those posted are not touched. */
void icl_forget(struct icl_remote* remote);

enum icl_verb { ICL_VERB_WRITE = 1, ICL_VERB_READ, ICL_VERB_SIGNAL }; /* SIGNAL: 0 bytes */
enum icl_flags { ICL_WANT_COMPLETION = 1, ICL_INLINE = 2 };
struct icl_descriptor {
  uint32_t verb, flags;
  uint64_t cookie;
  uint64_t bytes;                       /* 0..max_transfer; of a write, 0 needs no remote */
  const struct icl_memory* local;       /* on the queue's chip; NULL with ICL_INLINE */
  uint64_t local_offset;
  const void* inline_data;              /* ICL_INLINE, write: up to inline_bytes, read before icl_post returns */
  const struct icl_remote* remote;
  uint64_t remote_offset;
  const struct icl_remote* signal;      /* write, signal: memory with ICL_SIGNAL at the peer, or NULL */
  uint64_t signal_offset;               /* multiple of 8 */
  uint64_t add;                         /* wraps */
};
/* Takes a prefix of `count` descriptors, sets *taken (0 on error too), and rings the doorbell once. ICL_OK: taken may be less
 * than count: the ring is full, poll. ICL_ERR_INVALID, ICL_ERR_DENIED: descriptor *taken breaks a bound or a right; those before it are
 * taken, and the queue is as before. ICL_ERR_STATE: not connected, or failed (icl_queue_why). */
icl_status icl_post(struct icl_queue* queue, const struct icl_descriptor* descriptors, size_t count, size_t* taken);

/* ---- Recovery -------------------------------------------------------------------------------------------------- */

/* Trains an owned chip's link anew. Queues that run over it fail, at both ends, with ICL_ERR_LINK_DOWN. */
icl_status icl_reset_link(struct icl_device* device, uint32_t chip, uint32_t port);
/* Resets an owned chip: its queues fail with ICL_ERR_CHIP_RESET, peers' likewise, its links train anew, its exports are
 * revoked (the handles stay to be freed); its memory keeps its bytes. */
icl_status icl_reset_chip(struct icl_device* device, uint32_t chip);

#ifdef __cplusplus
}
#endif
#endif
