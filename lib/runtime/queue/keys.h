// The keys that ranks have told each other of, and the slot of each: a table that is alike on all ranks, for
// it changes by what all of them hear in the same order. A pure part: no communicator, no clock.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "runtime/queue/tensor.h"

namespace plait::runtime::queue {

struct Told {
  int32_t rank = 0;
  Tensor tensor;
};

class Keys {
 public:
  static constexpr uint32_t kNone = ~uint32_t(0);
  explicit Keys(size_t most) : most_(most) {}

  // kNone where nobody has told of it.
  uint32_t find(uint64_t key) const noexcept {
    const auto it = slots_.find(key);
    return it == slots_.end() ? kNone : it->second;
  }
  uint32_t size() const noexcept { return uint32_t(all_.size()); }
  const Tensor& operator[](uint32_t slot) const noexcept { return all_[slot].tensor; }

  // Takes what ranks told, in the order of ranks. A key is of one kind from when a rank tells of it to
  // settle(): another kind meanwhile is Code::mismatch. After that it may become another, and its slot is
  // among `changed`. Code::invalid: there are too many keys.
  Status merge(std::span<const Told> told, std::vector<uint32_t>* changed);
  // All ranks pushed it alike, and it is about to be summed.
  void settle(uint32_t slot) noexcept { all_[slot].open = false; }

 private:
  struct Slot {
    Tensor tensor;
    int32_t teller;  // the rank that told of this kind first
    bool open;       // not settled
  };
  const size_t most_;
  std::unordered_map<uint64_t, uint32_t> slots_;
  std::vector<Slot> all_;
};

}  // namespace plait::runtime::queue
