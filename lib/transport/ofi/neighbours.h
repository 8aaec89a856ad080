// The endpoints of this process on providers for one host. libfabric's keep pointers to the memory of each
// other's endpoints of one process, also of those that are closed: so nothing may be sent to them any more.
#pragma once

#include <mutex>
#include <unordered_set>

#include "transport/ofi/wire.h"

namespace plait::transport::ofi {

struct Neighbours {
  std::recursive_mutex mutex;
  std::unordered_set<uint64_t> domains, endpoints;  // nonces: of all that ever were; of those that are open
  // Under the lock.
  bool is_gone(const am::TicketHead& peer) const {
    return domains.contains(peer.domain) && !endpoints.contains(peer.endpoint);
  }
};

inline Neighbours& neighbours() {
  static Neighbours& all = *new Neighbours;
  return all;
}

}  // namespace plait::transport::ofi
