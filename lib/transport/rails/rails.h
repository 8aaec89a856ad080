// The domain "rails": several domains (two NICs, two addresses) that bind to a peer together. Puts are cut
// into parts, each goes to the rail that is free, with a signal of its own; counters move as the contract
// says, over any mix of rails. A rail that dies is taken out: what did not land is sent again on the others,
// exactly once, and the rail comes back when it can. docs/transport.md, "Rails".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace plait::transport::rails {

constexpr size_t kRails = 8;

struct Options {
  std::string label = "rails";  // name()
  // A rail whose transfers do not complete for so long, while another rail to the same peer answers, is dead.
  int64_t silent_ms = 300;
  // A dead rail is tried again after so long, then after twice that, and so on up to `return_last_ms`.
  int64_t return_first_ms = 200, return_last_ms = 5000;
  // What connecting one rail may take while another one is there.
  int64_t join_ms = 5000;
};

// What happened on one rail, over all endpoints since the domain was made.
struct RailReport {
  std::string name;                  // of its domain
  uint32_t endpoints = 0, live = 0;  // that there are; that use the rail now
  uint64_t parts = 0, bytes = 0;     // posted
  uint64_t resent = 0;               // of those, what had been posted on another rail before
  uint64_t deaths = 0, returns = 0;
};

class Rails : public Domain {
 public:
  // One for each rail, in their order. Threads: as poll().
  virtual std::vector<RailReport> report() const = 0;
  // What each endpoint waits for, for whoever looks into why nothing moves.
  virtual std::string describe() const = 0;
};

// Takes the domains over. The i-th rail of one process meets the i-th of the other, so all give them in the
// same order. Code::invalid for none or more than kRails, Code::unsupported, with the rail's name, where one
// cannot be a rail.
Result<std::unique_ptr<Rails>> make_domain(std::vector<std::unique_ptr<Domain>> rails,
                                           const Options& options = {});

}  // namespace plait::transport::rails
