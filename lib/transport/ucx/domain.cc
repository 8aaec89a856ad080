#include "transport/ucx/domain.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/boot_id.h"
#include "base/clock.h"
#include "base/hash.h"

namespace plait::transport::ucx {

namespace {

constexpr size_t kBudget = size_t{256} << 10;  // sent in a poll
constexpr size_t kFlights = UcxEndpoint::kFlights;
constexpr int kFarewellMs = 20;  // what closing the domain may wait for last words

// Network namespaces matter, since loopback addresses live in them.
uint64_t host_id() {
  struct stat net {};
  if (stat("/proc/self/ns/net", &net) != 0) net.st_ino = 0;
  return fnv1a(boot_id() + "/" + std::to_string(net.st_ino));
}

Capabilities make_capabilities(const Library& library, const Options& options) noexcept {
  Capabilities c;
  c.get = true;
  c.target_must_poll = true;
  c.detects_death = library.peer_errors();
  c.inline_bytes = kInline;
  c.max_transfer = kMaxTransfer;
  c.key_bytes = sizeof(RegionKey);
  c.ticket_bytes = sizeof(TicketHead) + library.address().size();
  c.depth = kDepth;
  c.counters = kCounters;
  c.max_add = UINT16_MAX;
  c.signals = 0;  // UCX's packets are the bound
  c.cost = {library.peer_errors() ? 10e-6 : 1e-6, library.peer_errors() ? 2e-6 : 0.2e-6,
            options.bandwidth_Bps};
  return c;
}

}  // namespace

Result<std::unique_ptr<Domain>> make_domain(const Options& options) {
  if (options.keepalive_s < 2) return Status(Code::invalid, "ucx: keepalive_s must be at least 2");
  auto domain = std::make_unique<UcxDomain>(options);
  PLAIT_TRY(domain->start());
  return std::unique_ptr<Domain>(std::move(domain));
}

UcxDomain::UcxDomain(const Options& options) : options_(options), nonce_(random_word()), pid_(getpid()) {}

Status UcxDomain::start() {
  auto library = Library::open(options_, on_message, this);
  if (!library.ok()) return library.status();
  library_ = std::move(*library);
  capabilities_ = make_capabilities(*library_, options_);
  identity_.flags = library_->peer_errors() ? kPeerErrors : kLocal;
  if (options_.devices == "lo") identity_.flags |= kLocal;
  identity_.host = host_id();
  return {};
}

UcxDomain::~UcxDomain() {
  if (!is_this_process()) {  // UCX's descriptors are the parent's, too
    (void)library_.release();
    return;
  }
  for (UcxEndpoint* endpoint : endpoints_) {
    if (endpoint != nullptr) endpoint->orphan();
  }
  for (Deadline end = Deadline::in_ms(kFarewellMs); strays_ != 0 && !end.passed();) poll({});
  for (auto& peer : peers_) library_->close(peer->end);
}

bool UcxDomain::is_this_process() const noexcept { return getpid() == pid_; }

bool UcxDomain::reaches(ByteView peer) const noexcept {
  const auto other = parse_identity(peer);
  if (!other || ((other->flags ^ identity_.flags) & kPeerErrors) != 0) return false;
  return ((other->flags | identity_.flags) & kLocal) == 0 || other->host == identity_.host;
}

Result<std::unique_ptr<Region>> UcxDomain::expose(const Memory& memory, Access access) {
  return LocalRegion::make(kMaker, regions_, nonce_, memory, access);
}

Ticket UcxDomain::make_ticket(uint16_t counters, size_t place) const {
  Ticket ticket;
  ticket.head.counters = counters;
  ticket.head.pid = uint32_t(pid_);
  ticket.head.domain = nonce_;
  ticket.head.endpoint = (random_word() & ~(kEndpoints - 1)) | place;
  gethostname(ticket.head.host.data(), ticket.head.host.size() - 1);
  for (char& c : ticket.head.host) {
    if (c != 0 && (c <= ' ' || c >= 127)) c = '?';
  }
  ticket.address.assign(library_->address().begin(), library_->address().end());
  return ticket;
}

Result<std::unique_ptr<Endpoint>> UcxDomain::open(uint16_t counters, uint64_t cookie) {
  if (!is_this_process()) return Status(Code::state, "ucx: a domain cannot be used in a forked child");
  if (counters > kCounters) {
    return Status(Code::invalid, "ucx: " + std::to_string(counters) +
                                     " counters asked for, an endpoint has at most " +
                                     std::to_string(kCounters));
  }
  const size_t place = size_t(std::ranges::find(endpoints_, nullptr) - endpoints_.begin());
  if (place == kEndpoints || !pools_.ops.reserve(kDepth) || !pools_.dones.reserve(kDepth + 1) ||
      !pools_.served.reserve(kDepth) || !pools_.flights.reserve(kFlights))
    return Status(Code::memory, "ucx: no room for another endpoint");
  auto endpoint = std::make_unique<UcxEndpoint>(*this, make_ticket(counters, place), cookie);
  if (place == endpoints_.size()) endpoints_.push_back(nullptr);
  endpoints_[place] = endpoint.get();
  busy_.reserve(endpoints_.size());
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

void UcxDomain::forget(UcxEndpoint& endpoint) noexcept {
  endpoint.leave_dones(orphans_);
  gone_++;
  free_places();
  endpoints_[endpoint.nonce() % kEndpoints] = nullptr;
  std::erase(busy_, &endpoint);
}

void UcxDomain::free_places() noexcept {
  if (!orphans_.empty() || strays_ != 0) return;
  for (; gone_ != 0; gone_--) {
    pools_.ops.unreserve(kDepth);
    pools_.dones.unreserve(kDepth + 1);
    pools_.served.unreserve(kDepth);
    pools_.flights.unreserve(kFlights);
  }
}

void UcxDomain::trim() noexcept {
  pools_.ops.trim();
  pools_.dones.trim();
  pools_.served.trim();
  pools_.flights.trim();
}

void UcxDomain::has_work(UcxEndpoint& endpoint) noexcept {
  if (endpoint.listed) return;
  endpoint.listed = true;
  busy_.push_back(&endpoint);
}

ucs_status_t UcxDomain::meet(const Ticket& ticket, Peer*& peer) noexcept {
  for (const auto& known : peers_) {
    if (known->nonce == ticket.head.domain && known->error == UCS_OK) peer = known.get();
  }
  if (peer != nullptr) return UCS_OK;
  auto made = std::make_unique<Peer>();
  made->domain = this;
  made->nonce = ticket.head.domain;
  const ucs_status_t status = library_->connect(ticket.address, {on_error, made.get()}, made->end);
  if (status != UCS_OK) return status;
  peer = made.get();
  peers_.push_back(std::move(made));
  return UCS_OK;
}

// In UCX's progress, where nothing can be closed.
void UcxDomain::on_error(void* data, ucp_ep_h /*end*/, ucs_status_t status) noexcept {
  Peer& peer = *static_cast<Peer*>(data);
  if (peer.error == UCS_OK) ++peer.domain->lost_;
  peer.error = status;
}

void UcxDomain::lose(Peer& peer) noexcept {
  for (UcxEndpoint* endpoint : endpoints_) {
    if (endpoint != nullptr && endpoint->peer() == &peer) endpoint->lost(peer.error);
  }
  library_->close(peer.end);
}

Flight& UcxDomain::take_flight() noexcept {
  Flight& flight = pools_.flights.take();
  flight.domain = this;
  return flight;
}

// An error of a message is its peer's.
void UcxDomain::sent(Flight& flight, ucs_status_t status) noexcept {
  if (flight.owner == nullptr) {
    --strays_;
  } else {
    if (status != UCS_OK) {
      flight.op = nullptr;
      on_error(flight.owner->peer(), nullptr, status);
    }
    flight.owner->sent(flight);
  }
  pools_.flights.give(flight);
}

ucs_status_t UcxDomain::on_message(void* owner, const void* header, size_t header_bytes, void* data,
                                   size_t bytes, const ucp_am_recv_param_t* param) noexcept {
  auto& domain = *static_cast<UcxDomain*>(owner);
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) return UCS_OK;  // we never send so
  const auto h = parse_header({static_cast<const std::byte*>(header), header_bytes}, bytes);
  const size_t place = h ? h->to % kEndpoints : kEndpoints;
  // Else it is late, or a stranger's.
  if (place < domain.endpoints_.size()) {
    UcxEndpoint* const endpoint = domain.endpoints_[place];
    if (endpoint != nullptr && endpoint->nonce() == h->to)
      endpoint->receive(*h, {static_cast<const std::byte*>(data), bytes});
  }
  return UCS_OK;
}

size_t UcxDomain::poll(std::span<Done> done) noexcept {
  ucp_worker_progress(library_->worker());
  if (lost_ != 0) {
    lost_ = 0;
    for (auto& peer : peers_) {
      if (peer->error != UCS_OK && peer->end != nullptr) lose(*peer);
    }
  }
  size_t count = 0, budget = kBudget;
  for (; count < done.size() && !orphans_.empty(); orphans_.pop()) done[count++] = orphans_.front().done;
  if (gone_ != 0) free_places();
  if (busy_.empty()) return count;
  for (size_t i = 0; i < busy_.size(); ++i) {
    busy_[i]->move(budget);
    count += busy_[i]->harvest(done.subspan(count));
  }
  std::erase_if(busy_, [](UcxEndpoint* endpoint) { return !(endpoint->listed = endpoint->busy()); });
  return count;
}

bool UcxDomain::arm() noexcept {
  return busy_.empty() && orphans_.empty() && ucp_worker_arm(library_->worker()) == UCS_OK;
}

}  // namespace plait::transport::ucx
