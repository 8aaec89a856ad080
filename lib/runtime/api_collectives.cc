// plait.h: operators, and the calls of the collectives.
#include <algorithm>
#include <cstring>

#include "runtime/api.h"
#include "runtime/group.h"
#include "runtime/operators.h"

using namespace plait;
using namespace plait::runtime;
using collectives::Collective;

namespace plait::runtime {
namespace {

plait_status finish(Communicator& comm, plait_request* request) {
  comm.wait(request);
  if (request->result.ok()) [[likely]] {
    comm.release(request);
    return PLAIT_OK;
  }
  const Status status = request->result;
  comm.release(request);
  return report(comm, status);
}

// A request of the call, checked, not started.
Result<plait_request*> make(Given& given, Communicator& comm, Mode mode) {
  PLAIT_TRY(check(given, comm));
  return comm.make(given.args, mode == Mode::plan);
}

plait_status run(Given& given, plait_request** out, Mode mode) {
  if (given.comm == nullptr || given.comm->magic != plait_comm::kMagic) {
    return report(
        {Code::invalid, std::string(given.function) + ": the communicator is NULL or was destroyed"});
  }
  if (forked()) return report(check_ready());
  Communicator& comm = *given.comm->impl;
  if (mode == Mode::plan && out == nullptr)
    return report(comm, {Code::invalid, std::string(given.function) + ": plan is NULL"});
  auto request = make(given, comm, mode);
  if (!request.ok()) return report(comm, request.status());
  if (mode == Mode::call) return start(comm, *request, out);
  *out = *request;
  return PLAIT_OK;
}

// Takes a copy, which is made where it is called: what even() looks at has no address, and stays in
// registers.
[[gnu::noinline]] plait_status checked(const char* function, plait_comm* comm, EvenCall what,
                                       const plait_call_config* config, plait_request** out) {
  Given given{function,   comm,    args::even(what.collective, what.in, what.out, what.count, what.root),
              what.dtype, what.op, config};
  return run(given, out, Mode::call);
}

// A call in which all ranks give the same count. One that is like the last one needs no more than this.
// Inlined, so that what is called stays in registers: two stores that one load spans are waited for.
[[gnu::always_inline]] inline plait_status even(const char* function, plait_comm* comm, const EvenCall what,
                                                const plait_call_config* config, plait_request** out) {
  const bool there = comm != nullptr && comm->magic == plait_comm::kMagic && !forked();
  if (!there || config != nullptr) return checked(function, comm, what, config, out);
  Communicator& c = *comm->impl;
  plait_request* const ready = c.ready_for(what);
  if (ready == nullptr) return checked(function, comm, what, config, out);
  if (out == nullptr && c.may_run_now(*ready, what.in, what.out) && !in_group())
    return c.run_now(*ready, what.in, what.out) ? PLAIT_OK : finish(c, ready);
  c.take_ready(*ready, what.in, what.out);
  return start(c, ready, out);
}

}  // namespace

plait_status start(Communicator& comm, plait_request* request, plait_request** out) {
  const bool together = out == nullptr && in_group();
  comm.start(request, together);
  if (out != nullptr) {
    *out = request;
    return PLAIT_OK;
  }
  if (together) {
    defer(request);
    return PLAIT_OK;
  }
  return finish(comm, request);
}

plait_status call(Given given, plait_request** request) { return run(given, request, Mode::call); }
plait_status plan(Given given, plait_request** out) { return run(given, out, Mode::plan); }

}  // namespace plait::runtime

extern "C" {

plait_status plait_op_create(const plait_op_desc* desc, plait_op* op) {
  if (desc == nullptr || op == nullptr)
    return report({Code::invalid, "plait_op_create: an argument is NULL"});
  Status status = check_ready();
  plait_op_desc given{};
  if (status.ok()) status = check_struct(desc, desc->struct_size, sizeof given, "plait_op_desc");
  if (!status.ok()) return report(status);
  std::memcpy(&given, desc, std::min(desc->struct_size, sizeof given));
  auto made = add_operator(given);
  if (!made.ok()) return report(made.status());
  *op = *made;
  return PLAIT_OK;
}

plait_status plait_op_free(plait_op op) {
  Status status = check_ready();
  return report(status.ok() ? remove_operator(op) : status);
}

plait_status plait_allreduce(plait_comm* comm, const void* in, void* out, size_t count, plait_dtype dtype,
                             plait_op op, const plait_call_config* config, plait_request** request) {
  return even("plait_allreduce", comm, {Collective::allreduce, 0, in, out, count, dtype, op}, config,
              request);
}

plait_status plait_reduce(plait_comm* comm, const void* in, void* out, size_t count, plait_dtype dtype,
                          plait_op op, int32_t root, const plait_call_config* config,
                          plait_request** request) {
  return even("plait_reduce", comm, {Collective::reduce, root, in, out, count, dtype, op}, config, request);
}

plait_status plait_reduce_scatter(plait_comm* comm, const void* in, void* out, size_t out_count,
                                  plait_dtype dtype, plait_op op, const plait_call_config* config,
                                  plait_request** request) {
  return even("plait_reduce_scatter", comm, {Collective::reduce_scatter, 0, in, out, out_count, dtype, op},
              config, request);
}

plait_status plait_reduce_scatterv(plait_comm* comm, const void* in, void* out, const size_t* counts,
                                   plait_dtype dtype, plait_op op, const plait_call_config* config,
                                   plait_request** request) {
  return call({"plait_reduce_scatterv", comm, args::reduce_scatterv(in, out, counts), dtype, op, config},
              request);
}

plait_status plait_allgather(plait_comm* comm, const void* in, void* out, size_t in_count, plait_dtype dtype,
                             const plait_call_config* config, plait_request** request) {
  return even("plait_allgather", comm, {Collective::allgather, 0, in, out, in_count, dtype, 0}, config,
              request);
}

plait_status plait_allgatherv(plait_comm* comm, const void* in, void* out, const size_t* counts,
                              const size_t* displacements, plait_dtype dtype, const plait_call_config* config,
                              plait_request** request) {
  return call({"plait_allgatherv", comm, args::allgatherv(in, out, counts, displacements), dtype, 0, config},
              request);
}

plait_status plait_broadcast(plait_comm* comm, const void* in, void* out, size_t count, plait_dtype dtype,
                             int32_t root, const plait_call_config* config, plait_request** request) {
  return even("plait_broadcast", comm, {Collective::broadcast, root, in, out, count, dtype, 0}, config,
              request);
}

plait_status plait_gather(plait_comm* comm, const void* in, void* out, size_t in_count, plait_dtype dtype,
                          int32_t root, const plait_call_config* config, plait_request** request) {
  return even("plait_gather", comm, {Collective::gather, root, in, out, in_count, dtype, 0}, config, request);
}

plait_status plait_gatherv(plait_comm* comm, const void* in, size_t in_count, void* out, const size_t* counts,
                           const size_t* displacements, plait_dtype dtype, int32_t root,
                           const plait_call_config* config, plait_request** request) {
  return call({"plait_gatherv", comm, args::gatherv(in, in_count, out, counts, displacements, root), dtype, 0,
               config},
              request);
}

plait_status plait_scatter(plait_comm* comm, const void* in, void* out, size_t out_count, plait_dtype dtype,
                           int32_t root, const plait_call_config* config, plait_request** request) {
  return even("plait_scatter", comm, {Collective::scatter, root, in, out, out_count, dtype, 0}, config,
              request);
}

plait_status plait_scatterv(plait_comm* comm, const void* in, const size_t* counts,
                            const size_t* displacements, void* out, size_t out_count, plait_dtype dtype,
                            int32_t root, const plait_call_config* config, plait_request** request) {
  return call({"plait_scatterv", comm, args::scatterv(in, counts, displacements, out, out_count, root), dtype,
               0, config},
              request);
}

plait_status plait_alltoall(plait_comm* comm, const void* in, void* out, size_t count, plait_dtype dtype,
                            const plait_call_config* config, plait_request** request) {
  return even("plait_alltoall", comm, {Collective::alltoall, 0, in, out, count, dtype, 0}, config, request);
}

plait_status plait_alltoallv(plait_comm* comm, const void* in, const size_t* in_counts,
                             const size_t* in_displacements, void* out, const size_t* out_counts,
                             const size_t* out_displacements, plait_dtype dtype,
                             const plait_call_config* config, plait_request** request) {
  return call({"plait_alltoallv", comm,
               args::alltoallv(in, in_counts, in_displacements, out, out_counts, out_displacements), dtype, 0,
               config},
              request);
}

plait_status plait_barrier(plait_comm* comm, const plait_call_config* config, plait_request** request) {
  return even("plait_barrier", comm, {}, config, request);
}

}  // extern "C"
