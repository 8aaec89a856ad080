// Places of one program as numbers 0..count-1, so that what is known of each place fits a vector.
#pragma once

#include "collectives/program.h"

namespace plait::collectives {

// No step, no slot, no entry of a list, where its index is kept.
constexpr uint32_t kNoIndex = UINT32_MAX;

// In place, input and output are the same cells (rule 3). Nothing here checks bounds.
class Cells {
 public:
  explicit Cells(const Program& p) noexcept
      : chunks_(p.chunks),
        wires_at_(p.chunks + p.scratch),
        input_at_(p.in_place ? 0 : wires_at_ + p.wires),
        count_(wires_at_ + p.wires + (p.in_place ? 0 : p.chunks)) {}

  uint32_t count() const noexcept { return count_; }
  // The cell of slot 0 of `place`; those of further slots follow. place.in() is not Buffer::none.
  uint32_t at(Place place) const noexcept {
    switch (place.in()) {
      case Buffer::input:
        return input_at_ + place.slot;
      case Buffer::scratch:
        return chunks_ + place.slot;
      case Buffer::wire:
        return wires_at_ + place.slot;
      default:
        return place.slot;
    }
  }

 private:
  uint32_t chunks_, wires_at_, input_at_, count_;
};

// How many slots a buffer has.
constexpr uint32_t slots_of(const Program& p, Buffer buffer) noexcept {
  switch (buffer) {
    case Buffer::input:
    case Buffer::output:
      return p.chunks;
    case Buffer::scratch:
      return p.scratch;
    case Buffer::wire:
      return p.wires;
    case Buffer::none:
      break;
  }
  return 0;
}

// Calls f(place) for each place that the step reads.
template <class F>
void each_read(const Step& step, F f) {
  if (step.src.in() != Buffer::none) f(step.src);
  if (step.src2.in() != Buffer::none) f(step.src2);
}

// The step after the message that begins at `step`; of other steps, the next one.
inline uint32_t message_end(const Program& p, uint32_t step) noexcept {
  while (p.steps[step].flags & kMore) step++;
  return step + 1;
}

}  // namespace plait::collectives
