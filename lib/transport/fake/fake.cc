#include "transport/fake/fake.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "transport/fake/network.h"

namespace plait::transport::fake {
namespace {

std::atomic<uint64_t> next_network{1};

class FakeDomain final : public Domain {
 public:
  FakeDomain(std::shared_ptr<Network> network, std::shared_ptr<DomainState> state)
      : network_(std::move(network)), state_(std::move(state)) {}
  ~FakeDomain() override {
    std::lock_guard lock(network_->mutex);
    network_->kill(*state_);
    state_->endpoints.clear();  // these hold the state
    state_->dones = {};
    network_->domains.erase(state_->id);
  }

  std::string_view name() const noexcept override { return state_->name; }
  const Capabilities& capabilities() const noexcept override { return state_->caps(); }
  ByteView identity() const noexcept override { return bytes_of(state_->identity); }
  bool reaches(ByteView peer_identity) const noexcept override {
    Identity peer;
    return peer_identity.size() == sizeof peer && take(peer_identity, peer) && peer.network == network_->id;
  }
  Result<std::unique_ptr<Region>> expose(const Memory& memory, Access access) override {
    return make_region(network_, *state_, memory, access);
  }
  Result<std::unique_ptr<Endpoint>> open(uint16_t counters, uint64_t cookie) override;
  size_t poll(std::span<Done> done) noexcept override;
  bool arm() noexcept override;
  int wait_fd() const noexcept override { return state_->event.get(); }

 private:
  bool pending() const noexcept;

  std::shared_ptr<Network> network_;
  std::shared_ptr<DomainState> state_;
};

// Packets and their staging are made here, so that posting allocates nothing.
void make_room(EndpointState& endpoint) {
  const FakeOptions& options = endpoint.domain->options;
  size_t stage = std::max(options.staged_bytes, options.capabilities.inline_bytes);
  endpoint.packets.resize(options.capabilities.depth);
  for (size_t i = 0; i < endpoint.packets.size(); ++i) {
    endpoint.packets[i].next = i + 1 < endpoint.packets.size() ? i + 1 : kNoPacket;
    endpoint.packets[i].stage = std::make_unique_for_overwrite<std::byte[]>(stage);
  }
  endpoint.free = endpoint.packets.empty() ? kNoPacket : 0;
  size_t dones = 0;
  for (const EndpointPtr& e : endpoint.domain->endpoints) dones += e->packets.size() + 1;
  endpoint.domain->dones.reserve(dones);
}

Result<std::unique_ptr<Endpoint>> FakeDomain::open(uint16_t counters, uint64_t cookie) {
  if (counters > state_->caps().counters) {
    return Status(Code::invalid, state_->name + ": an endpoint has at most " +
                                     std::to_string(state_->caps().counters) + " counters");
  }
  auto endpoint = std::make_shared<EndpointState>();
  std::lock_guard lock(network_->mutex);
  if (state_->dead) return Status(Code::state, state_->name + ": this domain was killed");
  endpoint->domain = state_;
  endpoint->id = network_->next_id++;
  endpoint->cookie = cookie;
  endpoint->ticket.owner = state_->identity;
  endpoint->ticket.endpoint = endpoint->id;
  endpoint->ticket.nonce = network_->nonces();
  seal(endpoint->ticket);
  endpoint->counter_count = counters;
  endpoint->counters = std::make_unique<std::atomic<uint64_t>[]>(counters);
  endpoint->pending_adds.resize(counters);
  state_->endpoints.push_back(endpoint);
  network_->endpoints.emplace(endpoint->id, endpoint);
  make_room(*endpoint);
  return make_endpoint(network_, std::move(endpoint));
}

size_t FakeDomain::poll(std::span<Done> done) noexcept {
  std::lock_guard lock(network_->mutex);
  DomainState& self = *state_;
  if (self.dead) return 0;
  self.asleep = false;
  if (std::exchange(self.rung, false)) {
    uint64_t rings;
    [[maybe_unused]] ssize_t n = ::read(self.event.get(), &rings, sizeof rings);
  }
  ++network_->now;
  size_t budget = kPollBytes, count = self.endpoints.size();
  size_t first = count == 0 ? 0 : (self.options.reorder ? self.random() : self.first++) % count;
  for (size_t i = 0; i < count; ++i) {
    EndpointState& e = *self.endpoints[(first + i) % count];
    network_->settle(e);
    if (Network::mover(e) == &self) network_->advance(e, budget);
    if (e.peer != nullptr && e.peer != &e && e.peer->domain.get() != &self &&
        Network::mover(*e.peer) == &self) {
      network_->advance(*e.peer, budget);
    }
    Network::harvest(e);
  }
  size_t n = 0;
  while (n < done.size() && self.dones.size() != 0) {
    DoneRing::Entry entry = self.dones.pop();
    if (entry.owner != nullptr) --entry.owner->owed;
    done[n++] = entry.done;
  }
  return n;
}

// Anything that a poll of mine would change, delayed transfers included: polls are what time is made of.
bool FakeDomain::pending() const noexcept {
  if (state_->dones.size() != 0) return true;
  for (const EndpointPtr& e : state_->endpoints) {
    if (e->unharvested != 0) return true;
    if (e->state == State::connecting && e->peer != nullptr && e->peer->state != State::opened) return true;
    if (e->state != State::ready || e->peer == nullptr || e->peer->state != State::ready) continue;
    if (e->queued != 0 && Network::mover(*e) == state_.get()) return true;
    if (e->peer->queued != 0 && Network::mover(*e->peer) == state_.get()) return true;
  }
  return false;
}

bool FakeDomain::arm() noexcept {
  std::lock_guard lock(network_->mutex);
  if (!state_->dead && pending()) return false;
  state_->asleep = true;
  return true;
}

}  // namespace

Capabilities default_capabilities() noexcept {
  Capabilities c;
  c.get = true;
  c.word_last = true;
  c.detects_death = true;
  c.inline_bytes = 256;
  c.max_transfer = size_t(1) << 30;
  c.key_bytes = sizeof(Key);
  c.ticket_bytes = sizeof(Ticket);
  c.depth = 64;
  c.counters = 64;
  c.max_add = 1023;
  c.signals = 4096;
  c.cost = {1e-6, 1e-7, 1e9};
  return c;
}

FakeNetwork::FakeNetwork() : network_(std::make_shared<Network>()) {
  network_->id = next_network.fetch_add(1, std::memory_order_relaxed);
  network_->nonces.seed(std::random_device{}());
}

std::unique_ptr<Domain> FakeNetwork::make_domain(std::string name, const FakeOptions& options) {
  auto state = std::make_shared<DomainState>();
  state->name = std::move(name);
  state->options = options;
  state->options.capabilities.key_bytes = sizeof(Key);
  state->options.capabilities.ticket_bytes = sizeof(Ticket);
  state->options.delay_max = std::max(options.delay_min, options.delay_max);
  state->random.seed(options.seed);
  state->event = Fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  std::lock_guard lock(network_->mutex);
  state->id = network_->next_id++;
  state->identity = {network_->id, state->id};
  network_->domains.emplace(state->id, state.get());
  return std::make_unique<FakeDomain>(network_, std::move(state));
}

void FakeNetwork::kill(ByteView identity) {
  Identity id;
  if (!take(identity, id) || id.network != network_->id) return;
  std::lock_guard lock(network_->mutex);
  if (auto it = network_->domains.find(id.domain); it != network_->domains.end()) network_->kill(*it->second);
}

}  // namespace plait::transport::fake
