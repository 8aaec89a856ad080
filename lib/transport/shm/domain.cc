#include "transport/shm/domain.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/host.h"
#include "base/log.h"

namespace plait::transport::shm {

namespace {

Bytes host_identity(const Options& options) {
  const std::string host = options.host_id.empty() ? host_and_network() : options.host_id;
  const std::string text = "plait-shm-" + std::to_string(kVersion) + "/" + host;
  auto view = std::as_bytes(std::span(text));
  return Bytes(view.begin(), view.end());
}

Capabilities make_capabilities() noexcept {
  Capabilities c;
  c.get = true;
  c.word_last = true;
  c.detects_death = true;
  c.inline_bytes = kInline;
  c.max_transfer = size_t{1} << 46;
  c.key_bytes = sizeof(Key);
  c.ticket_bytes = sizeof(Ticket);
  c.depth = kDepth;
  c.counters = kCounters;
  c.max_add = UINT16_MAX;
  c.signals = UINT16_MAX;  // sums in memory: nothing to run out of
  c.cost = {150e-9, 50e-9, 10e9};
  return c;
}

constexpr size_t kGreeters = 1024;  // beyond two an endpoint

}  // namespace

Result<std::unique_ptr<Domain>> make_domain(const Options& options) { return ShmDomain::make(options); }

Result<std::unique_ptr<Domain>> ShmDomain::make(const Options& options) {
  auto process = Process::get();
  if (!process.ok()) return process.status();
  auto domain = std::make_unique<ShmDomain>(**process, options.allow_cma, host_identity(options));
  PLAIT_TRY(domain->start());
  return std::unique_ptr<Domain>(std::move(domain));
}

ShmDomain::ShmDomain(Process& process, bool allow_cma, Bytes identity) noexcept
    : process_(process),
      allow_cma_(allow_cma),
      identity_(std::move(identity)),
      listener_name_(random_nonce()),
      nonce_(random_nonce()[0]),
      sleepable_(process.light()) {}

Status ShmDomain::start() {
  auto words = process_.new_words();
  if (!words.ok()) return words.status();
  words_ = std::move(*words);
  epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  event_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_ || !event_)
    return Status::system(errno, "shm: an epoll or event descriptor (look at ulimit -n)");
  auto listener = listen_at(listener_name_);
  if (!listener.ok()) return listener.status();
  listener_ = std::move(*listener);
  PLAIT_TRY(watch(event_.get(), Watch::event, 0));
  return watch(listener_.get(), Watch::listener, 0);
}

ShmDomain::~ShmDomain() {
  for (auto& [id, endpoint] : endpoints_) endpoint->orphan();
}

const Capabilities& ShmDomain::capabilities() const noexcept {
  static const Capabilities capabilities = make_capabilities();
  return capabilities;
}

bool ShmDomain::reaches(ByteView peer) const noexcept { return std::ranges::equal(identity_, peer); }

Result<std::unique_ptr<Region>> ShmDomain::expose(const Memory& memory, Access access) {
  return LocalRegion::make(process_, nonce_, memory, access);
}

Result<std::unique_ptr<Endpoint>> ShmDomain::open(uint16_t counters, uint64_t cookie) {
  if (!process_.is_this()) return Status(Code::state, "shm: a domain cannot be used in a forked child");
  if (counters > kCounters) {
    return Status(Code::invalid, "shm: " + std::to_string(counters) +
                                     " counters asked for, an endpoint has at most " +
                                     std::to_string(kCounters));
  }
  if (!pools_.reserve()) return Status(Code::memory, "shm: no address space for an endpoint's transfers");
  auto control = process_.new_control();
  if (!control.ok()) {
    pools_.unreserve();
    return control.status();
  }
  Ticket ticket;
  ticket.listener = listener_name_;
  do {
    ticket.endpoint = random_nonce()[0];
  } while (ticket.endpoint == 0 || by_nonce_.contains(ticket.endpoint));
  ticket.sum = sum_of(ticket);
  auto endpoint = std::make_unique<ShmEndpoint>(*this, ++last_id_, ticket, *control, counters, cookie);
  endpoints_[endpoint->id()] = by_nonce_[endpoint->nonce()] = endpoint.get();
  busy_.reserve(endpoints_.size());
  orphans_.reserve(orphans_.size() + endpoints_.size() * (kDepth + 1));
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

void ShmDomain::forget(ShmEndpoint& endpoint) noexcept {
  endpoint.leave_dones(orphans_);
  pools_.unreserve();
  endpoints_.erase(endpoint.id());
  by_nonce_.erase(endpoint.nonce());
  std::erase(busy_, &endpoint);
  if (auto& peer = endpoint.peer(); peer != nullptr && peer.use_count() == 1 && peer->pidfd)
    unwatch(peer->pidfd.get());
}

void ShmDomain::has_work(ShmEndpoint& endpoint) noexcept {
  if (endpoint.listed) return;
  endpoint.listed = true;
  busy_.push_back(&endpoint);
}

void ShmDomain::counted(State from, State to) noexcept {
  if (from == State::connecting) --connecting_;
  if (to == State::connecting) ++connecting_;
}

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
  size_t count = std::min(done.size(), orphans_.size());
  std::copy_n(orphans_.begin(), count, done.begin());
  orphans_.erase(orphans_.begin(), orphans_.begin() + ptrdiff_t(count));
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

Status ShmDomain::watch(int fd, Watch kind, uint64_t id) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.u64 = uint64_t(kind) << 56 | id;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return Status::system(errno, "shm: watching a descriptor");
}

Status ShmDomain::watch(int socket, const ShmEndpoint& endpoint) {
  return watch(socket, Watch::endpoint, endpoint.id());
}

// Closing is not enough: a forked child may hold the same descriptor.
void ShmDomain::unwatch(int fd) noexcept { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

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

void ShmDomain::accept_all() noexcept {
  for (int i = 0; i < 64; ++i) {
    Fd socket = accept_from(listener_.get());
    if (!socket) return;
    auto who = peer_of(socket.get());
    Status status = who.ok() ? check_user(*who) : who.status();
    if (status.ok() && greeters_.size() >= kGreeters + 2 * endpoints_.size())
      status = Status(Code::memory, "shm: too many connections");
    if (status.ok()) status = watch(socket.get(), Watch::greeter, ++last_id_);
    if (status.ok()) {
      greeters_[last_id_] = {std::move(socket), *who};
    } else {
      log::warn("shm: a connection was refused: {}", status.text());
    }
  }
}

// Somebody's first message. What is no hello for an endpoint of ours is sent away.
void ShmDomain::hear(uint64_t id) noexcept {
  auto greeter = greeters_.find(id);
  if (greeter == greeters_.end()) return;
  Greeting greeting;
  Fd fds[2];
  ssize_t got = receive_message(greeter->second.socket.get(),
                                std::as_writable_bytes(std::span(&greeting.hello, 1)), fds);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
  unwatch(greeter->second.socket.get());
  greeting.socket = std::move(greeter->second.socket);
  greeting.who = greeter->second.who;
  greeting.arena = std::move(fds[0]);
  greeting.event = std::move(fds[1]);
  greeters_.erase(greeter);
  auto endpoint = by_nonce_.find(greeting.hello.to);
  if (got == sizeof greeting.hello && greeting.arena && endpoint != by_nonce_.end())
    endpoint->second->greeted(std::move(greeting));
}

Result<std::shared_ptr<Peer>> ShmDomain::meet(Greeting& greeting) {
  const Hello& hello = greeting.hello;
  auto& known = peers_[{hello.arena, hello.words}];
  if (auto peer = known.lock()) {
    if (peer->pid == greeting.who.pid && peer->process == hello.process && peer->domain == hello.domain)
      return peer;
    return Status(Code::auth, "two processes claim to be one: " + peer->name() + " and process " +
                                  std::to_string(greeting.who.pid));
  }
  auto met = shm::meet(process_, hello, greeting.who, std::move(greeting.arena), std::move(greeting.event),
                       allow_cma_);
  if (!met.ok()) return met.status();
  const auto& peer = *met;
  if (peer->pidfd && watch(peer->pidfd.get(), Watch::peer, ++last_id_).ok()) watched_[last_id_] = peer;
  if (!peer->light) sleepable_ = false;  // its stores and its look at our flag are not ordered for us
  known = peer;
  std::erase_if(peers_, [](auto& entry) { return entry.second.expired(); });
  std::erase_if(watched_, [](auto& entry) { return entry.second.expired(); });
  return met;
}

void ShmDomain::peer_died(uint64_t id) noexcept {
  auto watched = watched_.find(id);
  auto peer = watched == watched_.end() ? nullptr : watched->second.lock();
  if (peer == nullptr) return;
  unwatch(peer->pidfd.get());
  watched_.erase(watched);
  for (auto& [endpoint_id, endpoint] : endpoints_) {
    if (endpoint->peer() == peer) endpoint->lost();
  }
}

}  // namespace plait::transport::shm
