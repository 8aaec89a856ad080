// Where the value of each chunk lies. What a rank of many does to a vector of as many chunks mostly makes few
// runs of chunks that lie one behind the other: then the runs are what is kept, else each chunk's place.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "collectives/program.h"

namespace plait::collectives {

// `by` slots behind `base`; nowhere stays nowhere.
inline Place shifted(Place base, uint32_t by) noexcept {
  return base.in() == Buffer::none ? kNowhere : place(base.in(), base.slot + by);
}

class Holdings {
 public:
  // All of them nowhere.
  explicit Holdings(uint32_t chunks) : chunks_(chunks) {
    if (chunks <= kFew)
      each_.assign(chunks, kNowhere);
    else
      runs_.emplace(0, kNowhere);
  }
  uint32_t size() const noexcept { return chunks_; }
  // kNowhere beyond the last chunk.
  Place at(uint32_t chunk) const {
    if (chunk >= chunks_) return kNowhere;
    if (!each_.empty()) return each_[chunk];
    const auto run = std::prev(runs_.upper_bound(chunk));
    return shifted(run->second, chunk - run->first);
  }
  // The end of the chunks from `chunk` on, and before `end`, that lie one behind the other or are nowhere.
  // `chunk` is before `end`, and there is such a chunk.
  uint32_t run_end(uint32_t chunk, uint32_t end) const {
    if (each_.empty()) {
      const auto next = runs_.upper_bound(chunk);
      return next == runs_.end() ? std::min(end, chunks_) : std::min(end, next->first);
    }
    uint32_t c = chunk + 1;
    for (end = std::min(end, chunks_); c < end && each_[c] == shifted(each_[chunk], c - chunk);) c++;
    return c;
  }
  // Puts those of `range` that there are at `where` and behind it.
  void put(Range range, Place where) {
    const uint32_t end = uint32_t(std::min<uint64_t>(uint64_t{range.first} + range.count, chunks_));
    if (range.first >= end) return;
    if (each_.empty()) return put_run(range.first, end, where);
    for (uint32_t c = range.first; c < end; c++) each_[c] = shifted(where, c - range.first);
  }

 private:
  using Runs = std::map<uint32_t, Place>;  // each until the next

  void put_run(uint32_t first, uint32_t end, Place where) {
    const Place behind = at(end);
    const auto next = runs_.erase(runs_.lower_bound(first), runs_.upper_bound(end));
    const auto now = runs_.emplace_hint(next, first, where);
    if (end < chunks_) join(runs_.emplace_hint(next, end, behind));
    join(now);
    if (runs_.size() > chunks_ / kFew) part();
  }
  // Runs are as long as can be: with the one before it, if it goes on there.
  void join(Runs::iterator run) {
    if (run == runs_.begin()) return;
    const auto before = std::prev(run);
    if (shifted(before->second, run->first - before->first) == run->second) runs_.erase(run);
  }
  // From now on each chunk by itself.
  void part() {
    std::vector<Place> each(chunks_);
    for (auto run = runs_.begin(); run != runs_.end(); ++run) {
      const uint32_t end = std::next(run) == runs_.end() ? chunks_ : std::next(run)->first;
      for (uint32_t c = run->first; c < end; c++) each[c] = shifted(run->second, c - run->first);
    }
    each_ = std::move(each);
    runs_.clear();
  }

  static constexpr uint32_t kFew = 64;
  uint32_t chunks_;
  Runs runs_;
  std::vector<Place> each_;  // empty: there are runs
};

}  // namespace plait::collectives
