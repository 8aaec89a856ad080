// Dialing one rank at the places where it may be, again and again with pauses, until it is there.
#pragma once

#include <memory>
#include <vector>

#include "bootstrap/link.h"
#include "bootstrap/self.h"

namespace plait::bootstrap {

class Dialer {
 public:
  static constexpr int64_t kConnectMs = 3'000, kGreetingMs = 10'000, kSureMs = 2'000;

  Dialer(const Self& self, Poller& poller, const Claim& claim, std::vector<Place> places,
         int64_t delay_ms = 0);

  // Moves on. The link is open, and the caller's.
  std::unique_ptr<Link> poll();
  // Why the last attempt failed, with the place; ok() before any did.
  const Status& why() const noexcept { return why_; }
  // How often all places have been tried in vain.
  int rounds() const noexcept { return rounds_; }
  // It makes no sense to go on: no descriptor left, or refused as somebody else for kSureMs (a moment may be
  // another job's rank 0 at the same port).
  bool hopeless() const noexcept;
  // Until poll() has something to do but for the link's sake; at most 100.
  int idle_ms() const noexcept;

 private:
  void start();
  void failed(Status why);
  std::string where() const;

  const Self& self_;
  Poller& poller_;
  Claim claim_;
  std::vector<Place> places_;
  size_t next_ = 0;
  std::unique_ptr<Link> link_;
  Status why_;
  int rounds_ = 0;
  int64_t not_before_ns_;
  int64_t refused_since_ns_ = 0;
  bool exhausted_ = false;
};

}  // namespace plait::bootstrap
