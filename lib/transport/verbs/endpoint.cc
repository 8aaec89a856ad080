#include "transport/verbs/endpoint.h"

#include "transport/misuse.h"
#include "transport/verbs/domain.h"

namespace plait::transport::verbs {

static_assert(int(State::opened) == int(rdma::Channel::Phase::opened) &&
              int(State::connecting) == int(rdma::Channel::Phase::connecting) &&
              int(State::ready) == int(rdma::Channel::Phase::ready) &&
              int(State::failed) == int(rdma::Channel::Phase::failed) &&
              int(State::closed) == int(rdma::Channel::Phase::closed));

VerbsEndpoint::VerbsEndpoint(VerbsDomain& domain, uint16_t counters, uint64_t cookie)
    : Channel(domain.hub()),
      domain_(domain),
      cookie_(cookie),
      counter_words_(std::make_unique<std::atomic<uint64_t>[]>(counters)),
      dones_(domain.dones()) {
  mine_.counters = counters;
  mine_.domain = domain.nonce();
  counters_ = counter_words_.get();
}

VerbsEndpoint::~VerbsEndpoint() {
  const bool alone = hub() == nullptr;
  leave();
  if (!alone) domain_.forget(*this);
}

Status VerbsEndpoint::start() {
  PLAIT_TRY(Channel::open());
  mine_.station = station();
  mine_.sum = sum_of(mine_);
  return {};
}

Status VerbsEndpoint::connect(ByteView peer_ticket) noexcept {
  if (state() != State::opened) return connected_before(ours());
  const auto parsed = parse_ticket(peer_ticket);
  if (!parsed.ok()) return parsed.status();
  theirs_ = *parsed;
  return Channel::connect(theirs_.station);
}

Result<std::unique_ptr<RemoteRegion>> VerbsEndpoint::import(ByteView bytes) {
  if (state() == State::opened || state() == State::closed) return import_out_of_turn(ours());
  const auto key = parse_key(bytes);
  if (!key.ok()) return key.status();
  if (key->owner != theirs_.domain)
    return Status(Code::auth, ours() + ": a key that is not of " + peer_name() + " was to be imported");
  return std::unique_ptr<RemoteRegion>(std::make_unique<PeerRegion>(this, *key));
}

void VerbsEndpoint::done(const rdma::Request& request, Code code) noexcept {
  --moving_;
  if (request.wanted) tell(request.cookie, code);
}

void VerbsEndpoint::tell(uint64_t cookie, Code code) noexcept {
  dones_.push({cookie, code});
  domain_.has_dones(*this);
}

bool VerbsEndpoint::signalled(uint32_t counter, uint16_t add) noexcept {
  if (counter >= mine_.counters) return false;
  counters_[counter].fetch_add(add, std::memory_order_release);
  return true;
}

void VerbsEndpoint::failed(Code code) noexcept {
  dones_.push_own({cookie_, code});
  domain_.has_dones(*this);
}

}  // namespace plait::transport::verbs
