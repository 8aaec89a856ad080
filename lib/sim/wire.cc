// The way of a message: its sender's port, the network, its receiver's port.
#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "sim/run.h"

namespace plait::sim {

uint32_t Run::make_message(uint32_t r, const Task& task, const Path& path) {
  const Rank& rank = ranks_[r];
  const uint32_t stream = rank.streams + rank.script->nodes[task.node].stream;
  if (lanes_[stream].there == kNone) {
    if (Status status = find_there(stream); !status.ok()) {
      status_ = std::move(status);
      return kNone;
    }
  }
  if (free_.empty()) {
    free_.push_back(uint32_t(messages_.size()));
    messages_.emplace_back();
  }
  const uint32_t number = free_.back();
  free_.pop_back();
  messages_[number] = {.stream = stream,
                       .node = task.node,
                       .slot = task.slot,
                       .segment = slots_[size_t(r) * windows_ + task.slot].segment,
                       .path = path};
  sent_++;
  return number;
}

// A receive is over: its sender may send another.
void Run::taken(uint32_t message) {
  const Message& m = messages_[message];
  if (p_.credits > 0 && !ideal_)
    at(now_ + m.latency, What::credit, uint32_t(size_t(m.stream) * windows_ + m.slot));
  give_back(message);
}

// Two are done with a message: who sent it, when it has left, and who has taken it.
void Run::give_back(uint32_t message) {
  Message& m = messages_[message];
  if (--m.refs > 0) return;
  free_.push_back(message);
}

void Run::append(List& list, uint32_t message) noexcept {
  messages_[message].next = kNone;
  if (list.head == kNone) {
    list.head = message;
  } else {
    messages_[list.tail].next = message;
  }
  list.tail = message;
}

uint32_t Run::pop(List& list) noexcept {
  const uint32_t first = list.head;
  list.head = messages_[first].next;
  return first;
}

// The other end of a stream: found when its first message is sent.
Status Run::find_there(uint32_t stream) {
  Lane& lane = lanes_[stream];
  const uint32_t from = uint32_t(lane.rank), to = uint32_t(lane.peer);
  const Stream& own = scripts_.cast(from).streams[stream - ranks_[from].streams];
  const Cast& other = scripts_.cast(to);
  const auto end = other.streams.begin() + other.sends_at;
  const auto found = std::lower_bound(other.streams.begin(), end, std::pair(lane.rank, own.lane),
                                      [](const Stream& s, const std::pair<int32_t, uint16_t>& key) {
                                        return std::pair(s.peer, s.lane) < key;
                                      });
  const bool there = found != end && found->peer == lane.rank && found->lane == own.lane;
  if (!there || found->messages != own.messages) {
    return {Code::invalid, fmt::format("rank {} sends {} messages to rank {} on lane {}, which expects {}",
                                       from, own.messages, to, own.lane, there ? found->messages : 0)};
  }
  lane.there = ranks_[to].streams + uint32_t(found - other.streams.begin());
  return {};
}

double Run::occupied(const Rank& rank, double bytes) const noexcept {
  return (p_.endpoint.gap + bytes * p_.endpoint.byte) * rank.slow;
}

void Run::leave(uint32_t message) {
  Message& m = messages_[message];
  Rank& rank = ranks_[size_t(lanes_[m.stream].rank)];
  account(rank);
  rank.outgoing++;
  m.left = now_;
  if (ideal_) return leave_ideal(message);
  append(flight(m.stream, m.slot).list, message);
  pump(m.stream, m.slot);
}

// Without links a message keeps its sender's port busy, then its receiver's, first come first served: as the
// cost machine has it, event by event.
void Run::leave_ideal(uint32_t message) {
  Message& m = messages_[message];
  Rank& rank = ranks_[size_t(lanes_[m.stream].rank)];
  const double busy = occupied(rank, m.bytes);
  m.latency = p_.latency * shaken(rank);
  m.begun = std::max(now_, rank.port_out);
  rank.port_out = m.begun + busy;
  m.last = rank.port_out + m.latency;
  at(rank.port_out, What::sent, message);
  if (m.begun + m.latency > now_) return at(m.begun + m.latency, What::enter, message);
  enter_ideal(message);
}

void Run::enter_ideal(uint32_t message) {
  Message& m = messages_[message];
  Rank& to = ranks_[receiver(m)];
  const double begin = std::max(now_, to.port_in);
  to.port_in = begin + occupied(to, m.bytes);
  m.last = std::max(m.last, to.port_in);
  if (begin > now_) return at(begin, What::arrive, message);
  arrive(message);
}

// A message is there, or its first bytes are and the rest will be at a known time.
void Run::arrive(uint32_t message) {
  const Message& m = messages_[message];
  Flight& f = flight(lanes_[m.stream].there, m.slot);
  if (f.waiting == kNone) return append(f.list, message);
  if (m.last <= now_) context_ = arrived(m);
  take(message, std::exchange(f.waiting, kNone));
}

// Messages of a stream follow each other; then one needs a credit, and one of its rank's engines.
void Run::pump(uint32_t stream, uint32_t slot) {
  Flight& f = flight(stream, slot);
  if (f.flowing || f.list.head == kNone) return;
  if (p_.credits > 0 && f.out >= p_.credits) return;
  const uint32_t message = pop(f.list);
  f.flowing = true;
  f.out++;
  Rank& rank = ranks_[size_t(lanes_[stream].rank)];
  if (p_.endpoint.engines > 0 && rank.engines >= p_.endpoint.engines) return append(rank.engine, message);
  start(message);
}

void Run::start(uint32_t message) {
  Message& m = messages_[message];
  Rank& rank = ranks_[size_t(lanes_[m.stream].rank)];
  rank.engines++;
  const double gap = p_.endpoint.gap * rank.slow;
  m.begun = std::max(now_, rank.port_out);
  rank.port_out = m.begun + gap;
  if (rank.port_out > now_) return at(rank.port_out, What::inject, message);
  inject(message);
}

void Run::inject(uint32_t message) {
  Message& m = messages_[message];
  const Lane& lane = lanes_[m.stream];
  Rank& rank = ranks_[size_t(lane.rank)];
  uint32_t& bundle = lanes_[lane.lead].bundle;
  if (bundle == kNone) {
    const double byte = p_.endpoint.byte * rank.slow;
    bundle = fluid_.open(lane.rank, lane.peer, byte > 0 ? 1 / byte : Fluid::kNever);
  }
  m.bundle = bundle;
  m.latency = (fluid_.latency(bundle) + p_.latency + p_.hop * fluid_.hops(bundle)) * shaken(rank);
  m.last = m.bytes / fluid_.best(bundle);  // what it would take alone
  fluid_.add(bundle, m.bytes, message, now_);
}

// Where the time of a message went until it is there, now: after its network's part, what is left is a queue.
Path Run::arrived(const Message& m) const {
  Path path = m.path;
  if (ideal_) {
    path[Path::queue] += m.begun - m.left;
    path[Path::wire] += occupied(ranks_[size_t(lanes_[m.stream].rank)], m.bytes);
  }
  path[Path::latency] += m.latency;
  path[Path::queue] += std::max(0.0, now_ - path.total());
  return path;
}

// All bytes have left their source, and crossed every link.
void Run::drained(uint32_t message, bool gone) {
  Message& m = messages_[message];
  const uint32_t stream = m.stream, slot = m.slot;
  const Lane& lane = lanes_[stream];
  Rank& rank = ranks_[size_t(lane.rank)];
  if (gone) lanes_[lane.lead].bundle = kNone;
  m.bundle = kNone;
  // As fast as it can alone; the rest is because of others, or of links that have become slower.
  const double took = now_ - m.begun, wire = std::min(took, p_.endpoint.gap * rank.slow + m.last);
  m.path[Path::queue] += m.begun - m.left;
  m.path[Path::wire] += wire;
  m.path[Path::sharing] += took - wire;
  if (options_.timeline && slices_.size() < kMostSlices)
    slices_.push_back({m.begun, now_, lane.rank, lane.peer, m.node, m.segment, 0, Slice::Kind::flight});
  m.left = now_;
  Rank& to = ranks_[receiver(m)];
  const double there = now_ + m.latency;
  m.last = there;
  if (p_.endpoint.gap > 0 || p_.endpoint.byte > 0)
    m.last = std::max(to.port_in + occupied(to, m.bytes), there);
  to.port_in = m.last;
  at(m.last, What::arrive, message);
  rank.engines--;
  if (rank.engine.head != kNone) start(pop(rank.engine));
  flight(stream, slot).flowing = false;
  pump(stream, slot);
  sent(message);
}

// A receive and its message have met; it runs when all of it is there.
void Run::take(uint32_t message, uint32_t node) {
  Message& m = messages_[message];
  const uint32_t to = receiver(m);
  const Node& n = ranks_[to].script->nodes[node];
  if (cut_.of(n, m.segment) != m.bytes) {
    status_ = {Code::invalid, fmt::format("rank {} sends {:.0f} bytes, rank {} expects {:.0f} from it",
                                          lanes_[m.stream].rank, m.bytes, to, cut_.of(n, m.segment))};
    return;
  }
  m.taker = node;
  if (m.last > now_) return at(m.last, What::ready, message);
  offer(to, {node, m.slot, message}, context_);
}

void Run::ready(uint32_t message) {
  const Message& m = messages_[message];
  context_ = arrived(m);
  offer(receiver(m), {m.taker, m.slot, message}, context_);
}

// Its source may be overwritten.
void Run::sent(uint32_t message) {
  const Message& m = messages_[message];
  const Lane& lane = lanes_[m.stream];
  Rank& rank = ranks_[size_t(lane.rank)];
  account(rank);
  rank.outgoing--;
  context_ = m.path;
  if (ideal_) {
    context_[Path::queue] += m.begun - m.left;
    context_[Path::wire] += occupied(rank, m.bytes);
  }
  const uint32_t slot = m.slot, node = m.node;
  give_back(message);
  done(uint32_t(lane.rank), slot, node);
}

}  // namespace plait::sim
