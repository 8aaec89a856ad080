// Polling and sleeping. A connection that was received from a moment ago is tried at once; of all others
// epoll tells which are worth a call.
#include <sys/timerfd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "transport/tcp/domain.h"

namespace plait::transport::tcp {

namespace {

// A poll moves at most 256 KiB; receiving leaves some of that to sending.
constexpr size_t kReceive = size_t{176} << 10;
constexpr size_t kReceiveOne = kReceive;  // where but one has something
constexpr size_t kReceiveLeast = size_t{16} << 10;
constexpr int kCalls = 3;           // to the kernel, to send on one connection
constexpr uint32_t kQuiet = 1024;   // receives in vain until a connection is no longer hot,
constexpr uint32_t kReplaced = 64;  // or gives way to another
constexpr uint32_t kDrowsy = 128;   // receives in vain, after which it is tried at every kNap-th poll only
constexpr uint32_t kNap = 8;
constexpr uint32_t kLookEvery = 16;    // polls until epoll is asked, ...
constexpr uint32_t kLookSeldom = 256;  // ... where all connections are hot

}  // namespace

size_t TcpDomain::poll(std::span<Done> done) noexcept {
  if (armed_) {
    armed_ = false;
    if (timed_) set_timer(0);
  }
  size_t budget = kPiece;
  const size_t hot = hot_count();
  ++polls_;
  if (hot == 0 || polls_ - looked_ >= (hot < 2 * endpoints_.size() ? kLookEvery : kLookSeldom) ||
      !connecting_.empty()) {
    looked_ = polls_;
    look();
  }
  receive(budget);
  if (!sending_.empty()) send(budget);
  return busy_.empty() && orphans_.empty() ? 0 : work(done, budget);
}

// All that may have something get an equal share, so that none waits for the others to fall silent.
void TcpDomain::receive(size_t& budget) noexcept {
  const size_t rest = budget - kReceive;
  const size_t share = std::max(kReceive / (kHot + told_count_), kReceiveLeast);
  budget = kReceive;
  const auto take = [&](Connection& connection) {
    const size_t most = std::min(budget, hot_count() + told_count_ == 1 ? kReceiveOne : share);
    size_t left = most;
    const bool got = connection.receive(left);
    budget -= most - left;
    return got;
  };
  for (Connection*& hot : hot_) {
    if (hot == nullptr || (hot->quiet > kDrowsy && polls_ % kNap != 0)) continue;
    if (take(*hot)) {
      hot->quiet = 0;
    } else if (++hot->quiet > kQuiet || !hot->up()) {
      hot->hot = false;
      hot = nullptr;
    }
  }
  for (size_t i = 0; i < told_count_; ++i) take(*told_[i]);
  told_count_ = 0;
  budget += rest;
}

void TcpDomain::send(size_t& budget) noexcept {
  ++first_;
  for (size_t i = 0; i < sending_.size() && budget != 0; ++i) {
    Connection& connection = *sending_[(first_ + i) % sending_.size()];
    if (connection.up()) connection.flush(budget, kCalls);
  }
  std::erase_if(sending_, [this](Connection* c) {
    if (c->up() && c->pending()) return false;
    if (c->awaits_room) await_room(*c, false);
    c->listed = false;
    return true;
  });
}

size_t TcpDomain::work(std::span<Done> done, size_t& budget) noexcept {
  size_t count = 0;
  for (; count < done.size() && !orphans_.empty(); orphans_.pop()) done[count++] = orphans_.front().done;
  if (gone_ != 0) free_places();
  for (size_t i = 0; i < busy_.size(); ++i) {
    busy_[i]->progress(budget);
    count += busy_[i]->harvest(done.subspan(count));
  }
  std::erase_if(busy_, [](TcpEndpoint* endpoint) { return !(endpoint->listed = endpoint->busy()); });
  return count;
}

void TcpDomain::wants_to_send(Connection& connection) noexcept {
  if (connection.listed) return;
  connection.listed = true;
  sending_.push_back(&connection);
}

// It becomes hot in the place of one that has been quiet for a while; else it is received from once.
void TcpDomain::stirred(Connection& connection) noexcept {
  if (connection.hot || !connection.up()) return;
  for (Connection*& hot : hot_) {
    if (hot != nullptr && hot->quiet < kReplaced) continue;
    if (hot != nullptr) hot->hot = false;
    hot = &connection;
    connection.hot = true;
    connection.quiet = 0;
    return;
  }
  if (told_count_ < told_.size()) told_[told_count_++] = &connection;
}

size_t TcpDomain::hot_count() const noexcept { return kHot - size_t(std::ranges::count(hot_, nullptr)); }

void TcpDomain::has_work(TcpEndpoint& endpoint) noexcept {
  if (endpoint.listed) return;
  endpoint.listed = true;
  busy_.push_back(&endpoint);
}

void TcpDomain::look() noexcept {
  std::array<Poller::Event, kTold> events;
  const size_t count = poller_.ready(events);
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
  if (endpoint != by_nonce_.end() && endpoint->second->greeted(guest->socket, hello)) return;
  say_hello(guest->socket.get(), HelloKind::refusal, Lane(hello.lane), hello.to, hello.from, Token{}, host_);
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

void TcpDomain::await_room(Connection& connection, bool on) noexcept {
  connection.awaits_room = on;
  if (!connection.up()) return;
  const uint64_t id = connection.endpoint().id() * kLanes + uint64_t(connection.lane());
  poller_.change(connection.fd(), Watch::lane, id, kReadable | (on ? uint32_t(EPOLLOUT) : 0U));
}

// What was received but for epoll's word is still there to read, so it wakes.
bool TcpDomain::arm() noexcept {
  if (!busy_.empty() || !orphans_.empty()) return false;
  for (Connection* connection : sending_) {
    if (!connection->awaits_room) await_room(*connection, true);
  }
  if (const int64_t due = due_ns(); due != INT64_MAX) set_timer(std::max<int64_t>(due, 1));
  armed_ = true;
  return true;
}

}  // namespace plait::transport::tcp
