// The places of a rank as MSCCL has them, numbered 0..count-1, and where plait puts what they hold.
#pragma once

#include <cstdint>

#include "collectives/exchange/msccl_file.h"

namespace plait::collectives::exchange::msccl {

// First the slots of the output, in place also those of the input; then scratch; then, out of place, the
// input.
class Places {
 public:
  Places(const File& file, uint32_t rank, bool in_place) noexcept
      : collective_(file.collective),
        ranks_(uint32_t(file.gpus.size())),
        rank_(rank),
        chunks_(file.chunks),
        scratch_(file.gpus[rank].scratch),
        in_place_(in_place),
        input_(input_of(collective_, int(ranks_), int(rank), file.root, chunks_)),
        output_(output_of(collective_, int(ranks_), int(rank), file.root, chunks_)) {}

  uint32_t count() const noexcept { return chunks_ + scratch_ + (in_place_ ? 0 : chunks_); }
  // The place that `spot` begins at; further ones follow.
  uint32_t at(Spot spot) const noexcept {
    if (spot.area == Area::scratch) return chunks_ + spot.offset;
    if (spot.area == Area::output) return output_.first + spot.offset;
    return input_at() + input_.first + spot.offset;
  }
  // Calls f(place, chunk, slot) for each input of the call.
  template <class F>
  void each_input(F f) const {
    for (uint32_t c = input_.first; c < input_.end(); c++) {
      const uint32_t slot = slot_of(collective_, Buffer::input, ranks_, rank_, c);
      f(input_at() + slot, c, slot);
    }
  }
  // Whether a place is that of output `chunk`; then its slot is the place.
  bool is_output(uint32_t at, uint32_t chunk) const noexcept {
    return chunk >= output_.first && chunk < output_.end() &&
           at == slot_of(collective_, Buffer::output, ranks_, rank_, chunk);
  }
  bool is_scratch(uint32_t at) const noexcept { return at >= chunks_ && at < chunks_ + scratch_; }
  uint32_t scratch_slot(uint32_t at) const noexcept { return at - chunks_; }

 private:
  uint32_t input_at() const noexcept { return in_place_ ? 0 : chunks_ + scratch_; }

  Collective collective_;
  uint32_t ranks_, rank_, chunks_, scratch_;
  bool in_place_;
  Range input_, output_;
};

}  // namespace plait::collectives::exchange::msccl
