/* plait: the collectives of the C API. Included by plait.h, which has its conventions; include that one.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Every collective below:
 *   config   NULL, or how to make the call
 *   request  where the handle of the started operation goes; it ends by plait_request_free. NULL: the call blocks until
 *            the operation is done and returns what it came to.
 * Buffers: `in` and `out` must not overlap, unless they are exactly in place as said at each function. In place or not
 * is the same on all ranks; of those with a root (broadcast, reduce, gather, scatter) it is the root's own affair, and
 * a rank whose own block is empty has nothing to say. `in` may be read and `out` written by this rank and its peers
 * until the operation is done; after an error they may be reused once plait_comm_destroy returned, and `out` holds
 * nothing meaningful.
 * Counts are in elements of `dtype`; a count whose bytes overflow size_t is PLAIT_ERR_INVALID; 0 is fine, and a buffer of
 * no elements may be NULL.
 * Uneven blocks, in the calls whose names end in v: `counts` has an element a rank, the elements of its block;
 * `displacements` has one a rank, too, where its block begins, in elements from the beginning of the buffer, in any
 * order; NULL: blocks lie one behind the other. Blocks of an output must not overlap, what lies between them is left as
 * it is. Where the block of an empty count begins does not matter. A sum of counts, or the end of a block, whose bytes
 * overflow size_t is PLAIT_ERR_INVALID. The arrays are the caller's, and are used during the call only: a request and a
 * plan keep copies.
 * Statuses of each: PLAIT_ERR_INVALID (nothing started), PLAIT_ERR_UNSUPPORTED (dtype, op, algorithm),
 * PLAIT_ERR_ABORTED, PLAIT_ERR_STATE (forked child); and, when the operation is waited for, PLAIT_ERR_PEER,
 * PLAIT_ERR_TIMEOUT, PLAIT_ERR_MISMATCH, PLAIT_ERR_ABORTED, PLAIT_ERR_MEMORY, PLAIT_ERR_SYSTEM. After one of these the
 * communicator is broken: every later call on it returns the same status.
 * PLAIT_ERR_MISMATCH reaches every rank; a rank whose part was already done when the difference showed (the root of a
 * broadcast, say) gets it from its next call or wait.
 */
#ifndef PLAIT_COLLECTIVES_H
#define PLAIT_COLLECTIVES_H

#include <plait/plait.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reductions ---------------------------------------------------------------------------------------------- */

/* out[i] = in[i] of rank 0 (op) in[i] of rank 1 ...; `count` elements each. In place: in == out. */
PLAIT_API plait_status plait_allreduce(plait_comm* comm, const void* in, void* out, size_t count, plait_dtype dtype,
                                       plait_op op, const plait_call_config* config, plait_request** request);

/* As allreduce, but the result goes to `out` of `root` alone; `out` is ignored elsewhere. In place: in == out at the
 * root. */
PLAIT_API plait_status plait_reduce(plait_comm* comm, const void* in, void* out, size_t count, plait_dtype dtype,
                                    plait_op op, int32_t root, const plait_call_config* config,
                                    plait_request** request);

/* Rank r gets elements [r * out_count, (r + 1) * out_count) of the reduction of `in` (size * out_count elements) in
 * `out` (out_count). In place: out == in + rank * out_count elements. */
PLAIT_API plait_status plait_reduce_scatter(plait_comm* comm, const void* in, void* out, size_t out_count,
                                            plait_dtype dtype, plait_op op, const plait_call_config* config,
                                            plait_request** request);

/* The same with blocks of any size: `in` holds the blocks of all ranks one behind the other, counts[r] elements that of
 * rank r, and rank r gets the reduction of its block in `out` (counts[r] elements). `counts` is alike on all ranks.
 * In place: out == in + the sum of the counts of the ranks before. */
PLAIT_API plait_status plait_reduce_scatterv(plait_comm* comm, const void* in, void* out, const size_t* counts,
                                             plait_dtype dtype, plait_op op, const plait_call_config* config,
                                             plait_request** request);

/* ---- everybody's blocks to all, or one's to all --------------------------------------------------------------- */

/* `out` (size * in_count elements) gets `in` (in_count) of each rank, in order of ranks.
 * In place: in == out + rank * in_count elements. */
PLAIT_API plait_status plait_allgather(plait_comm* comm, const void* in, void* out, size_t in_count, plait_dtype dtype,
                                       const plait_call_config* config, plait_request** request);

/* The same with blocks of any size: rank r gives counts[r] elements in `in`, which go to displacements[r] of `out` on
 * every rank. `counts` is alike on all ranks; displacements may differ.
 * In place: in == out + displacements[rank] elements. */
PLAIT_API plait_status plait_allgatherv(plait_comm* comm, const void* in, void* out, const size_t* counts,
                                        const size_t* displacements, plait_dtype dtype,
                                        const plait_call_config* config, plait_request** request);

/* `out` of every rank gets `in` of `root`; `count` elements. `in` is ignored elsewhere. In place: in == out on the root. */
PLAIT_API plait_status plait_broadcast(plait_comm* comm, const void* in, void* out, size_t count, plait_dtype dtype,
                                       int32_t root, const plait_call_config* config, plait_request** request);

/* ---- everybody's blocks to one, or one's to everybody ---------------------------------------------------------- */

/* `out` of `root` (size * in_count elements) gets `in` (in_count) of each rank, in order of ranks; `out` is ignored
 * elsewhere. In place: in == out + root * in_count elements at the root. */
PLAIT_API plait_status plait_gather(plait_comm* comm, const void* in, void* out, size_t in_count, plait_dtype dtype,
                                    int32_t root, const plait_call_config* config, plait_request** request);

/* The same with blocks of any size: rank r gives in_count elements in `in`, which go to displacements[r] of the root's
 * `out`. out, counts and displacements are read at the root only, where counts[r] must be what rank r gives: a
 * difference is PLAIT_ERR_MISMATCH. In place: in == out + displacements[root] elements at the root. */
PLAIT_API plait_status plait_gatherv(plait_comm* comm, const void* in, size_t in_count, void* out,
                                     const size_t* counts, const size_t* displacements, plait_dtype dtype, int32_t root,
                                     const plait_call_config* config, plait_request** request);

/* Rank r gets elements [r * out_count, (r + 1) * out_count) of the root's `in` (size * out_count elements) in `out`
 * (out_count). `in` is ignored elsewhere. In place: out == in + root * out_count elements at the root. */
PLAIT_API plait_status plait_scatter(plait_comm* comm, const void* in, void* out, size_t out_count, plait_dtype dtype,
                                     int32_t root, const plait_call_config* config, plait_request** request);

/* The same with blocks of any size: rank r gets counts[r] elements from displacements[r] of the root's `in` on. in,
 * counts and displacements are read at the root only, where counts[r] must be the out_count of rank r: a difference is
 * PLAIT_ERR_MISMATCH. In place: out == in + displacements[root] elements at the root. */
PLAIT_API plait_status plait_scatterv(plait_comm* comm, const void* in, const size_t* counts,
                                      const size_t* displacements, void* out, size_t out_count, plait_dtype dtype,
                                      int32_t root, const plait_call_config* config, plait_request** request);

/* ---- each to each ---------------------------------------------------------------------------------------------- */

/* Block s of `out` gets block r of `in` of rank s, on rank r; both have `size` blocks of `count` elements.
 * In place: in == out. */
PLAIT_API plait_status plait_alltoall(plait_comm* comm, const void* in, void* out, size_t count, plait_dtype dtype,
                                      const plait_call_config* config, plait_request** request);

/* The same with blocks of any size: in_counts[r] elements from in_displacements[r] of `in` on go to rank r, and
 * out_counts[s] elements from rank s go to out_displacements[s] of `out`, which must be what rank s sends: a difference
 * is PLAIT_ERR_MISMATCH. In place: in == out, with the same counts and displacements for both. */
PLAIT_API plait_status plait_alltoallv(plait_comm* comm, const void* in, const size_t* in_counts,
                                       const size_t* in_displacements, void* out, const size_t* out_counts,
                                       const size_t* out_displacements, plait_dtype dtype,
                                       const plait_call_config* config, plait_request** request);

/* Done when every rank has called it. */
PLAIT_API plait_status plait_barrier(plait_comm* comm, const plait_call_config* config, plait_request** request);

/* ---- persistent plans ---------------------------------------------------------------------------------------- */

/* As the calls above, but only prepared: *plan is a request that is not started. It binds everything, the pointers too
 * (of count arrays it keeps copies); plait_start starts it, any number of times, each start after the one before was
 * seen to be done (plait_test or plait_wait). Starts match other ranks' starts or calls by order, as all operations do:
 * a plan on one rank may meet a plain call on another. It ends by plait_request_free, not while started. */
PLAIT_API plait_status plait_plan_allreduce(plait_comm* comm, const void* in, void* out, size_t count,
                                            plait_dtype dtype, plait_op op, const plait_call_config* config,
                                            plait_request** plan);
PLAIT_API plait_status plait_plan_reduce(plait_comm* comm, const void* in, void* out, size_t count, plait_dtype dtype,
                                         plait_op op, int32_t root, const plait_call_config* config,
                                         plait_request** plan);
PLAIT_API plait_status plait_plan_reduce_scatter(plait_comm* comm, const void* in, void* out, size_t out_count,
                                                 plait_dtype dtype, plait_op op, const plait_call_config* config,
                                                 plait_request** plan);
PLAIT_API plait_status plait_plan_reduce_scatterv(plait_comm* comm, const void* in, void* out, const size_t* counts,
                                                  plait_dtype dtype, plait_op op, const plait_call_config* config,
                                                  plait_request** plan);
PLAIT_API plait_status plait_plan_allgather(plait_comm* comm, const void* in, void* out, size_t in_count,
                                            plait_dtype dtype, const plait_call_config* config, plait_request** plan);
PLAIT_API plait_status plait_plan_allgatherv(plait_comm* comm, const void* in, void* out, const size_t* counts,
                                             const size_t* displacements, plait_dtype dtype,
                                             const plait_call_config* config, plait_request** plan);
PLAIT_API plait_status plait_plan_broadcast(plait_comm* comm, const void* in, void* out, size_t count,
                                            plait_dtype dtype, int32_t root, const plait_call_config* config,
                                            plait_request** plan);
PLAIT_API plait_status plait_plan_gather(plait_comm* comm, const void* in, void* out, size_t in_count,
                                         plait_dtype dtype, int32_t root, const plait_call_config* config,
                                         plait_request** plan);
PLAIT_API plait_status plait_plan_gatherv(plait_comm* comm, const void* in, size_t in_count, void* out,
                                          const size_t* counts, const size_t* displacements, plait_dtype dtype,
                                          int32_t root, const plait_call_config* config, plait_request** plan);
PLAIT_API plait_status plait_plan_scatter(plait_comm* comm, const void* in, void* out, size_t out_count,
                                          plait_dtype dtype, int32_t root, const plait_call_config* config,
                                          plait_request** plan);
PLAIT_API plait_status plait_plan_scatterv(plait_comm* comm, const void* in, const size_t* counts,
                                           const size_t* displacements, void* out, size_t out_count, plait_dtype dtype,
                                           int32_t root, const plait_call_config* config, plait_request** plan);
PLAIT_API plait_status plait_plan_alltoall(plait_comm* comm, const void* in, void* out, size_t count,
                                           plait_dtype dtype, const plait_call_config* config, plait_request** plan);
PLAIT_API plait_status plait_plan_alltoallv(plait_comm* comm, const void* in, const size_t* in_counts,
                                            const size_t* in_displacements, void* out, const size_t* out_counts,
                                            const size_t* out_displacements, plait_dtype dtype,
                                            const plait_call_config* config, plait_request** plan);
PLAIT_API plait_status plait_plan_barrier(plait_comm* comm, const plait_call_config* config, plait_request** plan);

/* Starts a plan. PLAIT_ERR_STATE while it is started; PLAIT_ERR_INVALID for a request that is no plan. */
PLAIT_API plait_status plait_start(plait_request* plan);

#ifdef __cplusplus
}
#endif

#endif
