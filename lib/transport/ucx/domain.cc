#include "transport/ucx/domain.h"

#include "base/clock.h"
#include "base/host.h"

namespace plait::transport::ucx {
namespace {

constexpr size_t kBudget = size_t{256} << 10;  // sent in a poll
constexpr int kFarewellMs = 20;                // what closing the domain may wait for last words

}  // namespace

Result<std::unique_ptr<Domain>> make_domain(const Options& options) {
  if (options.keepalive_s < 2) return Status(Code::invalid, "ucx: keepalive_s must be at least 2");
  auto domain = std::make_unique<UcxDomain>(options);
  PLAIT_TRY(domain->start());
  return std::unique_ptr<Domain>(std::move(domain));
}

Status UcxDomain::start() {
  auto library = Library::open(options_, on_message, this);
  if (!library.ok()) return library.status();
  library_ = std::move(*library);
  const bool tells = library_->peer_errors();
  capabilities_.detects_death = tells;
  capabilities_.ticket_bytes += library_->address().size();
  capabilities_.cost = {tells ? 10e-6 : 1e-6, tells ? 2e-6 : 0.2e-6, options_.bandwidth_Bps};
  identity_.use = tells ? kPeerErrors : kLocal;
  if (options_.devices == "lo") identity_.use |= kLocal;
  identity_.host = host_id();
  return {};
}

UcxDomain::~UcxDomain() {
  if (!is_this_process()) {  // UCX's descriptors are the parent's, too
    (void)library_.release();
    return;
  }
  orphan_all();
  for (Deadline end = Deadline::in_ms(kFarewellMs); strays_ != 0 && !end.passed();)
    ucp_worker_progress(library_->worker());
  for (auto& peer : peers_) library_->close(peer->end);
}

bool UcxDomain::reaches(ByteView peer) const noexcept {
  const auto other = am::parse_identity(peer, kMaker);
  if (!other || other->use > (kPeerErrors | kLocal) || other->protocol != 0) return false;
  if (((other->use ^ identity_.use) & kPeerErrors) != 0) return false;
  return ((other->use | identity_.use) & kLocal) == 0 || other->host == identity_.host;
}

Result<std::unique_ptr<am::MessageEndpoint>> UcxDomain::make(const am::TicketHead& mine, uint64_t cookie) {
  if (!flights_.reserve(UcxEndpoint::kFlights))
    return Status(Code::memory, "ucx: no room for another endpoint's messages");
  return std::unique_ptr<am::MessageEndpoint>(std::make_unique<UcxEndpoint>(*this, mine, cookie));
}

void UcxDomain::trim() noexcept {
  MessageDomain::trim();
  flights_.trim();
}

ucs_status_t UcxDomain::meet(const am::Ticket& ticket, Peer*& peer) noexcept {
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
  for (am::MessageEndpoint* endpoint : endpoints()) {
    auto* const ours = static_cast<UcxEndpoint*>(endpoint);
    if (ours != nullptr && ours->peer() == &peer) ours->lost(peer.error);
  }
  library_->close(peer.end);
}

void UcxDomain::left_behind(size_t most, size_t flying) noexcept {
  flights_.unreserve(most - flying);
  strays_ += flying;
}

void UcxDomain::landed(Flight& flight, ucs_status_t status) noexcept {
  UcxEndpoint* const owner = flight.owner;
  if (owner == nullptr) {
    --strays_;
    flights_.give(flight);
    return flights_.unreserve(1);
  }
  owner->landed(flight, status);
  flights_.give(flight);
}

ucs_status_t UcxDomain::on_message(void* owner, const void* header, size_t header_bytes, void* data,
                                   size_t bytes, const ucp_am_recv_param_t* param) noexcept {
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) return UCS_OK;  // we never send so
  const auto h = am::parse_header({static_cast<const std::byte*>(header), header_bytes}, bytes);
  // Else it is late, or a stranger's.
  am::MessageEndpoint* const to = h ? static_cast<UcxDomain*>(owner)->find(h->to) : nullptr;
  if (to != nullptr) to->receive(*h, {static_cast<const std::byte*>(data), bytes});
  return UCS_OK;
}

size_t UcxDomain::poll(std::span<Done> done) noexcept {
  // Dones that wait are handed out without a system call, every other time.
  rested_ = !rested_ && !done.empty() && !idle();
  if (!rested_ && lookout().due()) lookout().looked(ucp_worker_progress(library_->worker()) != 0);
  if (std::exchange(lost_, 0) != 0) {
    for (auto& peer : peers_) {
      if (peer->error != UCS_OK && peer->end != nullptr) lose(*peer);
    }
  }
  return work(done, kBudget);
}

}  // namespace plait::transport::ucx
