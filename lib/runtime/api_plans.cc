// plait.h: persistent plans of the collectives.
#include "runtime/api.h"

using namespace plait;
using namespace plait::runtime;
using collectives::Collective;

extern "C" {

plait_status plait_plan_allreduce(plait_comm* comm, const void* in, void* out, size_t count,
                                  plait_dtype dtype, plait_op op, const plait_call_config* config,
                                  plait_request** plan) {
  return runtime::plan(
      {"plait_plan_allreduce", comm, args::even(Collective::allreduce, in, out, count), dtype, op, config},
      plan);
}

plait_status plait_plan_reduce(plait_comm* comm, const void* in, void* out, size_t count, plait_dtype dtype,
                               plait_op op, int32_t root, const plait_call_config* config,
                               plait_request** plan) {
  return runtime::plan(
      {"plait_plan_reduce", comm, args::even(Collective::reduce, in, out, count, root), dtype, op, config},
      plan);
}

plait_status plait_plan_reduce_scatter(plait_comm* comm, const void* in, void* out, size_t out_count,
                                       plait_dtype dtype, plait_op op, const plait_call_config* config,
                                       plait_request** plan) {
  return runtime::plan({"plait_plan_reduce_scatter", comm,
                        args::even(Collective::reduce_scatter, in, out, out_count), dtype, op, config},
                       plan);
}

plait_status plait_plan_reduce_scatterv(plait_comm* comm, const void* in, void* out, const size_t* counts,
                                        plait_dtype dtype, plait_op op, const plait_call_config* config,
                                        plait_request** plan) {
  return runtime::plan(
      {"plait_plan_reduce_scatterv", comm, args::reduce_scatterv(in, out, counts), dtype, op, config}, plan);
}

plait_status plait_plan_allgather(plait_comm* comm, const void* in, void* out, size_t in_count,
                                  plait_dtype dtype, const plait_call_config* config, plait_request** plan) {
  return runtime::plan(
      {"plait_plan_allgather", comm, args::even(Collective::allgather, in, out, in_count), dtype, 0, config},
      plan);
}

plait_status plait_plan_allgatherv(plait_comm* comm, const void* in, void* out, const size_t* counts,
                                   const size_t* displacements, plait_dtype dtype,
                                   const plait_call_config* config, plait_request** plan) {
  return runtime::plan(
      {"plait_plan_allgatherv", comm, args::allgatherv(in, out, counts, displacements), dtype, 0, config},
      plan);
}

plait_status plait_plan_broadcast(plait_comm* comm, const void* in, void* out, size_t count,
                                  plait_dtype dtype, int32_t root, const plait_call_config* config,
                                  plait_request** plan) {
  return runtime::plan({"plait_plan_broadcast", comm, args::even(Collective::broadcast, in, out, count, root),
                        dtype, 0, config},
                       plan);
}

plait_status plait_plan_gather(plait_comm* comm, const void* in, void* out, size_t in_count,
                               plait_dtype dtype, int32_t root, const plait_call_config* config,
                               plait_request** plan) {
  return runtime::plan(
      {"plait_plan_gather", comm, args::even(Collective::gather, in, out, in_count, root), dtype, 0, config},
      plan);
}

plait_status plait_plan_gatherv(plait_comm* comm, const void* in, size_t in_count, void* out,
                                const size_t* counts, const size_t* displacements, plait_dtype dtype,
                                int32_t root, const plait_call_config* config, plait_request** plan) {
  return runtime::plan({"plait_plan_gatherv", comm,
                        args::gatherv(in, in_count, out, counts, displacements, root), dtype, 0, config},
                       plan);
}

plait_status plait_plan_scatter(plait_comm* comm, const void* in, void* out, size_t out_count,
                                plait_dtype dtype, int32_t root, const plait_call_config* config,
                                plait_request** plan) {
  return runtime::plan({"plait_plan_scatter", comm, args::even(Collective::scatter, in, out, out_count, root),
                        dtype, 0, config},
                       plan);
}

plait_status plait_plan_scatterv(plait_comm* comm, const void* in, const size_t* counts,
                                 const size_t* displacements, void* out, size_t out_count, plait_dtype dtype,
                                 int32_t root, const plait_call_config* config, plait_request** plan) {
  return runtime::plan({"plait_plan_scatterv", comm,
                        args::scatterv(in, counts, displacements, out, out_count, root), dtype, 0, config},
                       plan);
}

plait_status plait_plan_alltoall(plait_comm* comm, const void* in, void* out, size_t count, plait_dtype dtype,
                                 const plait_call_config* config, plait_request** plan) {
  return runtime::plan(
      {"plait_plan_alltoall", comm, args::even(Collective::alltoall, in, out, count), dtype, 0, config},
      plan);
}

plait_status plait_plan_alltoallv(plait_comm* comm, const void* in, const size_t* in_counts,
                                  const size_t* in_displacements, void* out, const size_t* out_counts,
                                  const size_t* out_displacements, plait_dtype dtype,
                                  const plait_call_config* config, plait_request** plan) {
  return runtime::plan({"plait_plan_alltoallv", comm,
                        args::alltoallv(in, in_counts, in_displacements, out, out_counts, out_displacements),
                        dtype, 0, config},
                       plan);
}

plait_status plait_plan_barrier(plait_comm* comm, const plait_call_config* config, plait_request** plan) {
  return runtime::plan({"plait_plan_barrier", comm, {}, PLAIT_UINT8, 0, config}, plan);
}

}  // extern "C"
