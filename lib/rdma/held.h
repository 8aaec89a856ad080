// Memory that a device reaches: its registration, or a window on it, with the rights that peers have.
#pragma once

#include "rdma/windows.h"

namespace plait::rdma {

struct HoldWish {
  unsigned rights = 0;            // of peers: IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_WRITE
  bool relaxed_ordering = false;  // where it is safe: not where peers write
  bool on_demand_paging = false;
};

// Peers reach it by the registration's own key, or by that of a window; neither opens anything when this has
// gone.
struct Held {
  Registrations::Held registration;
  Windows::Held window;  // goes first
  uint32_t local_key() const noexcept { return registration->lkey; }
  uint32_t remote_key() const noexcept { return window != nullptr ? window->rkey : registration->rkey; }
};
// Any thread. Statuses of Registrations::hold().
Result<Held> hold(Device& device, const Span& span, const HoldWish& wish);

}  // namespace plait::rdma
