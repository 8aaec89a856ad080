#include "transport/fake/network.h"

#include <unistd.h>

#include <algorithm>

namespace plait::transport::fake {
namespace {

// The last aligned 8 bytes of a small put appear last (rule 13): a reader that sees them sees the rest.
void copy_word_last(std::byte* to, const std::byte* from, size_t bytes) noexcept {
  size_t tail = reinterpret_cast<uintptr_t>(to + bytes) % sizeof(uint64_t);
  if (bytes < sizeof(uint64_t) + tail) {
    std::memcpy(to, from, bytes);
    return;
  }
  size_t word = bytes - tail - sizeof(uint64_t);
  std::memcpy(to, from, word);
  std::memcpy(to + bytes - tail, from + bytes - tail, tail);
  uint64_t value;
  std::memcpy(&value, from + word, sizeof value);
  std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(to + word)).store(value, std::memory_order_release);
}

std::byte* remote_address(const RegionState& region, const Packet& packet) noexcept {
  return static_cast<std::byte*>(region.memory.base) + packet.transfer.remote.offset;
}

}  // namespace

void DoneRing::reserve(size_t more) {
  if (count_ + more <= ring_.size()) return;
  std::vector<Entry> bigger(count_ + more);
  for (size_t i = 0; i < count_; ++i) bigger[i] = std::move(ring_[(head_ + i) % ring_.size()]);
  ring_ = std::move(bigger);
  head_ = 0;
}

void DoneRing::push(Entry entry) noexcept {
  if (count_ == ring_.size()) reserve(16);  // open() reserved for all; this is for a bug's sake
  ring_[(head_ + count_++) % ring_.size()] = std::move(entry);
}

DoneRing::Entry DoneRing::pop() noexcept {
  Entry entry = std::move(ring_[head_]);
  head_ = (head_ + 1) % ring_.size();
  --count_;
  return entry;
}

DomainState* Network::mover(const EndpointState& sender) noexcept {
  if (!sender.domain->caps().target_must_poll) return sender.domain.get();
  return sender.peer == nullptr ? nullptr : sender.peer->domain.get();
}

void Network::wake(DomainState* domain) noexcept {
  if (domain == nullptr || !domain->asleep) return;
  domain->asleep = false;
  domain->rung = true;
  uint64_t one = 1;
  [[maybe_unused]] ssize_t n = ::write(domain->event.get(), &one, sizeof one);  // cannot fill up: 1 a sleep
}

void Network::advance(EndpointState& sender, size_t& budget) noexcept {
  if (sender.state != State::ready || sender.peer == nullptr || sender.peer->state != State::ready) return;
  if (sender.domain->options.reorder) {
    size_t first = sender.domain->random() % sender.queues.size();
    for (size_t i = 0; i < sender.queues.size() && sender.state == State::ready; ++i) {
      while (advance_queue(sender, (first + i) % sender.queues.size(), budget)) continue;
    }
    return;
  }
  for (;;) {  // post order over all counters
    size_t best = kNoPacket;
    for (size_t i = 0; i < sender.queues.size(); ++i) {
      size_t head = sender.queues[i].head;
      if (head == kNoPacket) continue;
      if (best == kNoPacket || sender.packets[head].order < sender.packets[sender.queues[best].head].order)
        best = i;
    }
    if (best == kNoPacket || !advance_queue(sender, best, budget)) return;
  }
}

// True when the head of the queue has acted, and the next may be looked at.
bool Network::advance_queue(EndpointState& sender, size_t counter, size_t& budget) noexcept {
  EndpointState::Queue& queue = sender.queues[counter];
  if (queue.head == kNoPacket) return false;
  size_t index = queue.head;
  Packet& packet = sender.packets[index];
  if (packet.due > now) return false;
  if (const char* why = forbids(sender, packet); why != nullptr) {
    fail(sender, Code::peer, std::string(why) + " " + sender.peer_name);
    return false;
  }
  if (!move(sender, packet, budget)) return false;
  queue.head = packet.next;
  if (queue.head == kNoPacket) queue.tail = kNoPacket;
  packet.next = sender.free;
  sender.free = index;
  --sender.queued;
  complete(sender, packet);
  return true;
}

// What the target's hardware would refuse: it trusts no sender.
const char* Network::forbids(const EndpointState& sender, const Packet& packet) const noexcept {
  const Transfer& t = packet.transfer;
  if (t.remote.bytes == 0) return nullptr;
  auto it = regions.find(packet.remote_region);
  if (it == regions.end() || it->second.domain != sender.peer->domain->id) {
    return "a transfer reached for a region that is no longer exposed by";
  }
  const RegionState& region = it->second;
  if (!in_bounds(t.remote.offset, t.remote.bytes, region.memory.bytes)) {
    return "a transfer reached beyond the bounds of a region of";
  }
  if (t.verb == Verb::put ? !may_write(region.access) : !may_read(region.access)) {
    return "a transfer had no right to reach a region of";
  }
  if (packet.local_region != 0 && !regions.contains(packet.local_region)) {
    return "the local region was destroyed under a transfer with";
  }
  return nullptr;
}

// True when all of the packet's bytes have moved.
bool Network::move(EndpointState& sender, Packet& packet, size_t& budget) noexcept {
  const Transfer& t = packet.transfer;
  if (t.remote.bytes == 0 || t.verb == Verb::flush) return true;
  size_t left = t.remote.bytes - packet.moved;
  if (budget == 0 || (t.remote.bytes <= 64 && budget < left)) return false;
  size_t bytes = std::min(left, budget);
  const RegionState& region = regions.find(packet.remote_region)->second;
  std::byte* remote = remote_address(region, packet);
  if (t.verb == Verb::get) {
    std::memcpy(t.local.data + packet.moved, remote + packet.moved, bytes);
  } else if (region.landings != nullptr) {
    for (size_t done = 0; done < bytes;) {
      const uint64_t at = t.remote.offset + packet.moved + done;
      size_t run = bytes - done;
      std::memcpy(region.landings->find(at, run), packet.source + packet.moved + done, run);
      region.landings->landed(at, run);
      done += run;
    }
  } else if (t.remote.bytes <= 64 && sender.domain->caps().word_last) {
    copy_word_last(remote, packet.source, bytes);
  } else {
    std::memcpy(remote + packet.moved, packet.source + packet.moved, bytes);
  }
  budget -= bytes;
  packet.moved += bytes;
  return packet.moved == t.remote.bytes;
}

void Network::complete(EndpointState& sender, Packet& packet) noexcept {
  const Signal& signal = packet.transfer.signal;
  EndpointState& target = *sender.peer;
  if (signal.add != 0) {
    --sender.signals_queued;
    if (sender.domain->options.mapped) {
      target.counters[signal.counter].fetch_add(signal.add, std::memory_order_release);
    } else {
      target.pending_adds[signal.counter] += signal.add;
      ++target.unharvested;
    }
  }
  give_done(sender, packet, Code::ok);
  wake(target.domain.get());
  wake(sender.domain.get());  // if only because post() has room again
}

void Network::give_done(EndpointState& endpoint, const Packet& packet, Code code) noexcept {
  if (packet.done_sent || packet.transfer.when == When::never) return;
  ++endpoint.owed;
  endpoint.domain->dones.push({{packet.transfer.cookie, code}, endpoint.shared_from_this()});
}

void Network::harvest(EndpointState& endpoint) noexcept {
  if (endpoint.unharvested == 0) return;
  for (size_t i = 0; i < endpoint.pending_adds.size(); ++i) {
    uint64_t add = std::exchange(endpoint.pending_adds[i], 0);
    if (add != 0) endpoint.counters[i].fetch_add(add, std::memory_order_release);
  }
  endpoint.unharvested = 0;
  if (endpoint.peer != nullptr) wake(endpoint.peer->domain.get());  // it has its credits again
}

void Network::settle(EndpointState& endpoint) noexcept {
  if (endpoint.state != State::connecting || endpoint.peer == nullptr) return;
  EndpointState& peer = *endpoint.peer;
  if (peer.state == State::opened) return;
  if (peer.peer != &endpoint) {
    fail(endpoint, Code::auth,
         "connecting: the endpoint of " + endpoint.peer_name + " connected to somebody else");
    return;
  }
  endpoint.state = State::ready;
  wake(peer.domain.get());  // what it posted may move now
}

void Network::drop_packets(EndpointState& endpoint, Code code) noexcept {
  for (EndpointState::Queue& queue : endpoint.queues) {
    for (size_t i = queue.head; i != kNoPacket; i = endpoint.packets[i].next)
      give_done(endpoint, endpoint.packets[i], code);
    queue = {};
  }
  endpoint.queued = endpoint.signals_queued = 0;
  endpoint.free = kNoPacket;
}

// The link is down: `endpoint` and whoever connected to it forget one another, and the latter fails if the
// fabric can tell it. The two differ from `peer` only while connecting.
void Network::hang_up(EndpointState& endpoint, const char* why) noexcept {
  if (EndpointState* peer = std::exchange(endpoint.peer, nullptr);
      peer != nullptr && peer->claimer == &endpoint) {
    peer->claimer = nullptr;
  }
  EndpointState* other = std::exchange(endpoint.claimer, nullptr);
  if (other == nullptr || other == &endpoint || other->peer != &endpoint) return;
  other->peer = nullptr;
  if (other->domain->caps().detects_death) fail(*other, Code::peer, endpoint.domain->name + " " + why);
}

void Network::fail(EndpointState& endpoint, Code code, std::string text) noexcept {
  if (endpoint.state == State::failed || endpoint.state == State::closed) return;
  endpoint.error = endpoint.domain->name + ": " + std::move(text);
  endpoint.state = State::failed;
  drop_packets(endpoint, code);
  endpoint.domain->dones.push({{endpoint.cookie, code}, nullptr});
  wake(endpoint.domain.get());
  hang_up(endpoint, "ended the link: its endpoint failed");
}

void Network::close(EndpointState& endpoint) noexcept {
  if (endpoint.state == State::closed) return;
  drop_packets(endpoint, Code::aborted);
  endpoint.state = State::closed;
  endpoint.unharvested = 0;
  std::fill(endpoint.pending_adds.begin(), endpoint.pending_adds.end(), 0);
  hang_up(endpoint, "closed the link");
}

void Network::kill(DomainState& domain) noexcept {
  if (domain.dead) return;
  domain.dead = true;
  for (const EndpointPtr& endpoint : domain.endpoints) {
    if (endpoint->state == State::failed || endpoint->state == State::closed) continue;
    drop_packets(*endpoint, Code::peer);
    endpoint->state = State::failed;
    endpoint->error = domain.name + ": this domain was killed";
    hang_up(*endpoint, "died");
  }
  std::erase_if(regions, [&](const auto& entry) { return entry.second.domain == domain.id; });
}

}  // namespace plait::transport::fake
