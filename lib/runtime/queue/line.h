// The tensors that all ranks have pushed, in the order in which they are to be summed, and what is taken of
// them next: fused, whole or in pieces. Every rank adds and takes the same, so all of them get the same
// operations. A pure part: no communicator, no clock.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/queue/tensor.h"

namespace plait::runtime::queue {

// Alike on all ranks.
struct Sizes {
  uint64_t fuse = 0;    // tensors of at most this many bytes share an operation of at most as many
  uint64_t chunk = 0;   // about what larger ones are cut into
  uint64_t window = 0;  // what is taken at a time: two of these halves are under way
};

// One operation.
struct Work {
  uint32_t first = 0, tensors = 0;  // of Batch::slots; more than one: fused, all of each
  uint64_t offset = 0, count = 0;   // elements; of one tensor, or of all of them together
  int32_t dtype = 0, op = 0;
  uint64_t bytes = 0;
};

struct Batch {
  std::vector<Work> work;
  std::vector<uint32_t> slots;
  void clear() noexcept {
    work.clear();
    slots.clear();
  }
};

class Line {
 public:
  // All ranks have pushed it, as is known since the last close_round().
  void add(uint32_t slot, const Tensor& tensor);
  // Those added are behind those of earlier rounds that have the same priority.
  void close_round();
  bool empty() const noexcept { return left_ == 0; }
  uint64_t bytes() const noexcept { return bytes_; }
  // Takes about half a window, at least one operation unless the line is empty, and adds it to `batch`.
  void take(const Sizes& sizes, Batch* batch);

 private:
  struct Entry {
    Tensor tensor;
    uint32_t slot;
    uint64_t round;
    uint64_t taken;  // elements
    bool gone;
    bool before(const Entry& other) const noexcept;
  };
  void take_fused(const Sizes& sizes, Batch* batch);
  void take_piece(const Sizes& sizes, Batch* batch);
  void leave(Entry& entry) noexcept;

  std::vector<Entry> entries_;  // in order, but for those of the open round; from first_ on
  size_t first_ = 0;
  size_t left_ = 0;
  uint64_t bytes_ = 0;  // not taken
  uint64_t round_ = 0;
};

}  // namespace plait::runtime::queue
