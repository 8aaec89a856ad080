// The progress thread of a queue. It gives way: it never spins, yields to whoever wants the core, and soon
// sleeps in the kernel until ranks or pushes wake it.
#include <sched.h>

#include <chrono>

#include "runtime/queue/queue.h"

namespace plait::runtime::queue {

namespace {

// Few yields: where others want the core, each costs the rest of a time slice, but who sleeps is woken at
// once. (Two ranks over TCP beside a load of four, 40 MiB: 4 yields 30 ms, 30 yields 650.)
constexpr Waiter::Policy kPolicy{.crowded = true, .spins = 0, .yields = 4};

}  // namespace

void Queue::run() noexcept {
  Waiter waiter(kPolicy);
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    if (step(lock, waiter)) waiter.reset();
    if (callers_.load() == 0) continue;
    lock.unlock();
    while (callers_.load() != 0) sched_yield();
    lock.lock();
  }
}

// True when something moved.
bool Queue::step(std::unique_lock<std::mutex>& lock, Waiter& waiter) noexcept {
  const bool moved = scheduler_->advance();
  hand_out();
  if (moved) return true;
  const int64_t idle = scheduler_->idle_ns();
  if (!scheduler_->under_way()) {
    if (idle > 0) wake_.wait_for(lock, std::chrono::nanoseconds(idle));
    return true;
  }
  lock.unlock();
  const plait::Turn next = waiter.next();
  lock.lock();
  if (next == plait::Turn::again) return false;
  scheduler_->check();
  hand_out();
  if (next != plait::Turn::sleep || !scheduler_->under_way()) return false;
  // A push cannot wake it here, and need not: what is pushed now goes behind what is under way.
  lock.unlock();
  (void)scheduler_->sleep(idle);
  lock.lock();
  return false;
}

void Queue::stop() noexcept {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

}  // namespace plait::runtime::queue
