// plait.h: send and receive.
#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/api.h"
#include "runtime/config.h"
#include "runtime/group.h"
#include "runtime/library.h"
#include "runtime/short_messages.h"

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

Status check_call(const Call& call, const Communicator& comm, size_t& bytes, int64_t& timeout_ms) {
  PLAIT_TRY(check_dtype(call.function, call.dtype));
  if (call.peer < 0 || call.peer >= comm.size()) {
    return bad(call.function,
               "peer " + std::to_string(call.peer) + " is not in 0.." + std::to_string(comm.size() - 1));
  }
  if (call.tag < 0) return bad(call.function, "tag " + std::to_string(call.tag) + " is negative");
  if (__builtin_mul_overflow(call.count, collectives::size_of(collectives::Dtype(call.dtype)), &bytes) ||
      bytes > size_t(std::numeric_limits<ptrdiff_t>::max())) {
    return bad(call.function, "a count of " + std::to_string(call.count) + " overflows the size of memory");
  }
  if (call.buffer == nullptr && bytes != 0) return bad(call.function, "the buffer is NULL");
  return check_config(call, timeout_ms);
}

// Finds what is wrong with a call, or makes its request.
plait_status prepare(plait_comm* handle, const Call& call, Mode mode, plait_request** made) {
  if (handle == nullptr || handle->magic != plait_comm::kMagic)
    return report(bad(call.function, "the communicator is NULL or was destroyed"));
  if (forked()) return report(check_ready());
  Communicator& comm = *handle->impl;
  size_t bytes = 0;
  int64_t timeout_ms = 0;
  Status status = check_call(call, comm, bytes, timeout_ms);
  if (status.ok()) status = comm.broken();
  if (!status.ok()) return report(comm, status);
  *made = comm.make_message(call.kind, call.peer, call.tag, static_cast<std::byte*>(call.buffer), bytes);
  (*made)->args.timeout_ms = timeout_ms;
  (*made)->persistent = mode == Mode::plan;
  return PLAIT_OK;
}

// Is nothing wrong with the call, and nothing special?
[[gnu::always_inline]] inline bool is_simple(const plait_comm* handle, const void* buffer, size_t count,
                                             plait_dtype dtype, int32_t peer, int32_t tag,
                                             const plait_call_config* config) {
  constexpr size_t kMostElements = size_t(1) << 56;  // whatever their size
  return handle != nullptr && handle->magic == plait_comm::kMagic && !forked() && config == nullptr &&
         unsigned(dtype) < unsigned(collectives::kDtypes) && peer >= 0 && peer < handle->impl->size() &&
         tag >= 0 && count < kMostElements && (buffer != nullptr || count == 0);
}

// Of so many elements of a dtype that is one.
inline size_t bytes_of(size_t count, plait_dtype dtype) noexcept {
  return count * collectives::size_of(collectives::Dtype(dtype));
}

// What is given stays in registers: a load that takes two stores at once, of a struct's members that were
// just written, waits until both have left the core, and behind the line of the message before, at which the
// peer looks, that takes as long as a message.
[[gnu::always_inline]] inline plait_status start(const char* function, Letter::Kind kind, plait_comm* handle,
                                                 void* buffer, size_t count, plait_dtype dtype, int32_t peer,
                                                 int32_t tag, const plait_call_config* config,
                                                 plait_request** out) {
  plait_request* request = nullptr;
  if (is_simple(handle, buffer, count, dtype, peer, tag, config) && !handle->impl->is_broken()) [[likely]] {
    Communicator& comm = *handle->impl;
    auto* const data = static_cast<std::byte*>(buffer);
    const size_t bytes = bytes_of(count, dtype);
    if (out != nullptr || in_group()) {
      size_t moved = bytes;
      if (kind == Letter::Kind::send ? comm.send_now(peer, tag, data, bytes, false)
                                     : comm.receive_landed(peer, tag, data, bytes, moved)) {
        if (out != nullptr) *out = comm.brief(moved);
        return PLAIT_OK;
      }
    } else if (kind == Letter::Kind::send ? comm.send_now(peer, tag, data, bytes, true)
                                          : comm.receive_now(peer, tag, data, bytes)) {
      return PLAIT_OK;
    }
    request = comm.make_message(kind, peer, tag, data, bytes);
  } else {
    const plait_status status =
        prepare(handle, {function, kind, buffer, count, dtype, peer, tag, config}, Mode::call, &request);
    if (status != PLAIT_OK) return status;
  }
  return runtime::start(*handle->impl, request, out);
}

// As plait_send and plait_recv, which end with one of them.
[[gnu::noinline]] plait_status start_send(plait_comm* comm, const void* buffer, size_t count,
                                          plait_dtype dtype, int32_t peer, int32_t tag,
                                          const plait_call_config* config, plait_request** request) {
  return start("plait_send", Letter::Kind::send, comm, const_cast<void*>(buffer), count, dtype, peer, tag,
               config, request);
}
[[gnu::noinline]] plait_status start_receive(plait_comm* comm, void* buffer, size_t count, plait_dtype dtype,
                                             int32_t peer, int32_t tag, const plait_call_config* config,
                                             plait_request** request) {
  return start("plait_recv", Letter::Kind::receive, comm, buffer, count, dtype, peer, tag, config, request);
}

constexpr size_t largest_element() noexcept {
  size_t most = 0;
  for (int d = 0; d < collectives::kDtypes; d++)
    most = std::max(most, collectives::size_of(collectives::Dtype(d)));
  return most;
}
constexpr size_t kInlineElements = transport::kInlineBytes / largest_element();  // whatever they are

// The same where is_inline(). What it knows of `count` the compiler is told.
[[gnu::noinline]] plait_status send_inline(plait_comm* comm, const void* buffer, size_t count,
                                           plait_dtype dtype, int32_t peer, int32_t tag,
                                           const plait_call_config* config, plait_request** request) {
  if (count > kInlineElements) __builtin_unreachable();
  if (is_simple(comm, buffer, count, dtype, peer, tag, config) &&
      comm->impl->send_inline(peer, tag, static_cast<const std::byte*>(buffer), bytes_of(count, dtype)))
    return PLAIT_OK;
  return start_send(comm, buffer, count, dtype, peer, tag, config, request);
}
[[gnu::noinline]] plait_status receive_inline(plait_comm* comm, void* buffer, size_t count, plait_dtype dtype,
                                              int32_t peer, int32_t tag, const plait_call_config* config,
                                              plait_request** request) {
  if (count > kInlineElements) __builtin_unreachable();
  if (is_simple(comm, buffer, count, dtype, peer, tag, config) &&
      comm->impl->receive_inline(peer, tag, static_cast<std::byte*>(buffer), bytes_of(count, dtype)))
    return PLAIT_OK;
  return start_receive(comm, buffer, count, dtype, peer, tag, config, request);
}
// In a group, or while another thread is in one: it waits for nothing.
[[gnu::noinline]] plait_status receive_landed_inline(plait_comm* comm, void* buffer, size_t count,
                                                     plait_dtype dtype, int32_t peer, int32_t tag,
                                                     const plait_call_config* config,
                                                     plait_request** request) {
  if (count > kInlineElements) __builtin_unreachable();
  if (is_simple(comm, buffer, count, dtype, peer, tag, config) &&
      comm->impl->receive_landed_inline(peer, tag, static_cast<std::byte*>(buffer), bytes_of(count, dtype)))
    return PLAIT_OK;
  return start_receive(comm, buffer, count, dtype, peer, tag, config, request);
}

// Is it a call without a request, of a message that lies in a line? Others lose little by the question.
[[gnu::always_inline]] inline bool is_inline(size_t count, const plait_request* const* request) noexcept {
  return count <= kInlineElements && request == nullptr;
}

plait_status plan(plait_comm* handle, const Call& call, plait_request** plan) {
  if (plan != nullptr) return prepare(handle, call, Mode::plan, plan);
  const Status status = bad(call.function, "plan is NULL");
  return handle == nullptr || handle->magic != plait_comm::kMagic ? report(status)
                                                                  : report(*handle->impl, status);
}

}  // namespace

extern "C" {

plait_status plait_send(plait_comm* comm, const void* buffer, size_t count, plait_dtype dtype, int32_t peer,
                        int32_t tag, const plait_call_config* config, plait_request** request) {
  return is_inline(count, request) ? send_inline(comm, buffer, count, dtype, peer, tag, config, request)
                                   : start_send(comm, buffer, count, dtype, peer, tag, config, request);
}

plait_status plait_recv(plait_comm* comm, void* buffer, size_t count, plait_dtype dtype, int32_t peer,
                        int32_t tag, const plait_call_config* config, plait_request** request) {
  if (!is_inline(count, request))
    return start_receive(comm, buffer, count, dtype, peer, tag, config, request);
  return any_group() ? receive_landed_inline(comm, buffer, count, dtype, peer, tag, config, request)
                     : receive_inline(comm, buffer, count, dtype, peer, tag, config, request);
}

plait_status plait_plan_send(plait_comm* comm, const void* buffer, size_t count, plait_dtype dtype,
                             int32_t peer, int32_t tag, const plait_call_config* config,
                             plait_request** request) {
  return plan(
      comm,
      {"plait_plan_send", Letter::Kind::send, const_cast<void*>(buffer), count, dtype, peer, tag, config},
      request);
}

plait_status plait_plan_recv(plait_comm* comm, void* buffer, size_t count, plait_dtype dtype, int32_t peer,
                             int32_t tag, const plait_call_config* config, plait_request** request) {
  return plan(comm, {"plait_plan_recv", Letter::Kind::receive, buffer, count, dtype, peer, tag, config},
              request);
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
