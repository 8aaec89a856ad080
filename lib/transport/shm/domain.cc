// A domain's life; poll.cc: polling and sleeping; meet.cc: its peers.
#include "transport/shm/domain.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/host.h"
#include "transport/misuse.h"

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
  c.max_transfer = kMaxTransfer;
  c.key_bytes = sizeof(Key);
  c.ticket_bytes = sizeof(Ticket);
  c.depth = kDepth;
  c.counters = kCounters;
  c.max_add = UINT16_MAX;
  c.signals = UINT16_MAX;  // sums in memory: nothing to run out of
  c.cost = {150e-9, 50e-9, 10e9};
  return c;
}

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
  if (!process_.is_this()) return in_forked_child("shm");
  if (counters > kCounters) return too_many_counters("shm", counters, kCounters);
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
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

void ShmDomain::forget(ShmEndpoint& endpoint) noexcept {
  endpoint.leave_dones(orphans_);
  free_places();
  endpoints_.erase(endpoint.id());
  by_nonce_.erase(endpoint.nonce());
  std::erase(busy_, &endpoint);
  if (auto& peer = endpoint.peer(); peer != nullptr && peer.use_count() == 1 && peer->pidfd)
    unwatch(peer->pidfd.get());
}

void ShmDomain::free_places() noexcept {
  for (size_t endpoints = orphans_.settled(); endpoints != 0; --endpoints) pools_.unreserve();
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

}  // namespace plait::transport::shm
