#include "perf/watch.h"

#include <chrono>
#include <utility>

#include "base/clock.h"

namespace plait::perf {

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watch::begin(std::string what) {
  const std::lock_guard lock(mutex_);
  if (!progress_.shown()) return;
  progress_.begin(std::move(what), 0);
  busy_ = true;
  if (!thread_.joinable()) thread_ = std::thread([this] { look(); });
}

void Watch::end() {
  const std::lock_guard lock(mutex_);
  busy_ = false;
  progress_.end();
}

void Watch::look() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    changed_.wait_for(lock, std::chrono::milliseconds(500), [this] { return over_; });
    if (busy_) progress_.show(now_ns());
  }
}

}  // namespace plait::perf
