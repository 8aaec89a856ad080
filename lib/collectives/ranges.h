// Chunks that travel together, contiguous or not.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/program.h"

namespace plait::collectives {

// Ranges of chunks in an order that both ends of a message keep. None is empty. One range, the usual case,
// takes no allocation.
class Ranges {
 public:
  Ranges() = default;
  Ranges(Range range) { add(range); }  // NOLINT: a range is a list of one
  Ranges(uint32_t first, uint32_t count) { add(Range{first, count}); }

  // Joined with the last one where they are adjacent; nothing if empty.
  void add(Range range) {
    if (range.count == 0) return;
    if (one_.count == 0) {
      one_ = range;
    } else if (Range& last = many_.empty() ? one_ : many_.back(); last.end() == range.first) {
      last.count += range.count;
    } else {
      if (many_.empty()) many_.push_back(one_);
      many_.push_back(range);
    }
  }
  void add(const Ranges& more) {
    for (Range range : more.list()) add(range);
  }

  std::span<const Range> list() const& noexcept {
    return many_.empty() ? std::span(&one_, one_.count > 0 ? 1 : 0) : std::span(many_);
  }
  std::span<const Range> list() const&& = delete;  // would outlive what it looks at
  // Chunks in all.
  uint32_t count() const noexcept {
    uint32_t sum = 0;
    for (Range range : list()) sum += range.count;
    return sum;
  }
  bool empty() const noexcept { return one_.count == 0; }

 private:
  Range one_;                // the first, while there is only one
  std::vector<Range> many_;  // all, once there are more
};

}  // namespace plait::collectives
