// Which parts of a pool are free: by best fit, merged with their neighbours. Offsets into the pool.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace plait::transport::shm {

class FreeRanges {
 public:
  // `bytes` of them at a multiple of `align`, which are free no more. Nothing: no range has them.
  std::optional<size_t> take(size_t bytes, size_t align);
  // They are free now, and were not.
  void give(size_t offset, size_t bytes);

 private:
  using Range = std::map<size_t, size_t>::const_iterator;
  Range find(size_t bytes, size_t align) const;
  void add(size_t offset, size_t bytes);
  void remove(Range range);

  std::map<size_t, size_t> ranges_;              // offset → bytes, never adjacent
  std::set<std::pair<size_t, size_t>> by_size_;  // the same as (bytes, offset)
};

}  // namespace plait::transport::shm
