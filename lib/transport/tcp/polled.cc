#include "transport/tcp/polled.h"

#include <algorithm>

#include "transport/tcp/endpoint.h"

namespace plait::transport::tcp {

namespace {

constexpr int kCalls = 2;  // to the kernel, to send on one connection
// Bytes that leave in a row, before what is long is received. Of two that exchange packet by packet each
// takes a third longer for one: what comes while a call holds the socket waits for its end, is received by a
// call of its own, and acknowledged by a packet of its own.
constexpr size_t kRun = 8 * kPacket;
constexpr size_t kReceiveLeast = size_t{16} << 10;
constexpr uint32_t kLately = 8;     // receives in vain, up to which a hot connection is tried at every poll
constexpr uint32_t kOthers = 8;     // polls, at one of which one of the others is tried meanwhile
constexpr uint32_t kBusy = 64;      // receives in vain, up to which a hot connection is busy
constexpr uint32_t kQuiet = 1024;   // receives in vain until a connection is no longer hot,
constexpr uint32_t kReplaced = 64;  // or gives way to another
constexpr uint32_t kDrowsy = 128;   // receives in vain, after which it is tried at every kNap-th poll only
constexpr uint32_t kNap = 8;
constexpr uint32_t kGains = 256;       // receives that found something, after which epoll need not have it
constexpr uint32_t kLookEvery = 16;    // polls until epoll is asked, ...
constexpr uint32_t kLookSeldom = 256;  // ... where all connections are hot

bool is_long(Lane lane) noexcept { return lane != Lane::mailbox && lane != Lane::pulse; }

}  // namespace

uint32_t PolledEngine::add(Connection& /*connection*/) noexcept {
  ++connections_;
  return kReadable;
}

// Those that are not up are passed over.
void PolledEngine::remove(Connection& /*connection*/) noexcept { --connections_; }

void PolledEngine::forget(TcpEndpoint& endpoint) noexcept {
  const auto its = [&](Connection* c) { return c != nullptr && &c->endpoint() == &endpoint; };
  std::erase_if(sending_, its);
  std::erase_if(held_, its);
  std::ranges::replace_if(hot_, its, nullptr);
  const auto told_end = told_.begin() + ptrdiff_t(told_count_);
  told_count_ = size_t(std::remove_if(told_.begin(), told_end, its) - told_.begin());
}

bool PolledEngine::is_look_due() noexcept {
  const size_t hot = hot_count();
  ++polls_;
  return hot == 0 || crowded_ || polls_ - looked_ >= (hot < connections_ ? kLookEvery : kLookSeldom);
}

void PolledEngine::move(size_t& budget) noexcept {
  receive(budget);
  if (budget != 0 && !sending_.empty()) send(budget);
}

// Whether more is to leave before what is long is received.
bool PolledEngine::in_run() const noexcept { return !sending_.empty() && run_ < kRun; }

// All that may have something get an equal share, so that none waits for the others to fall silent.
void PolledEngine::receive(size_t& budget) noexcept {
  const bool waits = in_run();
  const size_t all = budget;
  const size_t among = busy_count() + told_count_;
  const size_t share = among <= 1 ? budget : std::max(budget / among, kReceiveLeast);
  const auto take = [&](Connection& connection) {
    const size_t most = std::min(budget, share);
    size_t left = most;
    const bool got = connection.hot ? connection.sip(left) : connection.receive(left);
    // Of a long frame that has begun, all that is there.
    while (got && left != 0 && connection.awaited() != 0 && connection.receive(left)) {
    }
    budget -= most - left;
    if (connection.holds()) hold(connection);
    return got;
  };
  if (!held_.empty()) take_held(budget, share);
  const Connection* const turn = whose_turn();
  for (Connection*& hot : hot_) {
    if (hot == nullptr || (waits && is_long(hot->lane()))) continue;
    if (hot->quiet > kDrowsy ? polls_ % kNap != 0 : hot->quiet > kLately && hot != turn) continue;
    if (take(*hot)) {
      hot->quiet = 0;
      if (!hot->unwatched && ++hot->gains >= kGains) unwatch(*hot);
    } else if ((++hot->quiet > kQuiet && rewatch(*hot)) || !hot->up()) {
      hot->hot = false;
      hot = nullptr;
    } else if (hot->quiet == kLately && !hot->settle()) {
      hot->quiet = 0;
    }
  }
  crowded_ = told_count_ != 0;
  for (size_t i = 0; i < told_count_; ++i) {
    if (!waits || !is_long(told_[i]->lane())) take(*told_[i]);  // epoll tells of it again
  }
  told_count_ = 0;
  if (waits) return;
  came_ += all - budget;
  if (budget != 0 || came_ >= kRun) run_ = came_ = 0;
}

// Of the hot ones that are neither drowsy nor had something lately: a receive in vain costs as much as a
// message takes to come, so one is tried at a time, and seldom where something comes on others.
Connection* PolledEngine::whose_turn() noexcept {
  const auto lately = [](const Connection* c) { return c != nullptr && c->quiet <= kLately; };
  if (polls_ % kOthers != 0 && std::ranges::any_of(hot_, lately)) return nullptr;
  for (size_t i = 0; i < kHot; ++i) {
    Connection* hot = hot_[++turn_ % kHot];
    if (hot != nullptr && hot->quiet > kLately && hot->quiet <= kDrowsy) return hot;
  }
  return nullptr;
}

// Those that hold more, once each; who then still does is listed anew.
void PolledEngine::take_held(size_t& budget, size_t share) noexcept {
  for (size_t count = held_.size(); count != 0; --count) {
    Connection& connection = *held_.front();
    held_.erase(held_.begin());
    connection.held = false;
    const size_t most = std::min(budget, share);
    size_t left = most;
    connection.receive(left);
    budget -= most - left;
    if (connection.holds()) hold(connection);
  }
}

void PolledEngine::hold(Connection& connection) noexcept {
  if (connection.held) return;
  connection.held = true;
  held_.push_back(&connection);
}

void PolledEngine::send(size_t& budget) noexcept {
  ++first_;
  const size_t before = budget;
  for (size_t i = 0; i < sending_.size() && budget != 0; ++i) {
    Connection& connection = *sending_[(first_ + i) % sending_.size()];
    if (connection.up()) connection.flush(budget, kCalls);
  }
  count_run(before - budget);
  drop_sent();
}

void PolledEngine::count_run(size_t left) noexcept {
  run_ = left == 0 ? kRun : run_ + left;  // 0: the kernel is full, and it is time to receive
}

void PolledEngine::drop_sent() noexcept {
  std::erase_if(sending_, [this](Connection* c) {
    if (c->up() && c->pending()) return false;
    if (c->awaits_room) await_room(*c, false);
    c->listed = false;
    return true;
  });
}

bool PolledEngine::drain(Connection& connection, size_t& budget) noexcept {
  while (budget != 0 && connection.receive(budget)) {
  }
  return budget != 0;
}

// What fits leaves now; behind what waits already it is move()'s turn.
void PolledEngine::posted(Connection& connection, bool queued) noexcept {
  size_t budget = kPacket;
  if (!queued) connection.flush(budget, 1);
  if (connection.up() && connection.pending()) wants_to_send(connection);
}

void PolledEngine::wants_to_send(Connection& connection) noexcept {
  if (connection.listed) return;
  connection.listed = true;
  sending_.push_back(&connection);
}

// It becomes hot in the place of one that has been quiet for a while; else it is received from once.
void PolledEngine::stirred(Connection& connection) noexcept {
  if (connection.up() && connection.holds()) hold(connection);
  if (connection.hot || !connection.up()) return;
  for (Connection*& hot : hot_) {
    if (hot != nullptr && (hot->quiet < kReplaced || !rewatch(*hot))) continue;
    if (hot != nullptr) hot->hot = false;
    hot = &connection;
    connection.hot = true;
    connection.quiet = 0;
    return;
  }
  if (told_count_ < told_.size()) told_[told_count_++] = &connection;
}

size_t PolledEngine::busy_count() const noexcept {
  return size_t(
      std::ranges::count_if(hot_, [](const Connection* c) { return c != nullptr && c->quiet < kBusy; }));
}

size_t PolledEngine::hot_count() const noexcept { return kHot - size_t(std::ranges::count(hot_, nullptr)); }

void PolledEngine::await_room(Connection& connection, bool on) noexcept {
  connection.awaits_room = on;
  if (on || !connection.unwatched) tell(connection);
}

// Epoll what it is to watch `connection` for.
void PolledEngine::tell(Connection& connection) noexcept {
  if (!connection.up()) return;
  const uint32_t events = connection.watched | (connection.awaits_room ? uint32_t(EPOLLOUT) : 0U);
  const uint64_t id = connection.endpoint().watch_id(connection.lane());
  if (!connection.unwatched) {
    poller_.change(connection.fd(), Watch::lane, id, events);
  } else {
    connection.unwatched = !poller_.add(connection.fd(), Watch::lane, id, events);
  }
}

// False: the kernel refuses.
bool PolledEngine::rewatch(Connection& connection) noexcept {
  connection.gains = 0;
  if (connection.unwatched) tell(connection);
  return !connection.unwatched || !connection.up();
}

// What comes need not be told of while it is looked for: the sender's packet, in whose call all this happens,
// takes 0.3 us less.
void PolledEngine::unwatch(Connection& connection) noexcept {
  if (!connection.up() || connection.awaits_room) return;
  poller_.remove(connection.fd());
  connection.unwatched = true;
}

// What was received but for epoll's word is still there to read, so it wakes.
bool PolledEngine::arm() noexcept {
  bool settled = true;
  for (Connection* hot : hot_) settled = (hot == nullptr || hot->settle()) && settled;
  if (!settled) return false;
  for (Connection* hot : hot_) {
    if (hot != nullptr && !rewatch(*hot)) return false;
  }
  for (Connection* connection : sending_) {
    if (!connection->awaits_room) await_room(*connection, true);
  }
  return held_.empty();
}

}  // namespace plait::transport::tcp
