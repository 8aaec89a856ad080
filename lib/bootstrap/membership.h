// Who a rank is and how it finds the others: what Group::join starts from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "bootstrap/secret.h"

namespace plait::bootstrap {

// The framework's own allgather: `mine` is `bytes` long, `all` has room for size * bytes and gets every
// rank's bytes by rank. Called once a join, by each rank. Whoever can read or change what passes through it
// can read the job's secret: it must be as trusted as the job.
using AllgatherCallback = std::function<Status(const void* mine, void* all, size_t bytes)>;

struct Membership {
  int32_t rank = 0, size = 1;
  std::string job;     // alike on all ranks, different between jobs; at most 200 bytes
  uint32_t epoch = 0;  // the n-th group of this job, alike on all ranks
  // Where rank 0 is met: "host:port" or "[v6]:port", several comma separated, tried in order. Empty: all
  // ranks are on this host and of one user and meet over abstract Unix sockets, where the kernel says who a
  // peer is.
  std::string root;
  std::string interfaces;               // PLAIT_IFACE: see interfaces.h; empty: chosen
  uint16_t port_min = 0, port_max = 0;  // where own listeners may be, both included; 0 and 0: anywhere
  SecretPtr secret;                     // may be null with `insecure`, `allgather` or an empty root
  bool insecure = false;                // over a network without secret: anybody may join or forge. Warns
  AllgatherCallback allgather;          // set: used instead of root; without secret rank 0 makes one
  bool unique_id = false;               // made by membership_of(UniqueId)
};

}  // namespace plait::bootstrap
