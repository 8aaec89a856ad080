// check_races: cell by cell, every step that touches it against those that touched it before.
#include "collectives/cells.h"
#include "collectives/machine/check.h"

namespace plait::collectives {

namespace {

class RaceChecker {
 public:
  explicit RaceChecker(const Program& p)
      : p_(p),
        cells_(p),
        state_(cells_.count()),
        head_(p.steps.size()),
        direct_(p.steps.size(), kNoIndex),
        ancestor_(p.steps.size(), kNoIndex) {
    for (uint32_t first = 0; first < p.steps.size();) {
      uint32_t end = message_end(p, first);
      for (uint32_t i = first; i < end; i++) head_[i] = first;
      first = end;
    }
  }

  Status run() {
    for (uint32_t i = 0; i < p_.steps.size(); i++) {
      if (head_[i] == i) mark_direct(i);
      const Step& s = p_.steps[i];
      Status status;
      each_read(s, [&](Place place) {
        if (status.ok()) status = read(i, place);
      });
      PLAIT_TRY(status);
      if (s.dst.in() != Buffer::none) PLAIT_TRY(write(i, s.dst));
      each_read(s, [&](Place place) { remember(i, place); });
    }
    return {};
  }

 private:
  struct Cell {
    uint32_t writer = kNoIndex;
    uint32_t readers = kNoIndex;  // since, in readers_
  };
  struct Reader {
    uint32_t step, next;
  };

  Status read(uint32_t step, Place place) {
    uint32_t first = cells_.at(place);
    for (uint32_t c = first; c < first + p_.steps[step].count; c++) {
      uint32_t writer = state_[c].writer;
      if (!ordered(writer, step)) return refuse(writer, step, place, "reads", "writes");
    }
    return {};
  }

  Status write(uint32_t step, Place place) {
    uint32_t first = cells_.at(place);
    for (uint32_t c = first; c < first + p_.steps[step].count; c++) {
      Cell& cell = state_[c];
      // Readers wait for the writer already.
      if (cell.readers == kNoIndex && !ordered(cell.writer, step)) {
        return refuse(cell.writer, step, place, "writes", "writes");
      }
      for (uint32_t r = cell.readers; r != kNoIndex; r = readers_[r].next) {
        if (!ordered(readers_[r].step, step)) return refuse(readers_[r].step, step, place, "writes", "reads");
      }
      cell = {step, kNoIndex};
    }
    return {};
  }

  // Reads are remembered after the step's own write: a fold in place is no race with itself.
  void remember(uint32_t step, Place place) {
    uint32_t first = cells_.at(place);
    for (uint32_t c = first; c < first + p_.steps[step].count; c++) {
      if (state_[c].writer == step) continue;
      readers_.push_back({step, state_[c].readers});
      state_[c].readers = uint32_t(readers_.size() - 1);
    }
  }

  // Whether step `b` waits for step `a`, directly or by others between them. Steps of one message wait for
  // nothing of each other.
  bool ordered(uint32_t a, uint32_t b) {
    if (a == kNoIndex || a == b) return true;
    a = head_[a], b = head_[b];
    if (a == b) return false;
    if (direct_[a] == b) return true;
    if (ancestors_of_ != b) mark_ancestors(b);
    return ancestor_[a] == b;
  }
  template <class F>
  void each_dependency(uint32_t head, F f) const {
    for (uint32_t d = p_.dep_begin[head]; d < p_.dep_begin[head + 1]; d++) f(head_[p_.deps[d]]);
  }
  void mark_direct(uint32_t head) {
    each_dependency(head, [&](uint32_t d) { direct_[d] = head; });
  }
  void mark_ancestors(uint32_t head) {
    ancestors_of_ = head;
    std::vector<uint32_t> left{head};
    while (!left.empty()) {
      uint32_t next = left.back();
      left.pop_back();
      each_dependency(next, [&](uint32_t d) {
        if (ancestor_[d] == head) return;
        ancestor_[d] = head;
        left.push_back(d);
      });
    }
  }

  Status refuse(uint32_t a, uint32_t b, Place place, const char* does, const char* before) const {
    return {Code::invalid, describe(p_, b) + " " + does + " " + describe(place) + ", and does not wait for " +
                               describe(p_, a) + ", which " + before + " it"};
  }

  const Program& p_;
  Cells cells_;
  std::vector<Cell> state_;
  std::vector<Reader> readers_;
  std::vector<uint32_t> head_;      // the first step of each step's message
  std::vector<uint32_t> direct_;    // the last message found to wait for this one directly,
  std::vector<uint32_t> ancestor_;  // and by others in between
  uint32_t ancestors_of_ = kNoIndex;
};

}  // namespace

Status check_races(const Program& program) { return RaceChecker(program).run(); }

}  // namespace plait::collectives
