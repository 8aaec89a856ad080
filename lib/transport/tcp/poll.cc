// Polling and sleeping: the engine moves what the connections carry; all else is here.
#include <sys/timerfd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "transport/tcp/domain.h"

namespace plait::transport::tcp {

size_t TcpDomain::poll(std::span<Done> done) noexcept {
  if (armed_) {
    armed_ = false;
    if (timed_) set_timer(0);
  }
  size_t budget = kPiece;
  if (engine_->is_look_due() || !connecting_.empty()) look();
  engine_->move(budget);
  return busy_.empty() && orphans_.empty() ? 0 : work(done, budget);
}

size_t TcpDomain::work(std::span<Done> done, size_t& budget) noexcept {
  size_t count = orphans_.take(done);
  free_places();
  for (size_t i = 0; i < busy_.size(); ++i) {
    busy_[i]->progress(budget);
    count += busy_[i]->harvest(done.subspan(count));
  }
  std::erase_if(busy_, [](TcpEndpoint* endpoint) { return !(endpoint->listed = endpoint->busy()); });
  return count;
}

void TcpDomain::has_work(TcpEndpoint& endpoint) noexcept {
  if (endpoint.listed) return;
  endpoint.listed = true;
  busy_.push_back(&endpoint);
}

void TcpDomain::look() noexcept {
  std::array<Poller::Event, kTold> events;
  const size_t count = poller_.ready(events);
  ++engine_->counts.looks;
  engine_->looked(count);
  for (size_t i = 0; i < count; ++i) dispatch(events[i]);
  if (!connecting_.empty() || door_.due_ns() != INT64_MAX) tick();
}

void TcpDomain::dispatch(const Poller::Event& event) noexcept {
  switch (event.kind) {
    case Watch::timer:
      return set_timer(0);
    case Watch::listener:
      return door_.accept(event.id, [this](uint64_t guest) { meet(guest); });
    case Watch::guest:
      return meet(event.id);
    case Watch::lane:
      break;
  }
  const auto endpoint = endpoints_.find(event.id / kLanes);
  if (endpoint != endpoints_.end()) endpoint->second->ready(Lane(event.id % kLanes), event.events);
}

// Who knows an endpoint's token is its peer. One that comes too late is told so; to others nothing is said.
void TcpDomain::meet(uint64_t number) noexcept {
  Hello hello;
  const auto guest = door_.hear(number, hello);
  if (guest == nullptr) return;
  const auto endpoint = by_nonce_.find(hello.to);
  if (endpoint != by_nonce_.end() && endpoint->second->greeted(guest->socket, guest->tls, hello)) return;
  say_hello(guest->socket.get(), HelloKind::refusal, Lane(hello.lane), hello.to, hello.from, Token{}, host_,
            guest->tls.get());
  if (endpoint == by_nonce_.end() || endpoint->second->over()) {
    log::info("{}: {} ({}) asked for an endpoint that is closed, or never was here", options_.label,
              sender_of(hello), to_string(guest->from));
  } else {
    door_.turned_away(guest->from,
                      "it does not know the token of the endpoint it asked for, or that is connected");
  }
}

void TcpDomain::tick() noexcept {
  const int64_t now = now_ns();
  door_.tick(now);
  // From the back: who fails, or becomes ready, leaves.
  for (size_t i = connecting_.size(); i-- > 0;) {
    if (i < connecting_.size()) connecting_[i]->tick(now);
  }
}

int64_t TcpDomain::due_ns() const noexcept {
  int64_t due = door_.due_ns();
  for (const TcpEndpoint* endpoint : connecting_) due = std::min(due, endpoint->due_ns());
  return due;
}

// At a time of now_ns(); 0: never.
void TcpDomain::set_timer(int64_t at_ns) noexcept {
  itimerspec when{};
  when.it_value = {at_ns / 1'000'000'000, at_ns % 1'000'000'000};
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
  timed_ = at_ns != 0;
}

bool TcpDomain::arm() noexcept {
  if (!busy_.empty() || !orphans_.empty()) return false;
  if (!engine_->arm()) return false;
  if (const int64_t due = due_ns(); due != INT64_MAX) set_timer(std::max<int64_t>(due, 1));
  armed_ = true;
  return true;
}

}  // namespace plait::transport::tcp
