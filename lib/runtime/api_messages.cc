// plait.h: send and receive.
#include <cstring>
#include <limits>

#include "runtime/api.h"
#include "runtime/config.h"
#include "runtime/group.h"
#include "runtime/library.h"

using namespace plait;
using namespace plait::runtime;

namespace {

struct Call {
  const char* function;
  Letter::Kind kind;
  void* buffer;
  size_t count;
  plait_dtype dtype;
  int32_t peer, tag;
  const plait_call_config* config;
};

Status check_config(const Call& call, int64_t& timeout_ms) {
  if (call.config == nullptr) return {};
  plait_call_config given{};
  PLAIT_TRY(check_struct(call.config, call.config->struct_size, sizeof given, "plait_call_config"));
  std::memcpy(&given, call.config, std::min(call.config->struct_size, sizeof given));
  if (given.algorithm != nullptr && *given.algorithm != 0)
    return bad(call.function, "a send or receive has no algorithm to choose");
  if (given.codec != nullptr)
    return {Code::unsupported,
            std::string(call.function) + ": codecs go with collectives; codec must be NULL"};
  if (given.timeout_ms < 0) return bad(call.function, "plait_call_config.timeout_ms is negative");
  timeout_ms = given.timeout_ms;
  return {};
}

Status check_call(const Call& call, const Communicator& comm, Letter& letter, int64_t& timeout_ms) {
  PLAIT_TRY(check_dtype(call.function, call.dtype));
  if (call.peer < 0 || call.peer >= comm.size()) {
    return bad(call.function,
               "peer " + std::to_string(call.peer) + " is not in 0.." + std::to_string(comm.size() - 1));
  }
  if (call.tag < 0) return bad(call.function, "tag " + std::to_string(call.tag) + " is negative");
  size_t bytes = 0;
  if (__builtin_mul_overflow(call.count, collectives::size_of(collectives::Dtype(call.dtype)), &bytes) ||
      bytes > size_t(std::numeric_limits<ptrdiff_t>::max())) {
    return bad(call.function, "a count of " + std::to_string(call.count) + " overflows the size of memory");
  }
  if (call.buffer == nullptr && bytes != 0) return bad(call.function, "the buffer is NULL");
  letter.kind = call.kind;
  letter.peer = call.peer;
  letter.tag = call.tag;
  letter.data = static_cast<std::byte*>(call.buffer);
  letter.bytes = bytes;
  return check_config(call, timeout_ms);
}

plait_status run(plait_comm* handle, const Call& call, plait_request** out, Mode mode) {
  if (handle == nullptr || handle->magic != plait_comm::kMagic)
    return report(bad(call.function, "the communicator is NULL or was destroyed"));
  if (forked()) return report(check_ready());
  Communicator& comm = *handle->impl;
  if (mode == Mode::plan && out == nullptr) return report(comm, bad(call.function, "plan is NULL"));
  Letter letter;
  int64_t timeout_ms = 0;
  Status status = check_call(call, comm, letter, timeout_ms);
  if (!status.ok()) return report(comm, status);
  auto request = comm.make(letter, timeout_ms, mode == Mode::plan);
  if (!request.ok()) return report(comm, request.status());
  if (mode == Mode::call) comm.start(*request);
  if (out != nullptr) {
    *out = *request;
    return PLAIT_OK;
  }
  if (in_group()) {
    defer(*request);
    return PLAIT_OK;
  }
  comm.wait(*request);
  status = (*request)->result;
  comm.release(*request);
  return status.ok() ? PLAIT_OK : report(comm, status);
}

Call send_call(const char* function, const void* buffer, size_t count, plait_dtype dtype, int32_t peer,
               int32_t tag, const plait_call_config* config) {
  return {function, Letter::Kind::send, const_cast<void*>(buffer), count, dtype, peer, tag, config};
}

}  // namespace

extern "C" {

plait_status plait_send(plait_comm* comm, const void* buffer, size_t count, plait_dtype dtype, int32_t peer,
                        int32_t tag, const plait_call_config* config, plait_request** request) {
  return run(comm, send_call("plait_send", buffer, count, dtype, peer, tag, config), request, Mode::call);
}

plait_status plait_recv(plait_comm* comm, void* buffer, size_t count, plait_dtype dtype, int32_t peer,
                        int32_t tag, const plait_call_config* config, plait_request** request) {
  return run(comm, {"plait_recv", Letter::Kind::receive, buffer, count, dtype, peer, tag, config}, request,
             Mode::call);
}

plait_status plait_plan_send(plait_comm* comm, const void* buffer, size_t count, plait_dtype dtype,
                             int32_t peer, int32_t tag, const plait_call_config* config,
                             plait_request** plan) {
  return run(comm, send_call("plait_plan_send", buffer, count, dtype, peer, tag, config), plan, Mode::plan);
}

plait_status plait_plan_recv(plait_comm* comm, void* buffer, size_t count, plait_dtype dtype, int32_t peer,
                             int32_t tag, const plait_call_config* config, plait_request** plan) {
  return run(comm, {"plait_plan_recv", Letter::Kind::receive, buffer, count, dtype, peer, tag, config}, plan,
             Mode::plan);
}

plait_status plait_request_bytes(const plait_request* request, size_t* bytes) {
  if (!is_request(request))
    return report({Code::invalid, "plait_request_bytes: the request is NULL or was freed"});
  Communicator& comm = *request->comm;
  if (bytes == nullptr) return report(comm, {Code::invalid, "plait_request_bytes: bytes is NULL"});
  if (!request->is_message())
    return report(comm, {Code::invalid, "plait_request_bytes: the request is of a collective"});
  if (request->state != plait_request::State::done)
    return report(comm, {Code::state, "plait_request_bytes: the message is not done; wait for it first"});
  *bytes = request->letter.moved;
  return PLAIT_OK;
}

}  // extern "C"
