#include "transport/tcp/domain.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/host.h"
#include "base/log.h"
#include "transport/misuse.h"
#include "transport/tcp/polled.h"

namespace plait::transport::tcp {

namespace {

Capabilities make_capabilities(const Options& options) noexcept {
  Capabilities c;
  c.get = true;
  c.target_must_poll = true;
  c.detects_death = true;
  c.inline_bytes = kInline;
  c.max_transfer = kMaxTransfer;
  c.long_put = kPiece;
  c.key_bytes = sizeof(Key);
  c.ticket_bytes = sizeof(Ticket);
  c.depth = kDepth;
  c.counters = kCounters;
  c.max_add = UINT16_MAX;
  c.signals = 0;  // a full socket stops post()
  c.cost = {10e-6, 2e-6, options.bandwidth_Bps};
  return c;
}

constexpr size_t kBufferMost = size_t{1} << 30;
constexpr size_t kGuests = 256;  // and kLanes an endpoint

Status check(const Options& options) {
  if (options.addresses.empty()) return Status(Code::invalid, "tcp: no address to listen on");
  for (const Address& address : options.addresses) {
    if (!address.valid() || address.any())
      return Status(Code::invalid,
                    "tcp: " + to_string(address) + " is no address that a peer could connect to");
  }
  if (options.port_min > options.port_max || (options.port_min == 0) != (options.port_max == 0)) {
    return Status(Code::invalid, "tcp: " + std::to_string(options.port_min) + " to " +
                                     std::to_string(options.port_max) + " is no range of ports");
  }
  if (options.bulk_connections < 1 || options.bulk_connections > int(kBulkMost)) {
    return Status(Code::invalid, "tcp: " + std::to_string(options.bulk_connections) +
                                     " connections for bulk asked for, there can be 1 to " +
                                     std::to_string(kBulkMost));
  }
  if (options.send_buffer > kBufferMost || options.receive_buffer > kBufferMost)
    return Status(Code::invalid, "tcp: a socket buffer may have 1 GiB at most");
  if (options.tls && options.engine == EngineKind::uring)
    return Status(Code::invalid, "tcp: with TLS sockets are polled: io_uring cannot be had together with it");
  if (!(options.pacing_Bps >= 0))
    return Status(Code::invalid, "tcp: bytes cannot be paced by a negative rate");
  return {};
}

// Whether `local` can talk to `remote`, as far as their kinds tell.
bool match(const Address& local, const Address& remote, bool same_host) noexcept {
  return local.family == remote.family && local.loopback() == remote.loopback() &&
         local.link_local() == remote.link_local() && (same_host || !remote.loopback());
}

}  // namespace

Result<std::unique_ptr<Domain>> make_domain(const Options& options) { return TcpDomain::make(options); }

Result<std::unique_ptr<Domain>> TcpDomain::make(const Options& options) {
  PLAIT_TRY(check(options));
  auto domain = std::make_unique<TcpDomain>(options);
  PLAIT_TRY(domain->start());
  return std::unique_ptr<Domain>(std::move(domain));
}

TcpDomain::TcpDomain(const Options& options)
    : options_(options),
      capabilities_(make_capabilities(options)),
      host_(host_name()),
      nonce_(random_word()),
      pid_(getpid()) {}

Status TcpDomain::start() {
  PLAIT_TRY(poller_.open());
  if (options_.tls) {
    auto tls = TlsContext::make(*options_.tls);
    if (!tls.ok()) return tls.status();
    tls_ = std::move(*tls);
    door_.require(*tls_);
  }
  engine_ = make_engine(options_.engine, poller_, options_.label);
  timer_ = Fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer_ || !poller_.add(timer_.get(), Watch::timer, 0, EPOLLIN))
    return Status::system(errno, "tcp: a timer descriptor (look at ulimit -n)");
  auto addresses = options_.addresses;
  addresses.resize(std::min(addresses.size(), kAddresses));
  PLAIT_TRY(door_.open(addresses, {options_.port_min, options_.port_max}, buffers()));
  warn_of_less(door_.buffers());
  identity_.host = host_id();
  for (const Address& address : door_.addresses()) {
    identity_.families |= family_of(address);
    prefixes_.push_back(prefix_of(address));
  }
  return {};
}

void TcpDomain::warn_of_less(const Buffers& given) const {
  const Buffers asked = buffers();
  if (given.send < asked.send)
    log::warn("{}: socket buffers for sending have {} bytes, not {}: look at sysctl net.core.wmem_max",
              options_.label, given.send, asked.send);
  if (given.receive < asked.receive)
    log::warn("{}: socket buffers for receiving have {} bytes, not {}: look at sysctl net.core.rmem_max",
              options_.label, given.receive, asked.receive);
}

TcpDomain::~TcpDomain() {
  for (auto& [id, endpoint] : endpoints_) endpoint->orphan();
}

bool TcpDomain::is_this_process() const noexcept { return getpid() == pid_; }

bool TcpDomain::reaches(ByteView peer) const noexcept {
  const auto other = parse_identity(peer);
  if (!other) return false;
  const unsigned common = identity_.families & other->families;
  return (common & (kIp4 | kIp6)) != 0 || (common != 0 && other->host == identity_.host);
}

Result<std::unique_ptr<Region>> TcpDomain::expose(const Memory& memory, Access access) {
  return LocalRegion::make(kMaker, regions_, nonce_, memory, access, true);
}

Result<std::unique_ptr<Endpoint>> TcpDomain::open(uint16_t counters, uint64_t cookie) {
  if (!is_this_process()) return in_forked_child(kMaker.name);
  if (counters > kCounters) return too_many_counters(kMaker.name, counters, kCounters);
  if (!reserve_places()) return Status(Code::memory, "tcp: no address space for an endpoint's transfers");
  Ticket ticket;
  ticket.counters = counters;
  ticket.bulk_lanes = uint8_t(options_.bulk_connections);
  ticket.tls = options_.tls ? 1 : 0;
  ticket.host = identity_.host;
  ticket.domain = nonce_;
  ticket.endpoint = random_word();
  for (Token& token : ticket.tokens) token = random_token();
  for (const Address& address : door_.addresses()) {
    ticket.addresses[ticket.address_count] = address;
    ticket.addresses[ticket.address_count++].scope = 0;
  }
  ticket.sum = sum_of(ticket);
  auto endpoint = std::make_unique<TcpEndpoint>(*this, ++last_id_, ticket, cookie);
  endpoints_[endpoint->id()] = by_nonce_[endpoint->nonce()] = endpoint.get();
  const size_t count = endpoints_.size();
  connecting_.reserve(count);
  busy_.reserve(count);
  engine_->reserve(connections() * count);
  door_.set_room(kGuests + kLanes * count);
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

void TcpDomain::forget(TcpEndpoint& endpoint) noexcept {
  endpoint.leave_dones(orphans_);
  free_places();
  endpoints_.erase(endpoint.id());
  by_nonce_.erase(endpoint.nonce());
  std::erase(connecting_, &endpoint);
  std::erase(busy_, &endpoint);
  engine_->forget(endpoint);
}

void TcpDomain::free_places() noexcept {
  for (size_t endpoints = orphans_.settled(); endpoints != 0; --endpoints) {
    pools_.unreserve(connections());
    if (tls_) tls_->left().unreserve(connections());
  }
}

bool TcpDomain::reserve_places() {
  return pools_.reserve(connections()) && (!tls_ || tls_->left().reserve(connections()));
}

void TcpDomain::trim() noexcept {
  pools_.trim();
  if (tls_) tls_->left().trim();
}

void TcpDomain::changed(TcpEndpoint& endpoint, State from, State to) noexcept {
  if (from == State::connecting) std::erase(connecting_, &endpoint);
  if (to == State::connecting) connecting_.push_back(&endpoint);
}

std::vector<Route> TcpDomain::routes_to(const Ticket& peer) const {
  std::vector<Route> near, far;
  for (size_t i = 0; i < peer.address_count; ++i) {
    const Route* best = nullptr;
    std::vector<Route>* kind = &far;
    Route route;
    for (size_t own = 0; own < prefixes_.size(); ++own) {
      const Address& local = door_.addresses()[own];
      if (!match(local, peer.addresses[i], peer.host == identity_.host)) continue;
      const bool close = same_network(local, peer.addresses[i], prefixes_[own]);
      if (best != nullptr && (!close || kind == &near)) continue;
      route = {local, peer.addresses[i]};
      route.remote.scope = local.scope;
      best = &route;
      kind = close ? &near : &far;
    }
    if (best != nullptr) kind->push_back(route);
  }
  near.insert(near.end(), far.begin(), far.end());
  return near;
}

}  // namespace plait::transport::tcp
