#include "collectives/builder.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "collectives/scratch.h"

namespace plait::collectives {

namespace {

bool contains(Range range, uint32_t chunk) noexcept { return chunk >= range.first && chunk < range.end(); }

Place shifted(Place base, uint32_t by) noexcept {
  return base.in() == Buffer::none ? kNowhere : place(base.in(), base.slot + by);
}

}  // namespace

Builder::Builder(int rank, uint32_t chunks, Range inputs, Range outputs)
    : outputs_(outputs), cur_(chunks, kNowhere) {
  program_.rank = rank;
  program_.chunks = chunks;
  for (uint32_t c = inputs.first; c < std::min(inputs.end(), chunks); c++) cur_[c] = place(Buffer::input, c);
}

void Builder::fail(std::string text) {
  if (error_.empty()) error_ = std::move(text);
}

Place Builder::cur(uint32_t chunk) const { return chunk < cur_.size() ? cur_[chunk] : kNowhere; }

Place Builder::home(uint32_t chunk) const {
  if (contains(outputs_, chunk)) return place(Buffer::output, chunk);
  Place now = cur(chunk);
  return now.in() == Buffer::scratch ? now : kNowhere;
}

Place Builder::temp(uint32_t count) {
  blocks_.push_back({next_slot_, count});
  // The gap keeps places of two values from looking contiguous: they need not be once slots are shared.
  next_slot_ += count + 1;
  return place(Buffer::scratch, blocks_.back().first);
}

void Builder::emit(const Step& step) { program_.steps.push_back(step); }

void Builder::settle(Range range, Place where) {
  for (uint32_t c = range.first; c < range.end(); c++) cur_[c] = shifted(where, c - range.first);
}

bool Builder::holds(Range range, const char* verb) {
  uint32_t c = range.first;
  while (c < range.end() && cur(c).in() != Buffer::none) c++;
  if (c >= range.end()) return true;
  fail(fmt::format("rank {} step {}: {} of chunk {}, which this rank does not hold", program_.rank,
                   program_.steps.size(), verb, c));
  return false;
}

// Where a result of `chunk` goes; kNowhere: scratch that is yet to be taken.
Place Builder::target(uint32_t chunk, bool aside) const { return aside ? kNowhere : home(chunk); }

// The longest front of `rest` whose places are contiguous wherever a step would read or write them.
Range Builder::piece(Range rest, bool reads, bool writes, bool aside) const {
  Place from = reads ? cur(rest.first) : kNowhere, to = writes ? target(rest.first, aside) : kNowhere;
  uint32_t count = 1;
  while (count < rest.count) {
    uint32_t c = rest.first + count;
    if (reads && cur(c) != shifted(from, count)) break;
    if (writes && target(c, aside) != shifted(to, count)) break;
    count++;
  }
  return {rest.first, count};
}

void Builder::add(const Message& m, Range range) {
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
    if (range.count > 0 || m.open) step.flags |= kMore;
    if (reads) step.src = cur(now.first);
    if (writes) {
      Place to = target(now.first, m.aside);
      step.dst = to.in() == Buffer::none ? temp(now.count) : to;
      settle(now, step.dst);
    }
    emit(step);
  }
}

void Builder::add_list(Message message, std::span<const Range> list) {
  while (!list.empty() && list.back().count == 0) list = list.first(list.size() - 1);
  for (size_t i = 0; i < list.size(); i++) {
    message.open = i + 1 < list.size();
    add(message, list[i]);
  }
}

void Builder::send(int peer, Range range, int lane, uint8_t flags) {
  add({Op::send, peer, lane, flags}, range);
}
void Builder::recv(int peer, Range range, int lane, uint8_t flags) {
  add({Op::recv, peer, lane, flags}, range);
}
void Builder::recv_reduce(int peer, Range range, int lane, uint8_t flags) {
  add({Op::recv_reduce, peer, lane, flags}, range);
}
void Builder::send(int peer, std::span<const Range> list, int lane) {
  add_list({Op::send, peer, lane, 0}, list);
}
void Builder::recv(int peer, std::span<const Range> list, int lane) {
  add_list({Op::recv, peer, lane, 0}, list);
}
void Builder::recv_reduce(int peer, std::span<const Range> list, int lane, uint8_t flags) {
  add_list({Op::recv_reduce, peer, lane, flags}, list);
}
void Builder::recv_reduce_aside(int peer, Range range, int lane, uint8_t flags) {
  add({.op = Op::recv_reduce, .peer = peer, .lane = lane, .flags = flags, .aside = true}, range);
}

Place Builder::recv_aside(int peer, Range range, int lane, uint8_t flags) {
  if (range.count == 0) return kNowhere;
  if (range.end() > cur_.size()) {
    fail(fmt::format("rank {}: no chunk {}", program_.rank, range.end() - 1));
    return kNowhere;
  }
  Place base = temp(range.count);
  // In the pieces in which fold_chain will read it: each chain has receives of its own.
  for (Range rest = range; rest.count > 0;) {
    Range now = piece(rest, true, true, false);
    rest = {now.end(), rest.count - now.count};
    emit({.op = Op::recv,
          .flags = uint8_t(flags | (rest.count > 0 ? kMore : 0)),
          .lane = uint16_t(lane),
          .peer = peer,
          .dst = shifted(base, now.first - range.first),
          .chunk = now.first,
          .count = now.count});
  }
  return base;
}

void Builder::fold_chain(Range range, std::span<const Place> operands, uint8_t flags) {
  if (operands.size() < 2 || !holds(range, "fold")) return;
  for (Range rest = range; rest.count > 0;) {
    Range now = piece(rest, true, true, false);
    rest = {now.end(), rest.count - now.count};
    auto value = [&](Place operand) {
      return operand.in() == Buffer::none ? cur(now.first) : shifted(operand, now.first - range.first);
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
    Place from = cur(now.first);
    // A chunk that this rank neither had nor got is the proof's to refuse.
    bool there = from.in() == Buffer::output || from.in() == Buffer::none ||
                 (in_place && from == place(Buffer::input, now.first));
    if (!there) copy(now, place(Buffer::output, now.first), from);
  }
}

Result<Program> Builder::finish(bool in_place) {
  if (error_.empty()) copy_unwritten(in_place);
  program_.in_place = in_place;
  program_.scratch = allot_scratch(program_.steps, blocks_);
  if (error_.empty()) error_ = derive_dependencies(program_);
  if (!error_.empty()) return Status(Code::internal, std::move(error_));
  return std::move(program_);
}

}  // namespace plait::collectives
