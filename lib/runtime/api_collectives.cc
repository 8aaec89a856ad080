// plait.h: collectives, plans and requests.
#include <sched.h>
#include <time.h>

#include <cstring>
#include <limits>

#include "runtime/library.h"
#include "runtime/names.h"

using namespace plait;
using namespace plait::runtime;
using collectives::Collective;

namespace {

Status bad(const char* function, const std::string& why) {
  return {Code::invalid, std::string(function) + ": " + why};
}

Status check_dtype(const char* function, plait_dtype dtype) {
  if (int(dtype) >= 0 && int(dtype) < collectives::kDtypes) return {};
  if (dtype == PLAIT_FLOAT8_E4M3 || dtype == PLAIT_FLOAT8_E5M2) {
    return {Code::unsupported, std::string(function) + ": " + std::string(dtype_name(dtype)) +
                                   " is reserved, this version does not have it"};
  }
  return bad(function, "dtype " + std::to_string(int(dtype)) + " is unknown");
}

Status check_op(const char* function, plait_op op) {
  if (op >= 0 && op < collectives::kReduceOps) return {};
  if (op == PLAIT_PREMULTIPLIED_SUM || op >= 1024) {
    return {Code::unsupported, std::string(function) + ": op " + std::to_string(op) +
                                   " is reserved, this version does not have it"};
  }
  return bad(function, "op " + std::to_string(op) + " is unknown");
}

Status check_config(const char* function, const plait_call_config* config, Args& args) {
  if (config == nullptr) return {};
  plait_call_config given{};
  PLAIT_TRY(check_struct(config, config->struct_size, sizeof given, "plait_call_config"));
  std::memcpy(&given, config, std::min(config->struct_size, sizeof given));
  if (given.codec != nullptr)
    return {Code::unsupported,
            std::string(function) + ": codecs are not in this version; codec must be NULL"};
  if (given.timeout_ms < 0) return bad(function, "plait_call_config.timeout_ms is negative");
  args.timeout_ms = given.timeout_ms;
  if (given.algorithm == nullptr || *given.algorithm == 0) return {};
  args.algorithm = given.algorithm;
  // The table's own name from here on: it lives for ever and is compared by address.
  if (const auto* a = collectives::find_algorithm(args.collective, given.algorithm)) args.algorithm = a->name;
  return {};
}

// Do [a, a + abytes) and [b, b + bbytes) overlap?
bool overlap(const void* a, size_t abytes, const void* b, size_t bbytes) noexcept {
  const auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
  return abytes > 0 && bbytes > 0 && x < y + bbytes && y < x + abytes;
}

Status check_buffers(const char* function, const Args& a, int32_t rank, int32_t size) {
  const size_t element = collectives::size_of(a.dtype);
  const bool whole_in = a.collective != Collective::allgather,
             whole_out = a.collective != Collective::reduce_scatter;
  const bool times = a.collective == Collective::reduce_scatter || a.collective == Collective::allgather;
  const uint64_t factor = element * (times ? uint64_t(size) : 1);
  uint64_t most = 0;
  if (__builtin_mul_overflow(a.count, factor, &most) ||
      most > uint64_t(std::numeric_limits<ptrdiff_t>::max())) {
    return bad(function, "a count of " + std::to_string(a.count) + " overflows the size of memory");
  }
  if (a.count == 0) return {};
  const bool reads = a.collective != Collective::broadcast || rank == a.root;
  if ((reads && a.in == nullptr) || a.out == nullptr) return bad(function, "a buffer is NULL");
  if (!reads) return {};
  const size_t in_bytes = size_t(a.count) * (whole_in && times ? factor : element);
  const size_t out_bytes = size_t(a.count) * (whole_out && times ? factor : element);
  const auto* in = static_cast<const std::byte*>(a.in);
  const auto* out = static_cast<const std::byte*>(a.out);
  const size_t shift = size_t(rank) * a.count * element;
  const bool in_place = a.collective == Collective::reduce_scatter ? out == in + shift
                        : a.collective == Collective::allgather    ? in == out + shift
                                                                   : in == out;
  if (!in_place && overlap(in, in_bytes, out, out_bytes)) {
    return bad(function, "in and out overlap, and are not in place as plait.h says");
  }
  return {};
}

Status check_call(const char* function, Communicator& comm, Args& args, plait_dtype dtype, plait_op op,
                  const plait_call_config* config) {
  if (args.collective != Collective::barrier) PLAIT_TRY(check_dtype(function, dtype));
  if (collectives::reduces(args.collective)) PLAIT_TRY(check_op(function, op));
  args.dtype = collectives::Dtype(dtype);
  args.op = collectives::ReduceOp(op);
  if (args.root < 0 || args.root >= comm.size()) {
    return bad(function,
               "root " + std::to_string(args.root) + " is not in 0.." + std::to_string(comm.size() - 1));
  }
  PLAIT_TRY(check_config(function, config, args));
  return args.collective == Collective::barrier ? Status()
                                                : check_buffers(function, args, comm.rank(), comm.size());
}

enum class Mode : uint8_t { call, plan };

plait_status run(const char* function, plait_comm* handle, Args args, plait_dtype dtype, plait_op op,
                 const plait_call_config* config, plait_request** out, Mode mode) {
  if (handle == nullptr || handle->magic != plait_comm::kMagic)
    return report(bad(function, "the communicator is NULL or was destroyed"));
  if (forked()) return report(check_ready());
  Communicator& comm = *handle->impl;
  if (mode == Mode::plan && out == nullptr) return report(comm, bad(function, "plan is NULL"));
  Status status = check_call(function, comm, args, dtype, op, config);
  if (!status.ok()) return report(comm, status);
  auto request = comm.make(args, mode == Mode::plan);
  if (!request.ok()) return report(comm, request.status());
  if (mode == Mode::plan) {
    *out = *request;
    return PLAIT_OK;
  }
  comm.start(*request);
  if (out != nullptr) {
    *out = *request;
    return PLAIT_OK;
  }
  comm.wait(*request);
  status = (*request)->result;
  comm.release(*request);
  return status.ok() ? PLAIT_OK : report(comm, status);
}

bool is_request(const plait_request* r) noexcept { return r != nullptr && r->magic == plait_request::kMagic; }

plait_status no_request(const char* function) {
  return report({Code::invalid, std::string(function) + ": the request is NULL or was freed"});
}

plait_status outcome(plait_request* request) noexcept {
  return request->result.ok() ? PLAIT_OK : report(*request->comm, request->result);
}

using State = plait_request::State;

// A request that was never started has nothing to wait for.
bool settled(const plait_request* r) noexcept { return r->state == State::done || r->state == State::idle; }

// Between rounds of plait_wait_any, which polls several communicators: yields, then naps.
void pause_round(uint32_t round) noexcept {
  if (round < 1000) {
    sched_yield();
  } else {
    const timespec nap{0, 50'000};
    nanosleep(&nap, nullptr);
  }
}

}  // namespace

extern "C" {

plait_status plait_op_create(const plait_op_desc* desc, plait_op* op) {
  if (desc == nullptr || op == nullptr)
    return report({Code::invalid, "plait_op_create: an argument is NULL"});
  return report({Code::unsupported, "plait_op_create: operators of the user's own are not in this version"});
}

plait_status plait_op_free(plait_op op) {
  return report(
      {Code::invalid, "plait_op_free: op " + std::to_string(op) + " was not made by plait_op_create"});
}

#define PLAIT_ALLREDUCE_ARGS \
  { Collective::allreduce, in, out, count, {}, {}, 0, {}, 0 }
#define PLAIT_REDUCE_SCATTER_ARGS \
  { Collective::reduce_scatter, in, out, out_count, {}, {}, 0, {}, 0 }
#define PLAIT_ALLGATHER_ARGS \
  { Collective::allgather, in, out, in_count, {}, {}, 0, {}, 0 }
#define PLAIT_BROADCAST_ARGS \
  { Collective::broadcast, in, out, count, {}, {}, root, {}, 0 }

plait_status plait_allreduce(plait_comm* comm, const void* in, void* out, size_t count, plait_dtype dtype,
                             plait_op op, const plait_call_config* config, plait_request** request) {
  return run("plait_allreduce", comm, PLAIT_ALLREDUCE_ARGS, dtype, op, config, request, Mode::call);
}

plait_status plait_reduce_scatter(plait_comm* comm, const void* in, void* out, size_t out_count,
                                  plait_dtype dtype, plait_op op, const plait_call_config* config,
                                  plait_request** request) {
  return run("plait_reduce_scatter", comm, PLAIT_REDUCE_SCATTER_ARGS, dtype, op, config, request, Mode::call);
}

plait_status plait_allgather(plait_comm* comm, const void* in, void* out, size_t in_count, plait_dtype dtype,
                             const plait_call_config* config, plait_request** request) {
  return run("plait_allgather", comm, PLAIT_ALLGATHER_ARGS, dtype, 0, config, request, Mode::call);
}

plait_status plait_broadcast(plait_comm* comm, const void* in, void* out, size_t count, plait_dtype dtype,
                             int32_t root, const plait_call_config* config, plait_request** request) {
  return run("plait_broadcast", comm, PLAIT_BROADCAST_ARGS, dtype, 0, config, request, Mode::call);
}

plait_status plait_barrier(plait_comm* comm, const plait_call_config* config, plait_request** request) {
  return run("plait_barrier", comm, {}, PLAIT_UINT8, 0, config, request, Mode::call);
}

plait_status plait_plan_allreduce(plait_comm* comm, const void* in, void* out, size_t count,
                                  plait_dtype dtype, plait_op op, const plait_call_config* config,
                                  plait_request** plan) {
  return run("plait_plan_allreduce", comm, PLAIT_ALLREDUCE_ARGS, dtype, op, config, plan, Mode::plan);
}

plait_status plait_plan_reduce_scatter(plait_comm* comm, const void* in, void* out, size_t out_count,
                                       plait_dtype dtype, plait_op op, const plait_call_config* config,
                                       plait_request** plan) {
  return run("plait_plan_reduce_scatter", comm, PLAIT_REDUCE_SCATTER_ARGS, dtype, op, config, plan,
             Mode::plan);
}

plait_status plait_plan_allgather(plait_comm* comm, const void* in, void* out, size_t in_count,
                                  plait_dtype dtype, const plait_call_config* config, plait_request** plan) {
  return run("plait_plan_allgather", comm, PLAIT_ALLGATHER_ARGS, dtype, 0, config, plan, Mode::plan);
}

plait_status plait_plan_broadcast(plait_comm* comm, const void* in, void* out, size_t count,
                                  plait_dtype dtype, int32_t root, const plait_call_config* config,
                                  plait_request** plan) {
  return run("plait_plan_broadcast", comm, PLAIT_BROADCAST_ARGS, dtype, 0, config, plan, Mode::plan);
}

plait_status plait_plan_barrier(plait_comm* comm, const plait_call_config* config, plait_request** plan) {
  return run("plait_plan_barrier", comm, {}, PLAIT_UINT8, 0, config, plan, Mode::plan);
}

plait_status plait_start(plait_request* plan) {
  if (!is_request(plan)) return no_request("plait_start");
  if (forked()) return report(check_ready());
  if (!plan->persistent)
    return report(*plan->comm, {Code::invalid, "plait_start: the request is not a plan"});
  if (!settled(plan))
    return report(*plan->comm, {Code::state, "plait_start: the plan is started and not done"});
  Status status = plan->comm->broken();
  if (!status.ok()) return report(*plan->comm, status);
  plan->comm->start(plan);
  return PLAIT_OK;
}

plait_status plait_test(plait_request* request, int* done) {
  if (!is_request(request)) return no_request("plait_test");
  if (done == nullptr) return report(*request->comm, {Code::invalid, "plait_test: done is NULL"});
  if (forked()) return report(check_ready());
  if (!settled(request) && !request->comm->advance() && request->comm->polled_long())
    request->comm->check(request);
  *done = settled(request) ? 1 : 0;
  return *done != 0 ? outcome(request) : PLAIT_OK;
}

plait_status plait_wait(plait_request* request) {
  if (!is_request(request)) return no_request("plait_wait");
  if (forked()) return report(check_ready());
  if (request->state != State::idle) request->comm->wait(request);
  return outcome(request);
}

plait_status plait_wait_any(plait_request** requests, size_t count, size_t* index) {
  if (requests == nullptr || index == nullptr)
    return report({Code::invalid, "plait_wait_any: an argument is NULL"});
  if (forked()) return report(check_ready());
  for (uint32_t round = 0;; round++) {
    bool any = false;
    for (size_t i = 0; i < count; i++) {
      plait_request* r = requests[i];
      if (r == nullptr) continue;
      if (!is_request(r)) return no_request("plait_wait_any");
      any = true;
      if (!settled(r) && !r->comm->advance() && round % 64 == 63) r->comm->check(r);
      if (settled(r)) {
        *index = i;
        return outcome(r);
      }
    }
    if (!any) return report({Code::invalid, "plait_wait_any: every request is NULL"});
    pause_round(round);
  }
}

plait_status plait_request_algorithm(const plait_request* request, const char** name) {
  if (!is_request(request)) return no_request("plait_request_algorithm");
  if (name == nullptr)
    return report(*request->comm, {Code::invalid, "plait_request_algorithm: name is NULL"});
  *name = collectives::algorithms()[request->algorithm].name.data();  // a literal
  return PLAIT_OK;
}

plait_status plait_request_free(plait_request* request) {
  if (request == nullptr) return PLAIT_OK;
  if (!is_request(request)) return no_request("plait_request_free");
  if (forked()) return report(check_ready());
  if (!settled(request))
    return report(*request->comm,
                  {Code::state, "plait_request_free: the operation is not done; wait for it first"});
  request->comm->release(request);
  return PLAIT_OK;
}

}  // extern "C"
