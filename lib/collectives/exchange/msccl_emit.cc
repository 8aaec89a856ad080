#include "collectives/exchange/msccl_emit.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace plait::collectives::exchange::msccl {

namespace {

constexpr uint32_t kNone = UINT32_MAX;

std::string name_of(Spot spot) {
  constexpr const char* kAreas[] = {"input", "output", "scratch"};
  return fmt::format("{}[{}]", kAreas[uint32_t(spot.area)], spot.offset);
}

bool follows(Place next, Place first, uint32_t by) noexcept {
  if (first.in() == Buffer::none) return next.in() == Buffer::none;
  return next == place(first.in(), first.slot + by);
}

// Two ranges of places that overlap without being the same: what is read there depends on the order of
// chunks.
bool overlap(uint32_t a, uint32_t b, uint32_t count) noexcept {
  return a != b && a < b + count && b < a + count;
}

}  // namespace

Emitter::Emitter(const File& file, uint32_t rank, bool in_place, Budget& budget)
    : file_(file),
      ranks_(uint32_t(file.gpus.size())),
      places_(file, rank, in_place),
      budget_(budget),
      cells_(places_.count()),
      moved_(places_.count(), kNone),
      temporaries_(file.gpus[rank].blocks.size()) {
  program_.rank = int32_t(rank);
  program_.chunks = file.chunks;
  program_.scratch = file.gpus[rank].scratch;
  program_.in_place = in_place;
  places_.each_input([&](uint32_t at, uint32_t chunk, uint32_t slot) {
    cells_[at] = {{chunk, 1}, place(Buffer::input, slot)};
  });
}

// What lies k places after `spot`, as the src of an element.
std::string Emitter::read(Spot spot, uint32_t k, Element& element, Cell*& cell) {
  cell = &cells_[places_.at(spot) + k];
  if (cell->value.ranks == 0)
    return fmt::format("reads {}, where nothing lies yet", name_of({spot.area, spot.offset + k}));
  element = {.chunk = cell->value.chunk, .dst = kNowhere, .src = cell->where, .src2 = kNowhere, .flags = 0};
  return {};
}

// The sum of two values of one chunk. The fold that brings all ranks together is the last.
std::string Emitter::join(Element& element, Value own, Value other, Value& sum) {
  if (own.chunk != other.chunk) return fmt::format("folds chunk {} into chunk {}", other.chunk, own.chunk);
  sum = {own.chunk, own.ranks + other.ranks};
  if (sum.ranks > ranks_) return fmt::format("folds contributions to chunk {} twice", own.chunk);
  if (sum.ranks == ranks_ && reduces(file_.collective)) element.flags |= kLast;
  return {};
}

// Where plait puts a value of `chunk` that MSCCL writes to the place `at`.
Place Emitter::target(uint32_t at, uint32_t chunk) {
  if (places_.is_output(at, chunk)) return place(Buffer::output, at);
  if (places_.is_scratch(at)) return place(Buffer::scratch, places_.scratch_slot(at));
  if (moved_[at] == kNone) moved_[at] = program_.scratch++;
  return place(Buffer::scratch, moved_[at]);
}

// Scratch for what a thread block passes on. Two, by turns: one is sent while the other is filled.
uint32_t Emitter::temporary(uint32_t block, uint32_t count) {
  Temporary& t = temporaries_[block];
  if (t.count < count) {
    t = {.first = {program_.scratch, program_.scratch + count}, .count = count, .turn = 0};
    program_.scratch += 2 * count;
  }
  t.turn ^= 1;
  return t.first[t.turn];
}

std::string Emitter::send(const Instruction& i, int32_t peer, uint16_t lane, Spot from,
                          std::vector<Value>& message) {
  for (uint32_t k = 0; k < i.count; k++) {
    Element element;
    Cell* cell = nullptr;
    if (std::string why = read(from, k, element, cell); !why.empty()) return why;
    message.push_back(cell->value);
    elements_.push_back(element);
  }
  return write(i, Op::send, peer, lane);
}

std::string Emitter::receive(const Instruction& i, int32_t peer, uint16_t lane,
                             const std::vector<Value>& message) {
  const uint32_t to = places_.at(i.dst);
  if (folds(i.type) && overlap(places_.at(i.src), to, i.count))
    return "src and dst overlap, and are not the same";
  for (uint32_t k = 0; k < i.count; k++) {
    Element element{message[k].chunk, kNowhere, kNowhere, kNowhere, 0};
    Value value = message[k];
    if (folds(i.type)) {
      Cell* own = nullptr;
      if (std::string why = read(i.src, k, element, own); !why.empty()) return why;
      if (std::string why = join(element, own->value, message[k], value); !why.empty()) return why;
    }
    element.dst = target(to + k, value.chunk);
    cells_[to + k] = {value, element.dst};
    elements_.push_back(element);
  }
  return write(i, folds(i.type) ? Op::recv_reduce : Op::recv, peer, lane);
}

std::string Emitter::copy(const Instruction& i) {
  const uint32_t from = places_.at(i.src), to = places_.at(i.dst);
  if (from == to) return {};  // in place, from input to output
  if (overlap(from, to, i.count)) return "src and dst overlap, and are not the same";
  for (uint32_t k = 0; k < i.count; k++) {
    Element element;
    Cell* cell = nullptr;
    if (std::string why = read(i.src, k, element, cell); !why.empty()) return why;
    element.dst = target(to + k, element.chunk);
    cells_[to + k] = {cell->value, element.dst};
    elements_.push_back(element);
  }
  return write(i, Op::copy, -1, 0);
}

std::string Emitter::reduce(const Instruction& i) {
  const uint32_t from = places_.at(i.src), to = places_.at(i.dst);
  if (overlap(from, to, i.count)) return "src and dst overlap, and are not the same";
  for (uint32_t k = 0; k < i.count; k++) {
    Element element, other;
    Cell *own = nullptr, *added = nullptr;
    if (std::string why = read(i.dst, k, element, own); !why.empty()) return why;
    if (std::string why = read(i.src, k, other, added); !why.empty()) return why;
    Value sum;
    if (std::string why = join(element, own->value, added->value, sum); !why.empty()) return why;
    element.src2 = other.src;
    element.dst = target(to + k, element.chunk);
    cells_[to + k] = {sum, element.dst};
    elements_.push_back(element);
  }
  return write(i, Op::reduce, -1, 0);
}

std::string Emitter::fold_and_send(const Instruction& i, uint32_t block, const ThreadBlock& peers,
                                   const std::vector<Value>& arrived, std::vector<Value>& message) {
  const uint32_t slot = temporary(block, i.count);
  for (uint32_t k = 0; k < i.count; k++) {
    Element element;
    Cell* own = nullptr;
    if (std::string why = read(i.src, k, element, own); !why.empty()) return why;
    Value sum;
    if (std::string why = join(element, own->value, arrived[k], sum); !why.empty()) return why;
    element.dst = place(Buffer::scratch, slot + k);
    message.push_back(sum);
    elements_.push_back(element);
  }
  std::vector<Element> sent = elements_;
  if (std::string why = write(i, Op::recv_reduce, peers.recv, peers.channel); !why.empty()) return why;
  for (Element& element : sent) element = {element.chunk, kNowhere, element.dst, kNowhere, 0};
  elements_ = std::move(sent);
  return write(i, Op::send, peers.send, peers.channel);
}

// Writes elements_ as steps of contiguous chunks and places.
std::string Emitter::write(const Instruction& i, Op op, int32_t peer, uint16_t lane) {
  for (size_t first = 0; first < elements_.size();) {
    const Element& e = elements_[first];
    uint32_t count = 1;
    while (first + count < elements_.size()) {
      const Element& next = elements_[first + count];
      if (next.chunk != e.chunk + count || next.flags != e.flags || !follows(next.dst, e.dst, count) ||
          !follows(next.src, e.src, count) || !follows(next.src2, e.src2, count))
        break;
      count++;
    }
    Step step{
        .op = op, .flags = e.flags, .lane = lane, .peer = peer, .dst = e.dst, .src = e.src, .src2 = e.src2};
    step.chunk = e.chunk;
    step.count = count;
    first += count;
    if (peer >= 0 && first < elements_.size()) step.flags |= kMore;
    if (std::string why = budget_.step(step); !why.empty()) return why;
    program_.steps.push_back(step);
    lines_.push_back(i.line);
  }
  elements_.clear();
  return {};
}

Program Emitter::take(std::vector<uint32_t>& lines) {
  lines = std::move(lines_);
  return std::move(program_);
}

}  // namespace plait::collectives::exchange::msccl
