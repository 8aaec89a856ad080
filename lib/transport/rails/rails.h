// The domain "rails": several domains (two NICs, two addresses) that bind to a peer together. Puts are cut
// into parts, each goes to the rail that is free, with a signal of its own; counters move as the contract
// says, over any mix of rails. A rail that dies is taken out: what did not land is sent again on the others,
// exactly once, and the rail comes back when it can. docs/transport.md, "Rails".
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/transport.h"

namespace plait::transport::rails {

constexpr size_t kRails = 8;

// What became of one rail of one endpoint, once it was ready. Valid as long as the call that tells it.
struct RailEvent {
  // out: closed here, nothing lands by it any more. settled: both ends have closed it, and what had not
  // landed goes by other rails; not told where the endpoint failed before. back: it is used again.
  enum class What : uint8_t { out, settled, back };
  What what{};
  size_t rail = 0;
  uint64_t endpoint = 0;                 // the cookie that open() was given
  std::string_view name = {}, why = {};  // of the rail's domain; of out, settled: a sentence
  uint64_t parts = 0, bytes = 0;         // settled: sent again
};

struct Options {
  std::string label = "rails";  // name()
  // Called by the domain's thread, in poll(), arm() or post(); it may not call the domain. Null: settled and
  // back are lines of the log.
  std::function<void(const RailEvent&)> told;
  // A rail whose transfers do not complete for so long, while another rail to the same peer answers, is dead.
  int64_t silent_ms = 300;
  // A dead rail is tried again after so long, then after twice that, and so on up to `return_last_ms`.
  int64_t return_first_ms = 200, return_last_ms = 5000;
  // A dead rail that the peer says nothing of for so long, while this side polls, ends the endpoint: where
  // who does not poll is not expected to compute. 0: never.
  int64_t settle_ms = 0;
  // What connecting one rail may take while another one is there.
  int64_t join_ms = 5000;
};

// What happened on one rail, over all endpoints since the domain was made. The domain's thread writes, any
// may read at any moment.
class Count {
 public:
  void add(uint64_t more) noexcept { value_.store(*this + more, std::memory_order_relaxed); }
  operator uint64_t() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};
struct RailCounts {
  std::string name;            // of its domain; does not change
  Count parts, bytes;          // posted
  Count resent, resent_bytes;  // of those, what had been posted before, mostly on another rail
  Count deaths, returns;
};
using AllCounts = std::vector<RailCounts>;

// The same at one moment, in the domain's thread.
struct RailReport {
  std::string name;
  uint32_t endpoints = 0, live = 0;  // that there are; that use the rail now
  uint64_t parts = 0, bytes = 0, resent = 0, resent_bytes = 0, deaths = 0, returns = 0;
};

class Rails : public Domain {
 public:
  // One for each rail, in their order. Threads: as poll().
  virtual std::vector<RailReport> report() const = 0;
  // One for each rail; it may outlive the domain.
  virtual std::shared_ptr<const AllCounts> counts() const = 0;
  // What each endpoint waits for, for whoever looks into why nothing moves.
  virtual std::string describe() const = 0;
};

// Takes the domains over. The i-th rail of one process meets the i-th of the other, so all give them in the
// same order. Code::invalid for none or more than kRails, Code::unsupported, with the rail's name, where one
// cannot be a rail.
Result<std::unique_ptr<Rails>> make_domain(std::vector<std::unique_ptr<Domain>> rails,
                                           const Options& options = {});

}  // namespace plait::transport::rails
