// Words for what a device says: completions with an error, asynchronous events, refused calls.
#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <string_view>

#include "base/status.h"

namespace plait::rdma {

struct Explanation {
  ibv_wc_status status;
  Code code;
  std::string_view cause, advice;
};
// Of every status that libibverbs knows; one of its own for others.
const Explanation& explain(ibv_wc_status status) noexcept;

// "RDMA_WRITE", as InfiniBand calls it.
std::string_view name_of(ibv_wr_opcode opcode) noexcept;

// "OPERATION failed: STATUS (12): CAUSE; ADVICE"
std::string sentence(ibv_wc_status status, std::string_view operation);

// An asynchronous event: whom it ends, and why. `note`: it ends nothing.
enum class Scope : uint8_t { queue_pair, port, device, warning, note };
struct EventExplanation {
  Scope scope;
  Code code;
  std::string_view cause;  // of a queue pair: what its peer did
};
EventExplanation explain(ibv_event_type type) noexcept;

// What registering memory says when it fails.
Status registration_failed(int error, size_t bytes, std::string_view device);

}  // namespace plait::rdma
