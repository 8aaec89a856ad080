// What ranks do: segments begin, steps become ready, and take their turn on the core.
#include "sim/run.h"

namespace plait::sim {

namespace {

// A number in [0, 1) for each two words: splitmix64.
double uniform(uint64_t seed, uint64_t what) noexcept {
  uint64_t z = seed + what * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return double((z ^ z >> 31) >> 11) * 0x1p-53;
}

}  // namespace

void Run::begin_segment(uint32_t r, uint32_t slot, uint32_t segment) {
  const Rank& rank = ranks_[r];
  const auto& nodes = rank.script->nodes;
  slots_[size_t(r) * windows_ + slot] = {segment, uint32_t(nodes.size())};
  uint16_t* waits = &waits_[rank.waits + slot * nodes.size()];
  for (size_t i = 0; i < nodes.size(); i++) waits[i] = uint16_t(nodes[i].waits);
  // Apart from the above: what is enabled may be done at once, and enable others.
  for (uint32_t i = 0; i < nodes.size(); i++)
    if (nodes[i].waits == 0) enable(r, slot, i);
}

void Run::satisfy(uint32_t r, uint32_t slot, uint32_t node) {
  const Rank& rank = ranks_[r];
  if (--waits_[rank.waits + slot * rank.script->nodes.size() + node] == 0) enable(r, slot, node);
}

void Run::enable(uint32_t r, uint32_t slot, uint32_t node) {
  const Rank& rank = ranks_[r];
  const Node& n = rank.script->nodes[node];
  if (n.stream == kNone || rank.sends(n)) return offer(r, {node, slot, kNone}, context_);
  Flight& f = flight(rank.streams + n.stream, slot);
  if (f.list.head == kNone) {
    f.waiting = node;
  } else {
    take(pop(f.list), node);
  }
}

// A task that waits for nothing but its core.
void Run::offer(uint32_t r, const Task& task, const Path& path) {
  Rank& rank = ranks_[r];
  if (rank.dead) return;
  rank.queue.push_back({task, now_, path});
  if (!rank.busy) run_next(r);
}

double Run::shaken(Rank& rank) noexcept {
  if (p_.jitter == 0) return 1;
  const auto who = uint64_t(&rank - ranks_.data());
  return 1 + p_.jitter * uniform(p_.seed, who << 32 | rank.drawn++);
}

// How long a task keeps its core.
double Run::length(Rank& rank, const Node& n, double bytes, Path& path) {
  const Endpoint& e = p_.endpoint;
  double overhead = 0, compute = 0;
  if (n.stream == kNone) {
    compute = bytes * (n.copies ? e.copy : e.fold * n.folds);
  } else if (rank.sends(n)) {
    overhead = e.send + bytes * e.send_byte;
  } else {
    overhead = e.recv + bytes * e.recv_byte;
    compute = bytes * (e.fold * n.folds + (n.plain ? e.copy : 0));
  }
  const double factor = rank.slow * shaken(rank);
  path[Path::overhead] += overhead * factor;
  path[Path::compute] += compute * factor;
  return (overhead + compute) * factor;
}

void Run::account(Rank& rank) noexcept {
  double& part = rank.busy ? rank.use.computing : rank.outgoing > 0 ? rank.use.sending : rank.use.waiting;
  part += now_ - rank.since;
  rank.since = now_;
}

void Run::run_next(uint32_t r) {
  Rank& rank = ranks_[r];
  if (rank.next == rank.queue.size() || rank.dead) return;
  const Offer offer = rank.queue[rank.next++];
  if (rank.next == rank.queue.size()) rank.queue.clear(), rank.next = 0;
  const Node& n = rank.script->nodes[offer.task.node];
  const bool sending = rank.sends(n);
  if (n.stream != kNone && !sending && rank.outgoing == 0)
    lanes_[rank.streams + n.stream].waited += now_ - rank.since;
  account(rank);
  rank.busy = true;
  rank.running = offer.task;
  rank.path = offer.path;
  rank.path[Path::queue] += now_ - offer.since;
  const double bytes = cut_.of(n, slots_[size_t(r) * windows_ + offer.task.slot].segment);
  const double end = now_ + length(rank, n, bytes, rank.path);
  if (options_.timeline)
    record(n.stream == kNone ? Slice::Kind::local
           : sending         ? Slice::Kind::send
                             : Slice::Kind::recv,
           r, offer.task, now_, end);
  if (sending) {
    const uint32_t m = make_message(r, offer.task, rank.path);
    if (m == kNone) return;
    messages_[m].bytes = bytes;
    at(end, What::leave, m);
  }
  at(end, What::over, r);
}

// A core has done its part.
void Run::over(uint32_t r) {
  Rank& rank = ranks_[r];
  if (rank.dead) return;
  account(rank);
  rank.busy = false;
  const Task task = rank.running;
  const Node& n = rank.script->nodes[task.node];
  context_ = rank.path;
  if (!rank.sends(n)) done(r, task.slot, task.node);
  if (n.next != kNone) satisfy(r, task.slot, n.next);
  if (task.message != kNone) taken(task.message);
  if (!rank.busy) run_next(r);
}

void Run::done(uint32_t r, uint32_t slot_number, uint32_t node) {
  Rank& rank = ranks_[r];
  const Script& script = *rank.script;
  Slot& slot = slots_[size_t(r) * windows_ + slot_number];
  finished_++;
  rank.use.finish = now_;
  if (now_ >= end_) end_ = now_, end_path_ = context_;
  for (uint32_t i = script.follow_begin[node]; i < script.follow_begin[node + 1]; i++)
    satisfy(r, slot_number, script.followers[i]);
  if (--slot.left > 0) return;
  if (slot.segment + windows_ < cut_.segments) begin_segment(r, slot_number, slot.segment + windows_);
}

void Run::record(Slice::Kind kind, uint32_t r, const Task& task, double begin, double end) {
  if (slices_.size() == kMostSlices) {
    slices_cut_ = true;
    return;
  }
  const Node& n = ranks_[r].script->nodes[task.node];
  const Stream* s = n.stream == kNone ? nullptr : &scripts_.cast(r).streams[n.stream];
  slices_.push_back({begin, end, int32_t(r), s ? s->peer : -1, task.node,
                     slots_[size_t(r) * windows_ + task.slot].segment, s ? s->lane : uint16_t{0}, kind});
}

}  // namespace plait::sim
