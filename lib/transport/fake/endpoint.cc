#include <algorithm>

#include "transport/fake/network.h"

namespace plait::transport::fake {
namespace {

// Always "asleep": wake() looks under the mutex, so that the store before notify() and the sleeper's look
// after arm() cannot both miss.
constinit const std::atomic<uint32_t> kAskMutex{1};

class FakeEndpoint final : public Endpoint {
 public:
  FakeEndpoint(std::shared_ptr<Network> network, EndpointPtr state)
      : network_(std::move(network)), state_(std::move(state)) {
    counters_ = state_->counters.get();
    peer_asleep_ = &kAskMutex;
  }
  ~FakeEndpoint() override {
    std::lock_guard lock(network_->mutex);
    network_->close(*state_);
    std::erase(state_->domain->endpoints, state_);
    network_->endpoints.erase(state_->id);
  }

  ByteView ticket() const noexcept override { return bytes_of(state_->ticket); }
  Status connect(ByteView peer_ticket) noexcept override;
  State state() const noexcept override {
    std::lock_guard lock(network_->mutex);
    return state_->state;
  }
  std::string_view error() const noexcept override {
    std::lock_guard lock(network_->mutex);
    return state_->error;
  }
  Result<std::unique_ptr<RemoteRegion>> import(ByteView key) override {
    return import_key(*network_, *state_, key);
  }
  size_t post(std::span<const Transfer> transfers) noexcept override;
  bool sent(uint16_t counter) const noexcept override {
    std::lock_guard lock(network_->mutex);
    return counter >= state_->queues.size() || state_->queues[counter].head == kNoPacket;
  }
  void close() noexcept override {
    std::lock_guard lock(network_->mutex);
    network_->close(*state_);
  }

 private:
  void wake() noexcept override {
    std::lock_guard lock(network_->mutex);
    if (state_->peer != nullptr) Network::wake(state_->peer->domain.get());
  }
  const char* breaks_contract(const Transfer& t) const noexcept;
  bool has_room(const Transfer& t) const noexcept;
  void enqueue(const Transfer& t) noexcept;

  std::shared_ptr<Network> network_;
  EndpointPtr state_;
};

Status FakeEndpoint::connect(ByteView peer_ticket) noexcept {
  std::lock_guard lock(network_->mutex);
  EndpointState& self = *state_;
  const std::string& name = self.domain->name;
  if (self.state != State::opened) return Status(Code::state, name + ": this endpoint was connected before");
  Ticket ticket;
  if (!unseal(peer_ticket, ticket)) {
    return Status(Code::invalid, name + ": this ticket is damaged or of another transport");
  }
  auto it = network_->endpoints.find(ticket.endpoint);
  if (ticket.owner.network != network_->id || it == network_->endpoints.end() ||
      it->second->ticket.nonce != ticket.nonce) {
    return Status(Code::auth, name + ": no endpoint gave out this ticket, or it is closed");
  }
  EndpointState& peer = *it->second;
  if (peer.claimed)
    return Status(Code::auth, name + ": this ticket of " + peer.domain->name + " was used before");
  if (peer.state == State::failed || peer.state == State::closed) {
    return Status(Code::peer, name + ": connecting: " + peer.domain->name + " has closed or died");
  }
  peer.claimed = true;
  peer.claimer = &self;
  self.peer = &peer;
  self.peer_name = peer.domain->name;
  self.peer_domain = peer.domain->id;
  self.queues.resize(peer.counter_count);
  self.state = State::connecting;
  Network::wake(peer.domain.get());
  return {};
}

const char* FakeEndpoint::breaks_contract(const Transfer& t) const noexcept {
  const Capabilities& caps = state_->domain->caps();
  if (t.signal.counter >= state_->queues.size())
    return "a transfer names a counter that the peer did not open";
  if (t.signal.add > caps.max_add) return "a transfer adds more than max_add";
  if (t.verb == Verb::get && !caps.get) return "this transport has no get";
  if (t.verb != Verb::put && t.signal.add != 0) return "only a put may signal";
  if (t.verb == Verb::flush || t.remote.bytes == 0) return nullptr;
  if (t.remote.region == nullptr) return "a transfer names no remote region";
  if (t.remote.bytes > caps.max_transfer) return "a transfer is longer than max_transfer";
  if (t.local.data == nullptr || t.local.bytes != t.remote.bytes)
    return "a transfer's two slices differ in length";
  if (!in_bounds(t.remote.offset, t.remote.bytes, t.remote.region->bytes())) {
    return "a transfer is out of the remote region's bounds";
  }
  Access access = t.remote.region->access();
  if (t.verb == Verb::put ? !may_write(access) : !may_read(access))
    return "a transfer has no right to the region";
  if (t.local.region == nullptr) {
    bool free = t.verb == Verb::put && t.local.bytes <= caps.inline_bytes;
    return caps.local_needs_region && !free ? "a transfer needs an exposed local region" : nullptr;
  }
  const Memory& memory = t.local.region->memory();
  auto base = reinterpret_cast<uintptr_t>(memory.base), data = reinterpret_cast<uintptr_t>(t.local.data);
  if (data < base || !in_bounds(data - base, t.local.bytes, memory.bytes)) {
    return "a transfer's local slice is out of its region";
  }
  return nullptr;
}

bool FakeEndpoint::has_room(const Transfer& t) const noexcept {
  const Capabilities& caps = state_->domain->caps();
  if (state_->queued + state_->owed >= caps.depth) return false;
  if (t.signal.add == 0 || caps.signals == 0 || state_->peer == nullptr) return true;
  return state_->signals_queued + state_->peer->unharvested < caps.signals;
}

void FakeEndpoint::enqueue(const Transfer& t) noexcept {
  EndpointState& self = *state_;
  DomainState& domain = *self.domain;
  const FakeOptions& options = domain.options;
  size_t index = self.free;
  Packet& p = self.packets[index];
  self.free = p.next;
  bool small = t.verb == Verb::put && t.local.bytes <= domain.caps().inline_bytes;
  bool early = t.verb == Verb::put && t.when == When::reusable && t.local.bytes <= options.staged_bytes &&
               self.queued + self.owed + 2 <= domain.caps().depth;
  bool bytes = t.remote.bytes != 0 && t.verb != Verb::flush;
  p.transfer = t;
  p.local_region = bytes && t.local.region != nullptr && !small && !early ? nonce_of(*t.local.region) : 0;
  p.remote_region = bytes ? nonce_of(*t.remote.region) : 0;
  p.source = t.local.data;
  if (bytes && (small || early)) {
    std::memcpy(p.stage.get(), t.local.data, t.local.bytes);
    p.source = p.stage.get();
  }
  p.due = network_->now + options.delay_min + domain.random() % (options.delay_max - options.delay_min + 1);
  p.order = self.posted++;
  p.moved = 0;
  p.done_sent = false;
  p.next = kNoPacket;
  EndpointState::Queue& queue = self.queues[t.signal.counter];
  (queue.tail == kNoPacket ? queue.head : self.packets[queue.tail].next) = index;
  queue.tail = index;
  ++self.queued;
  if (t.signal.add != 0) ++self.signals_queued;
  if (early) {
    Network::give_done(self, p, Code::ok);
    p.done_sent = true;
  }
}

size_t FakeEndpoint::post(std::span<const Transfer> transfers) noexcept {
  std::lock_guard lock(network_->mutex);
  if (state_->state != State::ready) return 0;
  size_t taken = 0;
  for (const Transfer& t : transfers) {
    if (const char* why = breaks_contract(t); why != nullptr) {
      network_->fail(*state_, Code::invalid, "posting to " + state_->peer_name + ": " + why);
      return taken;
    }
    if (!has_room(t)) break;
    enqueue(t);
    ++taken;
  }
  if (taken != 0) Network::wake(Network::mover(*state_));
  return taken;
}

}  // namespace

std::unique_ptr<Endpoint> make_endpoint(std::shared_ptr<Network> network, EndpointPtr state) {
  return std::make_unique<FakeEndpoint>(std::move(network), std::move(state));
}

}  // namespace plait::transport::fake
