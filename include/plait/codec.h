/* plait: gradient compression in the C API. Included by plait.h, which has its conventions; include that one.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A codec is asked for by plait_call_config.codec, for each call: allreduce, reduce, reduce_scatter, allgather and
 * broadcast of one count. docs/compression.md lists plait's own and what they cost. The text is a name and options:
 * "int8", "int8:block=64,rounding=stochastic", "topk:ratio=0.01,links=hosts". Besides those of the codec, all take
 *   links=all|hosts   which messages are encoded: all (default), or those between ranks of different hosts
 *   at=hop|edge       hop: partial sums are decoded, added to and encoded again at each hop; edge: each rank encodes its
 *                     values once and adds up what all ranks encoded. Default: what suits the codec
 *   use=pays|always   pays (default): the call is made without the codec where plait predicts that it takes no less time
 * The text is alike on all ranks, else PLAIT_ERR_MISMATCH. A codec that loses something sums and averages floats; all ranks
 * still get the same bits. It goes with no deterministic communicator.
 */
#ifndef PLAIT_CODEC_H
#define PLAIT_CODEC_H

#include <plait/plait.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A codec of the user's own. Functions are called from the threads that drive communicators, several at once where several
 * do; they must not call plait, block or throw. They see any piece of a tensor, of `count` elements of `dtype`: the vector
 * is cut into pieces, differently from call to call. Pointers are aligned to 8 bytes where the caller's buffers are. */
typedef struct plait_codec_desc {
  size_t struct_size;
  const char* name;        /* letters, digits, '_'; none of plait's own; alike on all ranks, as is what it does */
  void* context;           /* passed to the functions; outlives the last plait_finalize */
  uint32_t dtypes;         /* a bit for each, 1 << PLAIT_FLOAT32; 0: float32 alone */
  int32_t exact;           /* not 0: decode gives back every bit; then any op and dtype listed goes */
  size_t state_bytes;      /* what is kept for each element of a tensor from call to call, zero at first; 0: nothing */
  double ratio;            /* bytes of wire a byte of values, about: what plait predicts by; 0: 1 */
  double encode_ns, decode_ns; /* nanoseconds a byte of values; 0: as copying */
  /* Bytes that `count` elements may take encoded: ascending in count, alike on all ranks. */
  size_t (*bound)(void* context, size_t count, plait_dtype dtype);
  /* Encodes into `wire`, which has room for bound(count), and returns the length. state: state_bytes for each element,
   * the first for the first; NULL without. */
  size_t (*encode)(void* context, const void* values, size_t count, plait_dtype dtype, void* state, void* wire);
  /* Decodes `bytes` bytes, which come from another process and may be anything. 0, or else it makes no sense: the call
   * then fails. */
  int (*decode)(void* context, const void* wire, size_t bytes, void* values, size_t count, plait_dtype dtype);
  /* The same, added to what lies in `values`. NULL: plait decodes, and adds. */
  int (*decode_reduce)(void* context, const void* wire, size_t bytes, void* values, size_t count, plait_dtype dtype);
} plait_codec_desc;

/* Makes a codec known to this process, by its name. It stays so until the process ends. Not collective. Any thread.
 * PLAIT_ERR_INVALID (an argument, a name that is taken), PLAIT_ERR_STATE (no plait_init, forked child). */
PLAIT_API plait_status plait_codec_register(const plait_codec_desc* desc);

/* What codecs with state keep for the tensors of a communicator, on this rank: what was left out of earlier calls. Save it
 * with a checkpoint, on each rank, and load it into a communicator with as many ranks, on the same rank: it goes on as
 * if nothing had happened.
 *   comm      nothing may be pending on it
 *   buffer    `capacity` bytes, the caller's; NULL with capacity 0
 *   length    gets the bytes of the whole state; where capacity is less, nothing is written
 * As the driving thread. PLAIT_ERR_INVALID, PLAIT_ERR_STATE (pending operations). */
PLAIT_API plait_status plait_codec_state_save(plait_comm* comm, void* buffer, size_t capacity, size_t* length);

/* Takes over `length` bytes that plait_codec_state_save wrote, in place of all that the communicator has. The bytes are
 * checked: PLAIT_ERR_INVALID for what is none, or was changed, and nothing is taken. PLAIT_ERR_STATE, PLAIT_ERR_MEMORY. */
PLAIT_API plait_status plait_codec_state_load(plait_comm* comm, const void* buffer, size_t length);

/* What codecs did on a communicator, on this rank, since it was made. */
typedef struct plait_codec_stats {
  size_t struct_size;     /* set by the caller */
  uint64_t calls;         /* made with a codec */
  uint64_t plain_calls;   /* that named one and were made without, since it was not predicted to pay */
  uint64_t value_bytes;   /* of values that this rank encoded */
  uint64_t wire_bytes;    /* that they became, with 8 bytes a message; the factors of a matrix, without */
} plait_codec_stats;

/* As the driving thread. PLAIT_ERR_INVALID, PLAIT_ERR_STATE (forked child). */
PLAIT_API plait_status plait_codec_get_stats(plait_comm* comm, plait_codec_stats* stats);

#ifdef __cplusplus
}
#endif

#endif
