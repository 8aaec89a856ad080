// Places in the counters' memory: endpoints take a run of words each, and give it back.
#pragma once

#include <map>
#include <optional>

#include "base/bytes.h"

namespace plait::transport::icl {

class Words {
 public:
  static constexpr size_t kLine = 8;  // words of a cache line: no two endpoints share one

  explicit Words(size_t count) { free_.emplace(0, count); }
  // The first word of a run; nothing: there is no such run.
  std::optional<size_t> take(size_t count) {
    count = round_up(count, kLine);
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      const auto [first, room] = *it;
      if (room < count) continue;
      free_.erase(it);
      if (room > count) free_.emplace(first + count, room - count);
      return first;
    }
    return std::nullopt;
  }
  void give(size_t first, size_t count) {
    count = round_up(count, kLine);
    const auto after = free_.lower_bound(first);
    if (after != free_.end() && after->first == first + count) {
      count += after->second;
      free_.erase(after);
    }
    const auto next = free_.lower_bound(first);
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == first) {
        before->second += count;
        return;
      }
    }
    free_.emplace(first, count);
  }

 private:
  std::map<size_t, size_t> free_;  // first word to length; no two touch
};

}  // namespace plait::transport::icl
