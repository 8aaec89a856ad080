#include "collectives/chain.h"

#include "collectives/cells.h"

namespace plait::collectives {

namespace {

constexpr uint32_t kNone = UINT32_MAX;

class ChainFinder {
 public:
  explicit ChainFinder(const Program& p)
      : p_(p), cells_(p), state_(cells_.count()), next_(p.steps.size(), kNone) {}

  Result<std::vector<uint32_t>> run() {
    for (uint32_t i = 0; i < p_.steps.size(); i++) {
      PLAIT_TRY(check_flags(i));
      PLAIT_TRY(read(i, p_.steps[i].src, !(p_.steps[i].flags & kSwapped)));
      PLAIT_TRY(read(i, p_.steps[i].src2, false));
      PLAIT_TRY(write(i));
    }
    for (const Cell& cell : state_) {
      if (cell.writer != kNone && !cell.taken) return never_folded(cell.writer);
    }
    return ends();
  }

 private:
  // A value inside a chain.
  struct Cell {
    uint32_t writer = kNone;
    bool taken = false;  // by the fold that continues it
  };

  Status refuse(uint32_t step, const std::string& why) const {
    return {Code::invalid, describe(p_, step) + ": " + why};
  }
  Status never_folded(uint32_t step) const {
    return refuse(step, "is to be continued by a fold, and none reads it");
  }

  Status check_flags(uint32_t i) const {
    const Step& s = p_.steps[i];
    if ((s.flags & kLast) && !folds(s.op)) return refuse(i, "only a fold can complete a chunk");
    if (!(s.flags & kChain)) return {};
    if (s.flags & kLast) return refuse(i, "a fold that is continued cannot be the last");
    if (s.op == Op::recv || s.op == Op::recv_reduce || s.op == Op::reduce) return {};
    return refuse(i, "is neither a receive nor a fold, so cannot be in a chain");
  }

  Status read(uint32_t i, Place from, bool left) {
    if (from.in() == Buffer::none) return {};
    const Step& s = p_.steps[i];
    uint32_t first = cells_.at(from);
    for (uint32_t c = first; c < first + s.count; c++) {
      Cell& cell = state_[c];
      if (cell.writer == kNone) continue;
      if (cell.taken)
        return refuse(i, "reads a value inside a chain once more, after " + describe(p_, next_[cell.writer]));
      PLAIT_TRY(check_link(cell.writer, i, from, left));
      cell.taken = true;
      next_[cell.writer] = i;
    }
    return {};
  }

  // Whether step `to` may continue what step `from` left at `at`.
  Status check_link(uint32_t from, uint32_t to, Place at, bool left) const {
    const Step &a = p_.steps[from], &b = p_.steps[to];
    if (b.op != Op::reduce && b.op != Op::recv_reduce) {
      return refuse(to, "reads a value inside the chain of " + describe(p_, from));
    }
    if (at != a.dst || a.chunk != b.chunk || a.count != b.count) {
      return refuse(to, "folds other chunks than " + describe(p_, from) + ", which it continues");
    }
    if (folds(a.op) && !left) return refuse(to, "continues " + describe(p_, from) + " as the right operand");
    return {};
  }

  Status write(uint32_t i) {
    const Step& s = p_.steps[i];
    if (s.dst.in() == Buffer::none) return {};
    uint32_t first = cells_.at(s.dst);
    for (uint32_t c = first; c < first + s.count; c++) {
      if (state_[c].writer != kNone && !state_[c].taken) return never_folded(state_[c].writer);
      state_[c] = {s.flags & kChain ? i : kNone, false};
    }
    return {};
  }

  std::vector<uint32_t> ends() const {
    std::vector<uint32_t> end(next_.size());
    for (uint32_t i = uint32_t(end.size()); i-- > 0;) end[i] = next_[i] == kNone ? i : end[next_[i]];
    return end;
  }

  const Program& p_;
  Cells cells_;
  std::vector<Cell> state_;
  std::vector<uint32_t> next_;  // the step that continues a chain
};

}  // namespace

Result<std::vector<uint32_t>> chain_ends(const Program& program) { return ChainFinder(program).run(); }

}  // namespace plait::collectives
