// What a provider gets with an operation, and tells of its end.
#pragma once

#include <rdma/fi_eq.h>

#include <cstdint>
#include <optional>
#include <string>

#include "fabric/handles.h"

namespace plait::fabric {

enum class Step : uint8_t { sent, received, written };

// The context of an operation: it stays where it is until the operation has ended. The provider's part is
// first, for FI_CONTEXT2.
struct Context {
  fi_context2 provider{};
  Step step = Step::sent;
};

struct Failure {
  int error = 0;     // of fi_errno.h
  std::string text;  // what failed, why, what may be the cause and what to try
};

// Of the queue's oldest operation that failed; nothing when there is none.
std::optional<Failure> take_failure(fid_cq& queue);

}  // namespace plait::fabric
