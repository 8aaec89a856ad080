#include "transport/shm/free_ranges.h"

#include <iterator>

#include "base/bytes.h"

namespace plait::transport::shm {

std::optional<size_t> FreeRanges::take(size_t bytes, size_t align) {
  const Range range = find(bytes, align);
  if (range == ranges_.end()) return std::nullopt;
  const size_t begin = range->first, end = begin + range->second, offset = round_up(begin, align);
  remove(range);
  if (offset != begin) add(begin, offset - begin);
  if (end != offset + bytes) add(offset + bytes, end - offset - bytes);
  return offset;
}

// A range of bytes + align fits at any alignment, so the search of those below ends soon, with a bound.
FreeRanges::Range FreeRanges::find(size_t bytes, size_t align) const {
  constexpr int kTries = 16;
  int tries = 0;
  auto range = by_size_.lower_bound({bytes, 0});
  while (range != by_size_.end() && round_up(range->second, align) + bytes > range->second + range->first) {
    range = ++tries < kTries ? std::next(range) : by_size_.lower_bound({bytes + align, 0});
  }
  return range == by_size_.end() ? ranges_.end() : ranges_.find(range->second);
}

void FreeRanges::give(size_t offset, size_t bytes) {
  auto next = ranges_.lower_bound(offset);
  if (next != ranges_.end() && next->first == offset + bytes) {
    bytes += next->second;
    remove(next++);
  }
  if (next != ranges_.begin()) {
    if (const auto before = std::prev(next); before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      remove(before);
    }
  }
  add(offset, bytes);
}

void FreeRanges::add(size_t offset, size_t bytes) {
  ranges_[offset] = bytes;
  by_size_.emplace(bytes, offset);
}

void FreeRanges::remove(Range range) {
  by_size_.erase({range->second, range->first});
  ranges_.erase(range);
}

}  // namespace plait::transport::shm
