#include "runtime/queue/line.h"

#include <algorithm>

namespace plait::runtime::queue {

bool Line::Entry::before(const Entry& other) const noexcept {
  if (tensor.priority != other.tensor.priority) return tensor.priority > other.tensor.priority;
  if (round != other.round) return round < other.round;
  return slot < other.slot;
}

void Line::add(uint32_t slot, const Tensor& tensor) {
  entries_.push_back({tensor, slot, round_, 0, false});
  left_++;
  bytes_ += tensor.bytes();
}

void Line::close_round() {
  round_++;
  std::erase_if(entries_, [](const Entry& e) { return e.gone; });
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.before(b); });
  first_ = 0;
}

void Line::take(const Sizes& sizes, Batch* batch) {
  for (uint64_t bytes = 0; left_ > 0 && (bytes == 0 || bytes < sizes.window / 2);) {
    while (entries_[first_].gone) first_++;
    const Entry& next = entries_[first_];
    if (next.taken == 0 && next.tensor.bytes() <= sizes.fuse) {
      take_fused(sizes, batch);
    } else {
      take_piece(sizes, batch);
    }
    bytes += std::max<uint64_t>(batch->work.back().bytes, 1);
  }
}

void Line::leave(Entry& entry) noexcept {
  entry.gone = true;
  left_--;
}

// The next one, and those behind it that are of its kind and fit in.
void Line::take_fused(const Sizes& sizes, Batch* batch) {
  const Tensor kind = entries_[first_].tensor;
  Work work{.first = uint32_t(batch->slots.size()), .dtype = kind.dtype, .op = kind.op};
  for (size_t i = first_; i < entries_.size() && work.bytes < sizes.fuse; i++) {
    Entry& e = entries_[i];
    const bool fits = !e.gone && e.taken == 0 && e.tensor.dtype == kind.dtype && e.tensor.op == kind.op &&
                      e.tensor.bytes() <= sizes.fuse - work.bytes;
    if (!fits) continue;
    batch->slots.push_back(e.slot);
    work.tensors++;
    work.count += e.tensor.count;
    work.bytes += e.tensor.bytes();
    leave(e);
  }
  bytes_ -= work.bytes;
  batch->work.push_back(work);
}

// What is left of a tensor goes with its last piece, where it is short.
void Line::take_piece(const Sizes& sizes, Batch* batch) {
  Entry& e = entries_[first_];
  const uint64_t chunk = std::max<uint64_t>(sizes.chunk / e.tensor.element(), 1);
  const uint64_t rest = e.tensor.count - e.taken;
  const uint64_t count = rest <= chunk + chunk / 4 ? rest : chunk;
  batch->work.push_back({.first = uint32_t(batch->slots.size()),
                         .tensors = 1,
                         .offset = e.taken,
                         .count = count,
                         .dtype = e.tensor.dtype,
                         .op = e.tensor.op,
                         .bytes = count * e.tensor.element()});
  batch->slots.push_back(e.slot);
  e.taken += count;
  bytes_ -= count * e.tensor.element();
  if (count == rest) leave(e);
}

}  // namespace plait::runtime::queue
