#include "perf/nccl/script.h"

#include <memory>
#include <vector>

#include "perf/nccl/connection.h"
#include "perf/nccl/guarded.h"

namespace plait::nccl_drive {
namespace {

constexpr size_t kListeners = 3, kConnections = 4;

class Script {
 public:
  Script(Side& side, uint64_t seed) : side_(side), dice_(seed) {}

  Status run() {
    const size_t steps = dice_.between(30, 600);
    for (size_t i = 0; i < steps; ++i) PLAIT_TRY(step());
    // A communicator may end with connections half open: finalize takes them back.
    const bool leave_half_open = side_.net().has_finalize() && dice_.chance(20);
    for (auto& connection : connections_)
      PLAIT_TRY(leave_half_open && !connection->connected() ? connection->abandon()
                                                            : connection->finish(dice_));
    for (const auto& connection : connections_) PLAIT_TRY(connection->check_kept());
    for (const auto& listener : listeners_)
      if (!leave_half_open) PLAIT_TRY(side_.close_listen(listener->comm));
    return Status();
  }

 private:
  Status step() {
    if (listeners_.empty() || (listeners_.size() < kListeners && dice_.chance(2))) return listen();
    if (connections_.empty() || dice_.chance(3)) return connect();
    if (dice_.chance(1)) return close_listener();
    return connections_[dice_.below(connections_.size())]->step(dice_);
  }

  Status listen() {
    listeners_.push_back(std::make_unique<Listener>());
    Listener& listener = *listeners_.back();
    return side_.listen(&listener.handle, &listener.comm);
  }

  // One connect at a time through a listener: which accept is whose is not known otherwise.
  Status connect() {
    size_t live = 0;
    for (const auto& connection : connections_) live += connection->gone() ? 0 : 1;
    Listener& listener = *listeners_[dice_.below(listeners_.size())];
    if (live < kConnections && !listener.busy)
      connections_.push_back(std::make_unique<Connection>(side_, listener));
    return Status();
  }

  Status close_listener() {
    const size_t which = dice_.below(listeners_.size());
    if (listeners_[which]->busy) return Status();
    PLAIT_TRY(side_.close_listen(listeners_[which]->comm));
    listeners_.erase(listeners_.begin() + std::ptrdiff_t(which));
    return Status();
  }

  Side& side_;
  Dice dice_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::unique_ptr<Connection>> connections_;
};

// Versions with contexts begin a communicator for each script; the others have one for all.
Status run_all(const Job& job, uint64_t seed, uint64_t count) {
  Side side(job);
  PLAIT_TRY(side.load());
  const bool each = side.net().per_communicator();
  for (uint64_t i = 0; i < count; ++i) {
    where().seed = seed + i;
    if (each || i == 0) PLAIT_TRY(side.begin());
    PLAIT_TRY(Script(side, seed + i).run());
    if (each) PLAIT_TRY(side.end());
  }
  where().seed = seed + count;
  return side.close();
}

}  // namespace

Scripts run_scripts(const Job& job, uint64_t seed, uint64_t count) {
  const Ended ended = guarded(job.seconds, job.seconds * double(count) + job.seconds,
                              [&] { return run_all(job, seed, count); });
  return {ended.status, ended.seed, ended.seed >= seed ? ended.seed - seed : 0, ended.bytes};
}

}  // namespace plait::nccl_drive
