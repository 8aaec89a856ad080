// A fabric inside one process, for tests: ranks are threads, time is counted in polls, and whatever the
// contract leaves open (delays, overtaking, when a source is free) is drawn from a seed. What the contract
// promises it keeps, so that a test that fails over it has found a wrong assumption above.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "transport/transport.h"

namespace plait::transport::fake {

struct Network;

// What a plain fake domain can do; tests override single fields.
Capabilities default_capabilities() noexcept;

struct FakeOptions {
  uint64_t seed = 1;
  // A transfer begins to move after so many polls, of anybody: drawn for each from [delay_min, delay_max].
  uint32_t delay_min = 0, delay_max = 0;
  // Transfers overtake those of other counters and endpoints. Without it an endpoint moves them in post
  // order.
  bool reorder = false;
  // RemoteRegion::mapped() is the peer's memory, and the mover stores to the peer's counters. Without it a
  // counter moves in the poll of its owner.
  bool mapped = true;
  // Up to so many bytes a `reusable` put is copied aside and its Done comes at once: it may still be lost.
  size_t staged_bytes = 4096;
  // key_bytes and ticket_bytes are the fake's own.
  Capabilities capabilities = default_capabilities();
};

// What joins fake domains. Any thread may use it and it may go before its domains; a domain has the threads
// of transport.h.
class FakeNetwork {
 public:
  FakeNetwork();
  std::unique_ptr<Domain> make_domain(std::string name, const FakeOptions& options = {});
  // The domain with this identity dies as a process does: at once, with no word to its peers and nothing
  // landing in its memory any more. Its objects stay and do nothing.
  void kill(ByteView identity);

 private:
  std::shared_ptr<Network> network_;
};

}  // namespace plait::transport::fake
