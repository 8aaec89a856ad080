// What the files that implement plait.h's operations share.
#pragma once

#include <string>

#include "runtime/library.h"

namespace plait::runtime {

// A collective call as it comes in, not checked.
struct Given {
  const char* function;  // "plait_allreduce", for errors
  plait_comm* comm;
  Args args;  // buffers, counts, root
  plait_dtype dtype;
  plait_op op;
  const plait_call_config* config;
};

// An operation is called, or made as a plan that is started later.
enum class Mode : uint8_t { call, plan };

// Makes the call, or starts it, or prepares it. `request` and `plan` as in collectives.h.
plait_status call(Given given, plait_request** request);
plait_status plan(Given given, plait_request** plan);

// Starts a request that was made, and waits for it unless `out` takes it or a group does.
plait_status start(Communicator& comm, plait_request* request, plait_request** out);

// Code::invalid with "FUNCTION: why".
Status bad(const char* function, const std::string& why);
Status check_dtype(const char* function, plait_dtype dtype);

inline bool is_request(const plait_request* r) noexcept {
  return r != nullptr && r->magic == plait_request::kMagic;
}
// A request that was never started has nothing to wait for.
inline bool settled(const plait_request* r) noexcept {
  return r->state == plait_request::State::done || r->state == plait_request::State::idle;
}

// Checks all of it, and completes given.args. `comm` is given.comm's.
Status check(Given& given, const Communicator& comm);

// What both the call and the plan of a collective give. Where a rank's own block is not said by a count of
// its own, check() finds it among the blocks.
namespace args {
using collectives::Collective;

inline Args even(Collective collective, const void* in, void* out, size_t count, int32_t root = 0) {
  Args a;
  a.collective = collective;
  a.in = in;
  a.out = out;
  a.count = count;
  a.root = root;
  return a;
}
inline Args uneven(Collective collective, const void* in, const Blocks& in_blocks, void* out,
                   const Blocks& out_blocks, size_t own_count = 0, int32_t root = 0) {
  Args a = even(collective, in, out, own_count, root);
  a.uneven = true;
  a.in_blocks = in_blocks;
  a.out_blocks = out_blocks;
  return a;
}
inline Args reduce_scatterv(const void* in, void* out, const size_t* counts) {
  return uneven(Collective::reduce_scatter, in, {counts, nullptr}, out, {});
}
inline Args allgatherv(const void* in, void* out, const size_t* counts, const size_t* displacements) {
  return uneven(Collective::allgather, in, {}, out, {counts, displacements});
}
inline Args gatherv(const void* in, size_t in_count, void* out, const size_t* counts,
                    const size_t* displacements, int32_t root) {
  return uneven(Collective::gather, in, {}, out, {counts, displacements}, in_count, root);
}
inline Args scatterv(const void* in, const size_t* counts, const size_t* displacements, void* out,
                     size_t out_count, int32_t root) {
  return uneven(Collective::scatter, in, {counts, displacements}, out, {}, out_count, root);
}
inline Args alltoallv(const void* in, const size_t* in_counts, const size_t* in_displacements, void* out,
                      const size_t* out_counts, const size_t* out_displacements) {
  return uneven(Collective::alltoall, in, {in_counts, in_displacements}, out,
                {out_counts, out_displacements});
}
}  // namespace args

}  // namespace plait::runtime
