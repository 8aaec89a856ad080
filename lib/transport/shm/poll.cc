// Polling and sleeping: what moves, what the kernel tells, and when there is nothing to do.
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "transport/shm/domain.h"

namespace plait::transport::shm {

// Nothing pending: a few loads. Every 16th call reads the clock, every millisecond one asks the kernel.
size_t ShmDomain::poll(std::span<Done> done) noexcept {
  constexpr int64_t kLookEveryNs = 1'000'000;
  if (armed_) {
    disarm();
    look();
  } else if (connecting_ != 0) {
    look();
  } else if (++polls_ % 16 == 0) {
    if (int64_t now = now_ns(); now - looked_ns_ >= kLookEveryNs) {
      looked_ns_ = now;
      look();
    }
  }
  return busy_.empty() && orphans_.empty() ? 0 : work(done);
}

size_t ShmDomain::work(std::span<Done> done) noexcept {
  size_t count = orphans_.take(done);
  free_places();
  size_t budget = kPiece;
  ++first_;
  for (size_t i = 0; i < busy_.size() && budget != 0; ++i)
    budget = busy_[(first_ + i) % busy_.size()]->progress(budget);
  for (ShmEndpoint* endpoint : busy_) {
    count += endpoint->harvest(done.subspan(count));
    endpoint->listed = endpoint->busy();
  }
  std::erase_if(busy_, [](const ShmEndpoint* endpoint) { return !endpoint->listed; });
  return count;
}

uint64_t ShmDomain::counter_sum() const noexcept {
  uint64_t sum = 0;
  for (auto& [id, endpoint] : endpoints_) {
    for (uint16_t i = 0; i < endpoint->counter_count(); ++i)
      sum += endpoint->counter(i).load(std::memory_order_acquire);
  }
  return sum;
}

// True twice in a row only if no counter moved between: so whoever looked at counters after the last arm()
// misses none.
bool ShmDomain::arm() noexcept {
  if (!busy_.empty() || !orphans_.empty()) return false;
  for (auto& [id, endpoint] : endpoints_) {
    if (connecting_ != 0 && endpoint->dialing()) return false;
  }
  words_->asleep.store(1, std::memory_order_seq_cst);
  armed_ = true;
  process_.heavy_barrier();
  uint64_t sum = counter_sum();
  if (sum == seen_sum_) return true;
  seen_sum_ = sum;
  disarm();
  return false;
}

void ShmDomain::disarm() noexcept {
  armed_ = false;
  words_->asleep.store(0, std::memory_order_relaxed);
}

void ShmDomain::drain() noexcept {
  uint64_t count = 0;
  while (read(event_.get(), &count, sizeof count) < 0 && errno == EINTR) {
  }
}

void ShmDomain::look() noexcept {
  constexpr int kEvents = 32;
  epoll_event events[kEvents];
  int count = kEvents;
  for (int rounds = 0; count == kEvents && rounds < 8; ++rounds) {
    do {
      count = epoll_wait(epoll_.get(), events, kEvents, 0);
    } while (count < 0 && errno == EINTR);
    for (int i = 0; i < count; ++i)
      dispatch(Watch(events[i].data.u64 >> 56), events[i].data.u64 & ((uint64_t{1} << 56) - 1));
  }
  if (connecting_ == 0) return;
  for (auto& [id, endpoint] : endpoints_) {
    if (endpoint->dialing()) endpoint->dial();
  }
}

// By id, not by pointer: an earlier event of the same round may have ended what a later one is about.
void ShmDomain::dispatch(Watch kind, uint64_t id) noexcept {
  switch (kind) {
    case Watch::event:
      return drain();
    case Watch::listener:
      return accept_all();
    case Watch::greeter:
      return hear(id);
    case Watch::peer:
      return peer_died(id);
    case Watch::endpoint:
      break;
  }
  auto endpoint = endpoints_.find(id);
  if (endpoint != endpoints_.end()) endpoint->second->readable();
}

}  // namespace plait::transport::shm
