// One rail of one endpoint: its state, and the link that it has in this generation.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "transport/rails/layout.h"
#include "transport/rails/state.h"

namespace plait::transport::rails {

struct Link {
  std::unique_ptr<Endpoint> end;       // null: closed
  std::unique_ptr<RemoteRegion> cell;  // the peer's control region; null before the link is ready
  uint32_t id = 0;                     // Domain's, of cookies

  // Of what comes in.
  std::vector<uint16_t> seen;  // what was taken of each data counter
  std::vector<uint64_t> credits_seen;
  uint64_t lines_seen = 0;
  uint32_t acks_owed = 0;
  // Of what goes out.
  std::vector<uint64_t> credits_sent;
  uint64_t lines_sent = 0, acks_seen = 0;
  uint32_t number = 0;  // of the latest line
  size_t bytes_out = 0;
  uint32_t parts_out = 0;  // that are not known to have landed
  uint32_t waiting = 0;    // Dones that it owes

  // Whether it is silent (silence.cc).
  uint32_t orders = 0;         // what it owed Dones for, ever
  uint32_t oldest_before = 0;  // of those still owed, when it was last looked at
  uint32_t rounds = 0;         // probes of another rail that were answered since this one is quiet
  int64_t quiet_since_ns = 0, looked_ns = 0, probed_ns = 0;
  uint32_t probes = 0;       // under way
  uint32_t probe_order = 0;  // of the oldest of them

  uint64_t counter(size_t i) const noexcept {
    return end->counter(uint16_t(i)).load(std::memory_order_acquire);
  }
};

struct Rail {
  RailState state;
  Link link;
  Bytes cell_key;        // of the peer's control region
  std::string error;     // of the latest death
  bool refused = false;  // while connecting: it is not to be used
  int64_t due_ns = 0;    // down: to try again; joining: to give up
  int64_t pause_ns = 0, live_since_ns = 0;
  int64_t dying_ns = 0, looked_ns = 0;      // for how long, as far as this side polled; and until when
  bool was_live = false;                    // this generation
  bool told_out = false;                    // its owner heard so, and waits to hear more
  uint64_t lost_parts = 0, lost_bytes = 0;  // by the latest death, to be sent again

  bool live() const noexcept { return state.phase() == Phase::live; }
  // May something come in by it?
  bool receives() const noexcept { return link.end != nullptr && state.ready_here(); }
};

}  // namespace plait::transport::rails
