// What a Group is made of.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "bootstrap/group.h"
#include "bootstrap/meetings.h"
#include "bootstrap/setup.h"
#include "bootstrap/tree.h"

namespace plait::bootstrap {

// A Watch in a poller, whose waits then end when there is something to look at.
class Watched final : public Polled {
 public:
  Watched(Poller& poller, Watch watch) : poller_(poller), watch_(std::move(watch)) {
    if (watch_.fd >= 0) id_ = poller_.add(watch_.fd, true, false, this);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  ~Watched() override { poller_.remove(id_); }
  void ready() override {}
  Status look() { return watch_.look(); }

 private:
  Poller& poller_;
  Watch watch_;
  uint64_t id_ = 0;
};

struct Group::Parts {
  Membership membership;
  Self self;
  Poller poller;
  std::vector<HostPort> root;
  std::optional<Door> door;
  std::optional<Tree> tree;
  std::optional<Meetings> meetings;
  std::optional<Watched> watched;

  Status open(const transport::Bounds& bounds);
  Status open(Own own);
  Status join(const transport::Bounds& bounds);
  Status find_root(const transport::Bounds& bounds);
  void step(int ms);
  Status settle(const transport::Bounds& bounds);
  void flush(int64_t ms);
};

}  // namespace plait::bootstrap
