// How long a cycle can be: two-connected parts, by Tarjan's low points, and their two sides.
#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "topology/cycles.h"

namespace plait::topology {
namespace {

class Blocks {
 public:
  Blocks(const Fabric& fabric, const Allowed& allowed)
      : fabric_(fabric),
        allowed_(allowed),
        order_(fabric.chips(), 0),
        low_(fabric.chips(), 0),
        side_(fabric.chips()) {}

  CycleBound run() {
    bound_.bipartite = true;
    for (uint32_t c = 0; c < fabric_.chips(); c++) {
      if (allowed_[c] && order_[c] == 0) visit(c);
    }
    if (bound_.most == 0) bound_.why = "the free chips have no cycle among them";
    return std::move(bound_);
  }

 private:
  struct Frame {
    uint32_t chip, parent, next;
  };

  void open(uint32_t chip, uint32_t parent) {
    order_[chip] = low_[chip] = ++count_;
    side_[chip] = parent != kNone && !side_[parent];
    frames_.push_back({chip, parent, 0});
    stack_.push_back(chip);
  }

  void visit(uint32_t root) {
    open(root, kNone);
    while (!frames_.empty()) {
      Frame& f = frames_.back();
      const auto near = fabric_.neighbours(f.chip);
      if (f.next == near.size()) {
        const Frame done = f;
        frames_.pop_back();
        if (done.parent != kNone) close(done.chip, done.parent);
        continue;
      }
      const uint32_t to = near[f.next++];
      if (!allowed_[to] || to == f.parent) continue;
      if (order_[to] == 0) {
        open(to, f.chip);
      } else {
        low_[f.chip] = std::min(low_[f.chip], order_[to]);
        if (side_[to] == side_[f.chip] && order_[to] < order_[f.chip])
          bound_.bipartite = false, odd_.push_back(order_[f.chip]);
      }
    }
    stack_.clear();
  }

  // All that hangs on `chip` has been seen.
  void close(uint32_t chip, uint32_t parent) {
    low_[parent] = std::min(low_[parent], low_[chip]);
    if (low_[chip] < order_[parent]) return;
    uint32_t sides[2] = {0, 0};
    sides[side_[parent]]++;
    for (uint32_t last = kNone; last != chip;) {
      last = stack_.back();
      stack_.pop_back();
      sides[side_[last]]++;
    }
    // An edge of a block that has two ends on one side: it was seen from within the block.
    bool odd = false;
    while (!odd_.empty() && odd_.back() >= order_[chip]) odd = true, odd_.pop_back();
    const uint32_t all = sides[0] + sides[1];
    if (all < 3) return;
    const uint32_t most = odd ? all : 2 * std::min(sides[0], sides[1]);
    if (most <= bound_.most) return;
    bound_.most = most;
    bound_.why = most == all
                     ? fmt::format("the largest part that no single chip cuts has {} chips", all)
                     : fmt::format(
                           "the largest part that no single chip cuts has {} chips of one colour of a "
                           "chessboard and {} of the other, which a ring visits by turns",
                           std::max(sides[0], sides[1]), std::min(sides[0], sides[1]));
  }

  const Fabric& fabric_;
  const Allowed& allowed_;
  std::vector<uint32_t> order_, low_, stack_, odd_;
  std::vector<bool> side_;
  std::vector<Frame> frames_;
  uint32_t count_ = 0;
  CycleBound bound_;
};

}  // namespace

CycleBound bound_cycle(const Fabric& fabric, const Allowed& allowed) { return Blocks(fabric, allowed).run(); }

}  // namespace plait::topology
