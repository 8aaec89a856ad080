#include "collectives/scratch.h"

#include <algorithm>
#include <deque>
#include <map>

#include "collectives/cells.h"

namespace plait::collectives {

namespace {

class LinearScan {
 public:
  LinearScan(std::vector<Step>& steps, std::span<const Range> blocks, std::span<const uint32_t> stages)
      : steps_(steps),
        blocks_(blocks),
        stages_(stages),
        values_(blocks.size()),
        block_at_(blocks.back().end()) {
    for (uint32_t b = 0; b < blocks.size(); b++)
      std::fill_n(block_at_.begin() + blocks[b].first, blocks[b].count, b);
  }

  uint32_t run() {
    for (uint32_t i = 0; i < steps_.size(); i++) note(i);
    for (uint32_t i = 0; i < steps_.size(); i++) {
      for (; stage_ < stages_.size() && stages_[stage_] <= i; stage_++) end_stage();
      Step& s = steps_[i];
      uint32_t source[2] = {renumber(s.src, i), renumber(s.src2, i)};
      if (s.dst.in() == Buffer::scratch) {
        if (s.op == Op::reduce) take_over(block_of(s.dst), source, i);
        renumber(s.dst, i);
      }
      if (!(s.flags & kMore)) release();
    }
    return top_;
  }

 private:
  struct Value {
    uint32_t slot = kNoIndex;  // once allotted
    uint32_t last = 0;         // the last step that touches it
    uint32_t reads = 0;
    size_t stage = 0;  // in which it was allotted
  };

  uint32_t block_of(Place place) const { return block_at_[place.slot]; }
  void note(uint32_t step) {
    const Step& s = steps_[step];
    each_read(s, [&](Place place) {
      if (place.in() == Buffer::scratch) values_[block_of(place)].reads++;
    });
    for (Place place : {s.src, s.src2, s.dst}) {
      if (place.in() == Buffer::scratch) values_[block_of(place)].last = step;
    }
  }

  // Puts the allotted slot into the place and returns its block; kNoIndex for other places.
  uint32_t renumber(Place& where, uint32_t step) {
    if (where.in() != Buffer::scratch) return kNoIndex;
    uint32_t block = block_of(where);
    Value& value = values_[block];
    if (value.slot == kNoIndex) allot(value, take(blocks_[block].count));
    uint32_t offset = where.slot - blocks_[block].first;
    where = place(Buffer::scratch, value.slot + offset);
    if (value.last == step) dying_.push_back(block);
    return block;
  }

  // A local fold may write where an operand lies that nobody else reads: no step waits longer for that.
  void take_over(uint32_t block, const uint32_t (&source)[2], uint32_t step) {
    Value& value = values_[block];
    for (uint32_t s : source) {
      if (value.slot != kNoIndex || s == kNoIndex) continue;
      if (values_[s].last != step || values_[s].reads != 1 || blocks_[s].count != blocks_[block].count)
        continue;
      allot(value, values_[s].slot);
      std::erase(dying_, s);
    }
  }

  void allot(Value& value, uint32_t slot) {
    value.slot = slot;
    value.stage = stage_;
  }
  uint32_t take(uint32_t count) {
    auto& free = free_[count];
    if (!free.empty() && free.front().since != free.back().since) {
      uint32_t slot = free.front().slot;
      free.pop_front();
      return slot;
    }
    auto& left = left_[count];
    if (!left.empty()) {
      uint32_t slot = left.back();
      left.pop_back();
      return slot;
    }
    top_ += count;
    return top_ - count;
  }
  void release() {
    std::sort(dying_.begin(), dying_.end());
    dying_.erase(std::unique(dying_.begin(), dying_.end()), dying_.end());
    for (uint32_t block : dying_) {
      const Value& value = values_[block];
      if (value.stage == stage_) {
        free_[blocks_[block].count].push_back({value.slot, messages_});
      } else {
        leaving_.push_back(block);
      }
    }
    dying_.clear();
    messages_++;
  }
  void end_stage() {
    for (auto& [count, free] : free_) {
      for (const Free& f : free) left_[count].push_back(f.slot);
      free.clear();
    }
    for (uint32_t block : leaving_) left_[blocks_[block].count].push_back(values_[block].slot);
    leaving_.clear();
  }

  std::vector<Step>& steps_;
  std::span<const Range> blocks_;
  std::span<const uint32_t> stages_;
  size_t stage_ = 0;  // how many have begun
  std::vector<Value> values_;
  std::vector<uint32_t> block_at_;  // of each slot
  struct Free {
    uint32_t slot, since;  // after which message
  };
  std::map<uint32_t, std::deque<Free>> free_;       // of this stage; by size, the longest free first
  std::map<uint32_t, std::vector<uint32_t>> left_;  // by earlier stages; slots by size
  std::vector<uint32_t> leaving_;  // blocks of earlier stages that are free when this one ends
  std::vector<uint32_t> dying_;    // blocks touched for the last time in this message
  uint32_t messages_ = 0;
  uint32_t top_ = 0;
};

}  // namespace

uint32_t allot_scratch(std::vector<Step>& steps, std::span<const Range> blocks,
                       std::span<const uint32_t> stages) {
  if (blocks.empty()) return 0;
  return LinearScan(steps, blocks, stages).run();
}

}  // namespace plait::collectives
