// The endpoints of this process on providers for one host. libfabric's keep pointers to the memory of each
// other's endpoints of one process, also of those that are closed: so nothing may be sent to them any more.
#pragma once

#include <mutex>
#include <set>

#include "base/bytes.h"

namespace plait::fabric {

class Neighbours {
 public:
  static Neighbours& all() {
    static Neighbours& neighbours = *new Neighbours;
    return neighbours;
  }
  // Held from the look at a peer until all is done that relies on it.
  std::unique_lock<std::recursive_mutex> lock() { return std::unique_lock(mutex_); }
  // All under the lock, by the addresses of endpoints.
  void came(const Bytes& address) {
    ever_.insert(address);
    open_.insert(address);
  }
  void went(const Bytes& address) { open_.erase(address); }
  bool is_gone(const Bytes& address) const { return ever_.contains(address) && !open_.contains(address); }

 private:
  std::recursive_mutex mutex_;
  std::set<Bytes> ever_, open_;
};

}  // namespace plait::fabric
