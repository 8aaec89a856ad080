// Dependencies, from the order of the list and the places that steps touch (rules 2 and 3).
#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "collectives/cells.h"

namespace plait::collectives {

namespace {

// What is wrong with a place of a step; empty when nothing is.
std::string check_place(const Program& p, uint32_t step, Place place) {
  if (place.in() == Buffer::none) return {};
  uint32_t slots = slots_of(p, place.in());
  if (place.slot <= slots && p.steps[step].count <= slots - place.slot) return {};
  return fmt::format("{}: {}+{} is out of bounds, there are {} slots", describe(p, step), describe(place),
                     p.steps[step].count, slots);
}

std::string check_step(const Program& p, uint32_t i) {
  const Step& s = p.steps[i];
  if (s.count == 0 || s.chunk > p.chunks || s.count > p.chunks - s.chunk) {
    return fmt::format("{}: no such chunks, there are {}", describe(p, i), p.chunks);
  }
  for (Place place : {s.src, s.src2, s.dst}) {
    if (std::string error = check_place(p, i, place); !error.empty()) return error;
  }
  if (!(s.flags & kMore)) return {};
  bool joined = i + 1 < p.steps.size() && (sends(s.op) || receives(s.op)) && p.steps[i + 1].peer == s.peer &&
                p.steps[i + 1].lane == s.lane && p.steps[i + 1].op == s.op;
  return joined ? "" : describe(p, i) + ": cannot be one message with the next step";
}

// Cells that no step tells apart are one: a rank of many reads and writes its vector in few pieces. Where
// there are about as many steps as cells, each cell is its own.
class Pieces {
 public:
  Pieces(const Program& p, const Cells& cells) : count_(cells.count()) {
    if (p.steps.size() > cells.count() / 32) return;
    ends_.push_back(0);
    auto add = [&](Place place, uint32_t count) {
      if (place.in() == Buffer::none) return;
      ends_.push_back(cells.at(place));
      ends_.push_back(cells.at(place) + count);
    };
    for (const Step& s : p.steps) add(s.src, s.count), add(s.src2, s.count), add(s.dst, s.count);
    std::sort(ends_.begin(), ends_.end());
    ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
  }
  // The last may be of no cells.
  uint32_t count() const noexcept { return ends_.empty() ? count_ : uint32_t(ends_.size()); }
  // Of a cell with which a piece begins.
  uint32_t of(uint32_t cell) const noexcept {
    if (ends_.empty()) return cell;
    return uint32_t(std::lower_bound(ends_.begin(), ends_.end(), cell) - ends_.begin());
  }

 private:
  uint32_t count_;
  std::vector<uint32_t> ends_;  // ascending; empty: all
};

// One pass over the list, with the last writer of each piece and its readers since.
class Deriver {
 public:
  explicit Deriver(Program& p) : p_(p), cells_(p), pieces_(p, cells_), state_(pieces_.count()) {}

  void run() {
    p_.deps.clear();
    p_.dep_begin.assign(1, 0);
    p_.dep_begin.reserve(p_.steps.size() + 1);
    for (uint32_t first = 0; first < p_.steps.size();) {
      uint32_t end = message_end(p_, first);
      collect(first, end);
      // A message waits as its first step does; the others have no entries of their own.
      for (uint32_t i = first; i < end; i++) p_.dep_begin.push_back(uint32_t(p_.deps.size()));
      first = end;
    }
  }

 private:
  struct Cell {  // or a piece of several
    uint32_t writer = kNoIndex;
    uint32_t readers = kNoIndex;  // since `writer`; a list in readers_, which cells share
  };
  struct Reader {
    uint32_t step, next;
  };

  // What the message of steps [first, end) waits for; then what it leaves behind.
  void collect(uint32_t first, uint32_t end) {
    auto begin = std::ptrdiff_t(p_.deps.size());
    for (uint32_t i = first; i < end; i++) {
      const Step& s = p_.steps[i];
      latest_ = kNoIndex;
      each_read(s, [&](Place place) { each_cell(place, s.count, [&](Cell& c) { wait_for(c.writer); }); });
      latest_list_ = kNoIndex;
      if (s.dst.in() != Buffer::none) each_cell(s.dst, s.count, [&](Cell& c) { wait_for_all(c); });
    }
    std::sort(p_.deps.begin() + begin, p_.deps.end());
    p_.deps.erase(std::unique(p_.deps.begin() + begin, p_.deps.end()), p_.deps.end());
    for (uint32_t i = first; i < end; i++) {
      const Step& s = p_.steps[i];
      each_read(s, [&](Place place) { add_reader(place, s.count, first); });
      if (s.dst.in() != Buffer::none) each_cell(s.dst, s.count, [&](Cell& c) { c = {first, kNoIndex}; });
    }
  }

  template <class F>
  void each_cell(Place place, uint32_t count, F f) {
    const uint32_t first = cells_.at(place), end = pieces_.of(first + count);
    for (uint32_t c = pieces_.of(first); c < end; c++) f(state_[c]);
  }
  // Neighbours mostly wait for the same.
  void wait_for(uint32_t step) {
    if (step == kNoIndex || step == latest_) return;
    p_.deps.push_back(step);
    latest_ = step;
  }
  // Readers already wait for the writer.
  void wait_for_all(const Cell& cell) {
    if (cell.readers == kNoIndex) return wait_for(cell.writer);
    if (cell.readers == latest_list_) return;
    latest_list_ = cell.readers;
    for (uint32_t r = cell.readers; r != kNoIndex; r = readers_[r].next) wait_for(readers_[r].step);
  }
  // Neighbours that had the same readers go on sharing one list.
  void add_reader(Place place, uint32_t count, uint32_t step) {
    uint32_t before = kNoIndex, now = kNoIndex;
    each_cell(place, count, [&](Cell& cell) {
      if (now == kNoIndex || cell.readers != before) {
        before = cell.readers;
        now = uint32_t(readers_.size());
        readers_.push_back({step, before});
      }
      cell.readers = now;
    });
  }

  Program& p_;
  const Cells cells_;
  const Pieces pieces_;
  std::vector<Cell> state_;
  std::vector<Reader> readers_;
  uint32_t latest_ = kNoIndex, latest_list_ = kNoIndex;  // what the step waits for already
};

}  // namespace

std::string derive_dependencies(Program& program) {
  for (uint32_t i = 0; i < program.steps.size(); i++) {
    if (std::string error = check_step(program, i); !error.empty()) return error;
  }
  Deriver(program).run();
  return {};
}

}  // namespace plait::collectives
