// Records what a domain does into a ring of fixed size: what was posted, what came back, what failed, and
// when.
#pragma once

#include <string>
#include <vector>

#include "transport/hooks/wrap.h"

namespace plait::transport::hooks {

enum class TraceEvent : uint8_t { open, connect, post, full, done, close };

struct TraceRecord {
  int64_t at_ns = 0;  // now_ns()
  TraceEvent event = TraceEvent::open;
  Verb verb = Verb::put;    // of post, full
  When when = When::never;  // of post, full
  Code status = Code::ok;   // of connect, done
  uint32_t endpoint = 0;    // in the order of open(); of done 0: the cookie tells
  uint16_t counter = 0, add = 0;
  uint64_t bytes = 0, cookie = 0;
};

// Everything a TraceDomain has recorded. It may outlive the domain; same thread as that.
class TraceRing {
 public:
  explicit TraceRing(size_t records) : ring_(records == 0 ? 1 : records) {}
  void add(TraceRecord record) noexcept;
  // How many were recorded, those overwritten since included.
  uint64_t total() const noexcept { return total_; }
  // What is still there, oldest first.
  std::vector<TraceRecord> records() const;
  // A line each: seconds since the first record kept, event, endpoint, what.
  std::string text() const;

 private:
  std::vector<TraceRecord> ring_;
  uint64_t total_ = 0;
};

class TraceDomain final : public WrappedDomain {
 public:
  explicit TraceDomain(std::unique_ptr<Domain> inner, size_t records = 4096);
  const std::shared_ptr<TraceRing>& ring() const noexcept { return ring_; }
  Result<std::unique_ptr<Endpoint>> open(uint16_t counters, uint64_t cookie) override;
  size_t poll(std::span<Done> done) noexcept override;

 private:
  std::shared_ptr<TraceRing> ring_;
  uint32_t opened_ = 0;
};

}  // namespace plait::transport::hooks
