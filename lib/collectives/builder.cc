#include "collectives/builder.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "collectives/scratch.h"

namespace plait::collectives {

namespace {

bool contains(Range range, uint32_t chunk) noexcept { return chunk >= range.first && chunk < range.end(); }

}  // namespace

Builder::Builder(Collective collective, int n, int rank, int root, uint32_t chunks)
    : Builder(rank, chunks, input_of(collective, n, rank, root, chunks),
              output_of(collective, n, rank, root, chunks)) {
  collective_ = collective;
  n_ = uint32_t(n);
  // Elsewhere the slot is the chunk.
  if (collective_ != Collective::alltoall) return;
  for (uint32_t c = inputs_.first; c < inputs_.end(); c++) cur_.put({c, 1}, own_place(Buffer::input, c));
}

Builder::Builder(int rank, uint32_t chunks, Range inputs, Range outputs)
    : inputs_(inputs), outputs_(outputs), cur_(chunks) {
  program_.rank = rank;
  program_.chunks = chunks;
  cur_.put(inputs, place(Buffer::input, inputs.first));
}

Place Builder::own_place(Buffer buffer, uint32_t chunk) const {
  return place(buffer, slot_of(collective_, buffer, n_, uint32_t(program_.rank), chunk));
}

void Builder::fail(std::string text) {
  if (error_.empty()) error_ = std::move(text);
}

Place Builder::cur(uint32_t chunk) const { return cur_.at(chunk); }

Place Builder::input(uint32_t chunk) const {
  return contains(inputs_, chunk) ? own_place(Buffer::input, chunk) : kNowhere;
}

Place Builder::home(uint32_t chunk) const {
  if (contains(outputs_, chunk)) return own_place(Buffer::output, chunk);
  Place now = cur(chunk);
  return now.in() == Buffer::scratch ? now : kNowhere;
}

Place Builder::temp(uint32_t count) {
  blocks_.push_back({next_slot_, count});
  // The gap keeps places of two values from looking contiguous: they need not be once slots are shared.
  next_slot_ += count + 1;
  return place(Buffer::scratch, blocks_.back().first);
}

void Builder::emit(const Step& step) {
  program_.steps.push_back(step);
  if (incomplete_) program_.steps.back().flags &= uint8_t(~kLast);
  if (!(step.flags & kMore) && !landing_.empty()) land();
}

void Builder::settle(Range range, Place where) { cur_.put(range, where); }

bool Builder::holds(Range range, const char* verb) {
  uint32_t c = range.first;
  while (c < range.end() && cur(c).in() != Buffer::none) c = cur_.run_end(c, range.end());
  if (c >= range.end()) return true;
  fail(fmt::format("rank {} step {}: {} of chunk {}, which this rank does not hold", program_.rank,
                   program_.steps.size(), verb, c));
  return false;
}

// Where a result of `chunk` goes; kNowhere: scratch that is yet to be taken.
Place Builder::target(uint32_t chunk, bool aside) const { return aside ? kNowhere : home(chunk); }

// The end of the chunks from `chunk` to `end` whose homes are contiguous, or nowhere.
uint32_t Builder::home_end(uint32_t chunk, uint32_t end) const {
  if (contains(outputs_, chunk)) {
    // An alltoall's slots run the other way.
    uint32_t c = collective_ == Collective::alltoall ? chunk + 1 : std::min(end, outputs_.end());
    while (c < end && home(c) == shifted(home(chunk), c - chunk)) c++;
    return c;
  }
  if (chunk < outputs_.first) end = std::min(end, outputs_.first);
  if (home(chunk).in() == Buffer::scratch) return cur_.run_end(chunk, end);
  while (chunk < end && cur(chunk).in() != Buffer::scratch) chunk = cur_.run_end(chunk, end);
  return chunk;
}

// The longest front of `rest` whose places are contiguous wherever a step would read or write them.
Range Builder::piece(Range rest, bool reads, bool writes, bool aside) const {
  uint32_t end = rest.end();
  if (reads) end = cur_.run_end(rest.first, end);
  if (writes && !aside) end = home_end(rest.first, end);
  return {rest.first, end - rest.first};
}

void Builder::add_range(const Message& m, Range range, bool open) {
  bool reads = m.op != Op::recv, writes = m.op != Op::send;
  if (range.end() > cur_.size())
    return fail(fmt::format("rank {}: no chunk {}", program_.rank, range.end() - 1));
  if (reads && !holds(range, sends(m.op) ? "send" : "recv_reduce")) return;
  while (range.count > 0) {
    Range now = piece(range, reads, writes, m.aside);
    range = {now.end(), range.count - now.count};
    Step step{.op = m.op,
              .flags = m.flags,
              .lane = uint16_t(m.lane),
              .peer = m.peer,
              .chunk = now.first,
              .count = now.count};
    if (range.count > 0 || open) step.flags |= kMore;
    if (reads) step.src = cur(now.first);
    if (writes) {
      Place to = target(now.first, m.aside);
      step.dst = to.in() == Buffer::none ? temp(now.count) : to;
      settle(now, step.dst);
    }
    emit(step);
  }
}

void Builder::add(const Message& message, const Ranges& ranges) {
  auto list = ranges.list();
  for (size_t i = 0; i < list.size(); i++) add_range(message, list[i], i + 1 < list.size());
}

void Builder::send(int peer, const Ranges& ranges, int lane, uint8_t flags) {
  add({Op::send, peer, lane, flags}, ranges);
}
void Builder::recv(int peer, const Ranges& ranges, int lane, uint8_t flags) {
  add({Op::recv, peer, lane, flags}, ranges);
}
void Builder::recv_reduce(int peer, const Ranges& ranges, int lane, uint8_t flags) {
  add({Op::recv_reduce, peer, lane, flags}, ranges);
}
void Builder::recv_reduce_aside(int peer, const Ranges& ranges, int lane, uint8_t flags) {
  add({.op = Op::recv_reduce, .peer = peer, .lane = lane, .flags = flags, .aside = true}, ranges);
}
void Builder::recv_apart(int peer, const Ranges& ranges, int lane, uint8_t flags) {
  add_apart({.op = Op::recv, .peer = peer, .lane = lane, .flags = flags, .aside = true}, ranges);
}
void Builder::recv_reduce_apart(int peer, const Ranges& ranges, int lane, uint8_t flags) {
  add_apart({.op = Op::recv_reduce, .peer = peer, .lane = lane, .flags = flags, .aside = true}, ranges);
}

// Into scratch, in pieces that are contiguous at home too.
void Builder::add_apart(Message message, const Ranges& ranges) {
  uint32_t left = ranges.count();
  for (Range rest : ranges.list()) {
    while (rest.count > 0 && rest.end() <= cur_.size()) {
      Range now = piece(rest, true, true, false);
      rest = {now.end(), rest.count - now.count};
      left -= now.count;
      message.aside = home(now.first).in() == Buffer::output;
      bool there = cur(now.first) == home(now.first);
      if (message.aside) landing_.push_back({uint32_t(program_.steps.size()), there});
      add_range(message, now, left > 0);
    }
    if (rest.count > 0) add_range(message, rest, false);  // says what is wrong
  }
}

// The message is complete: copies home what it brought.
void Builder::land() {
  std::vector<Landing> landing;
  std::swap(landing, landing_);
  for (auto [recv, always] : landing) {
    const Step step = program_.steps[recv];
    Range now{step.chunk, step.count};
    Place to = home(now.first);
    if (!always) detours_.push_back({recv, uint32_t(program_.steps.size())});
    copy(now, to, step.dst);
    settle(now, to);
  }
}

Place Builder::recv_aside(int peer, const Ranges& ranges, int lane, uint8_t flags) {
  uint32_t left = ranges.count();
  if (left == 0) return kNowhere;
  Place base = temp(left), to = base;
  for (Range rest : ranges.list()) {
    if (rest.end() > cur_.size()) {
      fail(fmt::format("rank {}: no chunk {}", program_.rank, rest.end() - 1));
      return kNowhere;
    }
    // In the pieces in which fold_chain will read it: each chain has receives of its own.
    while (rest.count > 0) {
      Range now = piece(rest, true, true, false);
      rest = {now.end(), rest.count - now.count};
      left -= now.count;
      emit({.op = Op::recv,
            .flags = uint8_t(flags | (left > 0 ? kMore : 0)),
            .lane = uint16_t(lane),
            .peer = peer,
            .dst = to,
            .chunk = now.first,
            .count = now.count});
      to = shifted(to, now.count);
    }
  }
  return base;
}

void Builder::fold_chain(const Ranges& ranges, std::span<const Place> operands, uint8_t flags) {
  if (operands.size() < 2) return;
  uint32_t offset = 0;
  for (Range rest : ranges.list()) {
    if (!holds(rest, "fold")) return;
    while (rest.count > 0) {
      Range now = piece(rest, true, true, false);
      rest = {now.end(), rest.count - now.count};
      fold_piece(now, operands, offset, flags);
      offset += now.count;
    }
  }
}

void Builder::fold_piece(Range now, std::span<const Place> operands, uint32_t offset, uint8_t flags) {
  auto value = [&](Place operand) {
    return operand.in() == Buffer::none ? cur(now.first) : shifted(operand, offset);
  };
  Place sum = value(operands[0]), home_ = home(now.first);
  Place target = home_.in() == Buffer::none ? temp(now.count) : home_;
  // Partial sums stay out of the target: in place, this rank's own value still lies there.
  Place partial = operands.size() > 2 ? temp(now.count) : kNowhere;
  for (size_t i = 1; i < operands.size(); i++) {
    bool last = i + 1 == operands.size();
    reduce(now, last ? target : partial, sum, value(operands[i]), last ? flags : uint8_t{kChain});
    sum = partial;
  }
  settle(now, target);
}

void Builder::copy(Range range, Place dst, Place src) {
  emit({.op = Op::copy, .dst = dst, .src = src, .chunk = range.first, .count = range.count});
}

void Builder::reduce(Range range, Place dst, Place left, Place right, uint8_t flags) {
  emit({.op = Op::reduce,
        .flags = flags,
        .dst = dst,
        .src = left,
        .src2 = right,
        .chunk = range.first,
        .count = range.count});
}

void Builder::copy_unwritten(bool in_place) {
  uint32_t end = std::min(outputs_.end(), program_.chunks);
  for (uint32_t c = outputs_.first; c < end;) {
    Range now = piece({c, end - c}, true, true, false);
    c = now.end();
    Place from = cur(now.first), to = home(now.first);
    // A chunk that this rank neither had nor got is the proof's to refuse.
    bool there = from.in() == Buffer::output || from.in() == Buffer::none ||
                 (in_place && from == place(Buffer::input, to.slot));
    if (!there) copy(now, to, from);
  }
}

void Builder::straighten_detours() {
  if (detours_.empty()) return;
  std::vector<Step>& steps = program_.steps;
  for (Detour d : detours_) steps[d.recv].dst = steps[d.copy].dst;
  size_t kept = 0;
  auto next = detours_.begin();
  auto stage = stages_.begin();
  for (uint32_t i = 0; i < steps.size(); i++) {
    for (; stage != stages_.end() && *stage == i; stage++) *stage = uint32_t(kept);
    if (next != detours_.end() && next->copy == i) {
      next++;
    } else {
      steps[kept++] = steps[i];
    }
  }
  steps.resize(kept);
}

Result<Program> Builder::finish(bool in_place) {
  if (error_.empty()) copy_unwritten(in_place);
  if (!in_place) straighten_detours();
  program_.in_place = in_place;
  program_.scratch = allot_scratch(program_.steps, blocks_, stages_);
  if (error_.empty()) error_ = derive_dependencies(program_);
  if (!error_.empty()) return Status(Code::internal, std::move(error_));
  return std::move(program_);
}

}  // namespace plait::collectives
