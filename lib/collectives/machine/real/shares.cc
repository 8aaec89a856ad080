// Who does which part of an operation on the commons: each rank its share, or whoever runs pieces of those of
// its core.
#include <algorithm>

#include "base/copy.h"
#include "collectives/machine/real/machine.h"

namespace plait::collectives::real {

using namespace transport;

// A part of what the root has, to all others: each rank does its share of the copying.
void Machine::spread_common(size_t from, size_t bytes) noexcept {
  std::byte* outputs[kMaxOperands];
  uint32_t count = 0;
  for (size_t r = 0; r < links_.size(); r++) {
    if (int32_t(r) != call_.common_root) outputs[count++] = common_.outputs[r] + from;
  }
  const Store store = call_.store == Store::past_cache ? Store::past_cache : Store::prefetch;
  copy_to_all(common_.inputs[size_t(call_.common_root)] + from, outputs, count, bytes, store);
}

void Machine::fold_common(size_t from, size_t bytes) noexcept {
  if (spreads()) return spread_common(from, bytes);
  const std::byte* inputs[kMaxOperands];
  std::byte* outputs[kMaxOperands];
  const auto ranks = uint32_t(links_.size());
  for (uint32_t r = 0; r < ranks; r++) {
    inputs[r] = common_.inputs[r] + from;
    outputs[r] = common_.outputs[r] + from;
  }
  Fold fold{inputs,      ranks,       outputs,    ranks,    bytes >> call_.layout.element_shift,
            call_.ranks, call_.store, kNoOperand, &call_.op};
  // A core fetches lines beyond those that it reads one after the other. The first share is folded away from
  // the next one, whose lines these would be: its rank would have to fetch them back.
  fold.down = call_.schedule->program.rank == 0;
  call_.fold(fold);
}

std::pair<size_t, size_t> Machine::common_share(size_t rank) const noexcept {
  return share_of(rank, common_.bytes);
}

// Each large vector is gone through the other way round than the one before, on all ranks: what is in the
// caches after one end was reached is that end, and who began at the other would throw it out unread.
void Machine::turn_round() noexcept {
  common_.backwards = !common_.backwards;
  common_.stride = 0;
}

// This rank's share, a stride at a time. False: there is more.
bool Machine::fold_share() noexcept {
  const auto [begin, end] = common_share(size_t(call_.schedule->program.rank));
  const auto strides = uint32_t((end - begin + kCommonStride - 1) / kCommonStride);
  moved_ = true;
  if (common_.stride < strides) {
    const uint32_t k = common_.backwards ? strides - 1 - common_.stride : common_.stride;
    const size_t from = begin + k * kCommonStride;
    fold_common(from, std::min(kCommonStride, end - from));
    if (++common_.stride < strides) return false;
  }
  common_.own->done.store(common_.sequence, std::memory_order_release);
  wake_all();
  common_.stage = Common::Stage::drain;
  common_.seen = 1;
  return true;
}

uint32_t Machine::common_pieces(size_t rank) const noexcept {
  const auto [begin, end] = common_share(rank);
  return uint32_t((end - begin + kCommonPiece - 1) / kCommonPiece);
}

// A piece of this rank's share, or of one of those on its core: what a core folds again and again stays in
// its cache. False: there may be more.
bool Machine::fold_pieces() noexcept {
  const uint32_t turn = common_.sequence % kCommonTurns;
  moved_ = true;
  for (; common_.seen < links_.size(); common_.seen++) {
    const auto rank = size_t(common_peer(common_.seen));
    Commons& of = common_.seen == 0 ? *common_.own : *links_[rank].commons;
    if (common_.seen > 0 && of.core.load(std::memory_order_relaxed) != common_.core) continue;
    const uint32_t pieces = common_pieces(rank);
    if (of.turn[turn].taken.load(std::memory_order_relaxed) >= pieces) continue;
    common_.own->busy.store(common_.sequence, std::memory_order_relaxed);
    const uint32_t piece = of.turn[turn].taken.fetch_add(1, std::memory_order_relaxed);
    if (piece >= pieces) continue;
    const auto [begin, end] = common_share(rank);
    const size_t from = begin + size_t(piece) * kCommonPiece;
    fold_common(from, std::min(kCommonPiece, end - from));
    if (common_turn().made.fetch_add(1, std::memory_order_acq_rel) + 1 == common_.pieces) wake_all();
    return false;
  }
  common_.own->busy.store(0, std::memory_order_relaxed);
  common_.stage = Common::Stage::drain;
  return true;
}

bool Machine::all_is_made() noexcept {
  if (common_.crowded) return common_turn().made.load(std::memory_order_acquire) == common_.pieces;
  for (; common_.seen < links_.size(); common_.seen++) {
    const Commons& peer = *links_[size_t(common_peer(common_.seen))].commons;
    if (peer.done.load(std::memory_order_acquire) != common_.sequence) return false;
  }
  return true;
}

}  // namespace plait::collectives::real
