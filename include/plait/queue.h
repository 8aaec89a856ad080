/* plait: the queue, which sums the gradients of a training step. Included by plait.h, which has its conventions; include
 * that one.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A framework has many gradients, the last layer's first, and each rank has them in an order of its own; the next step
 * waits for the first layer's. A queue takes them as they come: ranks push tensors, named by keys, in any order, and the
 * queue agrees on one (docs/queue.md). It fuses small tensors into one operation, cuts large ones into chunks, and serves
 * by priority: a tensor that is pushed late and has a high priority goes before the remaining chunks of those that have a
 * lower one.
 *
 * Threads
 *   - One thread at a time uses a queue: everything that takes a queue, or a request of it, except plait_queue_abort,
 *     which any thread may call at any time. A queue moves by communicators of its own, so the communicator that it was
 *     made from may be driven by another thread meanwhile, and be destroyed before it.
 *   - Without progress_thread nothing runs between calls: a queue moves in plait_queue_push, plait_test, plait_wait,
 *     plait_wait_any and plait_queue_flush.
 *   - Errors have their sentence in plait_last_error(NULL), of the calling thread.
 */
#ifndef PLAIT_QUEUE_H
#define PLAIT_QUEUE_H

#include <plait/plait.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plait_queue plait_queue;

/* What a queue does. Fields marked (alike) are the same on all ranks, else plait_queue_create is PLAIT_ERR_MISMATCH. */
typedef struct plait_queue_config {
  size_t struct_size;
  size_t fuse_bytes;        /* (alike) tensors of at most this many bytes are put into one operation, of at most as many;
                               default 1 MiB; 1: none are */
  size_t chunk_bytes;       /* (alike) larger tensors are cut into pieces of about this many bytes; default
                               128 KiB a rank, 512 KiB at least */
  size_t window_bytes;      /* (alike) bytes that are on the wire or next, which nothing overtakes; one operation at
                               least; default 1 MiB, and two chunks at least */
  int64_t fuse_us;          /* how long the first of new tensors may wait for more, unless fuse_bytes of them are there or
                               this rank waits for one; default 300; negative: not at all */
  uint64_t pace_bytes_per_s; /* token bucket: what this rank sends in a second at most, counted as a ring sends it:
                               2 (n - 1) / n of each tensor's bytes; default 0: no limit */
  size_t pace_burst;        /* bytes that may go at once after a pause; default chunk_bytes */
  int32_t autotune;         /* (alike) not 0: measure, and change fuse_bytes and chunk_bytes within the bounds below */
  size_t fuse_min, fuse_max;   /* (alike) default 64 KiB and 8 MiB, widened to hold fuse_bytes */
  size_t chunk_min, chunk_max; /* (alike) default 256 KiB and 32 MiB, widened to hold chunk_bytes */
  int32_t progress_thread;  /* not 0: a thread of the queue's own moves it, while this rank computes */
  int64_t stall_ms;         /* a line of log (warn) names a tensor that other ranks have not pushed for so long, and these
                               ranks; default 60,000; negative: none */
  int64_t timeout_ms;       /* how long a tensor may wait for other ranks to push it, and an operation for them; default:
                               the communicator's */
  const char* algorithm;    /* (alike) as in plait_call_config, of all operations; NULL: chosen by size */
  const char* trace;        /* plait_queue_destroy writes a timeline to TRACE.RANK.json; NULL: it does not */
  size_t trace_tensors;     /* how many of the latest tensors the timeline holds; default 4096 */
  size_t max_keys;          /* (alike) how many different keys there may be; default 65,536 */
} plait_queue_config;

/* Makes a queue over the ranks of `comm`. Collective over them, blocking: an operation of `comm` as plait_comm_dup is,
 * which it makes two of. The queue does not need `comm` afterwards.
 *   comm    of whose ranks
 *   config  NULL: defaults
 *   queue   gets the queue, which belongs to the caller and ends by plait_queue_destroy
 * PLAIT_ERR_INVALID, PLAIT_ERR_STATE (forked child): nothing started. PLAIT_ERR_MISMATCH: ranks gave different configs;
 * the text names ranks and field. PLAIT_ERR_UNSUPPORTED: the algorithm. Else as plait_comm_dup. */
PLAIT_API plait_status plait_queue_create(plait_comm* comm, const plait_queue_config* config, plait_queue** queue);

/* Pushes a tensor: an allreduce in place, of every rank's tensor of this key. Starts it and returns.
 *   queue     the queue
 *   key       names the tensor: alike on all ranks. Any number. It may be pushed again when its request is done, and must
 *             have the same count, dtype, op and priority then, or others on all ranks.
 *   buffer    `count` elements of `dtype`: this rank's values, and when the request is done the result. This rank's again
 *             from then on; after an error, once plait_queue_destroy returned. Memory of plait_mem_alloc is fastest.
 *   count     elements; 0 is fine
 *   dtype     any
 *   op        PLAIT_SUM, PLAIT_AVG, PLAIT_PROD, PLAIT_MIN or PLAIT_MAX
 *   priority  higher goes first; equal ones in the order of the step in which ranks had all pushed them, and in the order
 *             of their first time
 *   request   gets a request for plait_test, plait_wait, plait_wait_any and plait_request_free. NULL: nobody asks after
 *             this tensor but plait_queue_flush.
 * Once each key has been pushed twice, a push allocates nothing, and without progress_thread takes no lock.
 * PLAIT_ERR_INVALID (arguments, more than max_keys keys), PLAIT_ERR_STATE (the key is pushed and not done; forked child);
 * or what broke the queue. The request comes to PLAIT_ERR_MISMATCH (ranks push different things by one key; the text
 * names both), PLAIT_ERR_TIMEOUT (names the tensor and the ranks that have not pushed it), and what collectives come to.
 * After one of these the queue is broken: every later call on it returns the same status. */
PLAIT_API plait_status plait_queue_push(plait_queue* queue, uint64_t key, void* buffer, size_t count,
                                        plait_dtype dtype, plait_op op, int32_t priority, plait_request** request);

/* Blocks until every tensor that this rank has pushed is done. Returns what broke the queue, or PLAIT_OK. Frees no
 * request. PLAIT_ERR_INVALID, PLAIT_ERR_STATE (forked child), and as a push's request. */
PLAIT_API plait_status plait_queue_flush(plait_queue* queue);

/* Breaks a queue: what is pushed, here and as soon as they hear of it on all ranks, ends with PLAIT_ERR_ABORTED. Not
 * collective; any thread; returns at once. The queue must still be destroyed. PLAIT_ERR_INVALID, PLAIT_ERR_STATE. */
PLAIT_API plait_status plait_queue_abort(plait_queue* queue);

/* What the queue has done, as text for people: its config, how many operations, rounds and bytes, what was fused and cut,
 * and what autotuning tried. What fits is written to `text`, the caller's, with a NUL behind it; *length is that of the
 * whole text. `text` may be NULL with capacity 0. PLAIT_ERR_INVALID, PLAIT_ERR_STATE (forked child). */
PLAIT_API plait_status plait_queue_explain(plait_queue* queue, char* text, size_t capacity, size_t* length);

/* Writes the timeline of the latest tensors that are done, as a Chrome trace (chrome://tracing, ui.perfetto.dev): of each
 * when it was queued, when all ranks had it, when its first operation began and its last ended, into how many it was cut
 * or with how many it was fused. Times are of the host's monotonic clock. Not collective.
 *   path  a file, made or replaced as a whole, readable by this user only
 * PLAIT_ERR_INVALID, PLAIT_ERR_SYSTEM (the text says why), PLAIT_ERR_STATE (forked child). */
PLAIT_API plait_status plait_queue_trace(plait_queue* queue, const char* path);

/* Ends a queue and frees it and all its requests. Collective, and waits as plait_comm_destroy does. The handle is gone in
 * every case but PLAIT_ERR_INVALID; tensors that were pending are abandoned (PLAIT_ERR_STATE says that some were).
 * PLAIT_ERR_TIMEOUT, PLAIT_ERR_PEER, PLAIT_ERR_SYSTEM (the trace): all the same it is gone. */
PLAIT_API plait_status plait_queue_destroy(plait_queue* queue);

#ifdef __cplusplus
}
#endif

#endif
