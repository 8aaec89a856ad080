// An allreduce on the commons where somebody's memory is plain: it goes through stages, a piece at a time.
#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "collectives/machine/real/commons.h"
#include "collectives/machine/real/machine.h"

namespace plait::collectives::real {

using namespace transport;

bool Machine::has_stage(const Call& call) const noexcept {
  return !common_.crowded && scratch_.shared && scratch_room_ >= stage_bytes(call.layout.all_bytes());
}

bool Machine::wants_stage(const Call& call) const noexcept {
  return call.common && call.common_root == kLocal && !common_.crowded &&
         !(call.input.shared && call.output.shared);
}

// The first piece is in the stage before this rank shows that it came: nobody asks for it by itself.
void Machine::start_staged() noexcept {
  Common::Staged& s = common_.staged;
  s.piece_bytes = stage_piece(common_.bytes);
  s.pieces = uint32_t((common_.bytes + s.piece_bytes - 1) / s.piece_bytes);
  s.filled = s.folded = s.emptied = 0;
  s.seen_filled = s.seen_folded = 1;
  roomy_ = roomy_ || s.own;
  if (s.own) fill_stage(0);
}

// Did all others come as far as `mine`? `seen`: of those asked one after the other, who is next.
bool Machine::all_staged(std::atomic<uint32_t> Commons::*count, uint32_t mine, uint32_t& seen) noexcept {
  for (; seen < links_.size(); seen++) {
    const Commons& peer = *links_[size_t(common_peer(seen))].commons;
    if (int32_t((peer.*count).load(std::memory_order_acquire) - mine) < 0) return false;
  }
  seen = 1;
  return true;
}

// What can be done, once. Filling comes first: what is in a stage is what others can work on; then folding,
// for the same reason.
bool Machine::step_staged() noexcept {
  Common::Staged& s = common_.staged;
  if (s.filled < s.pieces && s.filled < s.emptied + kStagePieces) {
    if (s.own && s.filled > 0) fill_stage(s.filled);
    s.filled++;
    common_.own->filled.store(s.base + s.filled, std::memory_order_release);
    if (s.filled > 1) wake_all();
  } else if (s.folded < s.filled && may_fold_staged()) {
    fold_staged(s.folded++);
    common_.own->folded.store(s.base + s.folded, std::memory_order_release);
    wake_all();
  } else if (s.emptied < s.folded && all_staged(&Commons::folded, s.base + s.emptied + 1, s.seen_folded)) {
    if (s.own) empty_stage(s.emptied);
    s.emptied++;
  } else {
    return false;
  }
  moved_ = true;
  if (s.emptied < s.pieces) return false;
  s.base += s.pieces;
  return true;
}

// That all have filled the first piece was seen with their lines.
bool Machine::may_fold_staged() noexcept {
  Common::Staged& s = common_.staged;
  return s.folded == 0 || all_staged(&Commons::filled, s.base + s.folded + 1, s.seen_filled);
}

// Of a piece of so many bytes, what rank `rank` folds.
std::pair<size_t, size_t> Machine::share_of(size_t rank, size_t bytes) const noexcept {
  const size_t share = round_up((bytes + links_.size() - 1) / links_.size(), kGranuleBytes);
  const size_t begin = std::min(rank * share, bytes);
  return {begin, std::min(begin + share, bytes)};
}

size_t Machine::staged_at(uint32_t piece) const noexcept {
  return common_.staged.piece_bytes * (common_.backwards ? common_.staged.pieces - 1 - piece : piece);
}

size_t Machine::staged_bytes(uint32_t piece) const noexcept {
  return std::min(common_.staged.piece_bytes, common_.bytes - staged_at(piece));
}

// All but what this rank folds: that is read, and stored, where it lies.
void Machine::fill_stage(uint32_t piece) noexcept {
  std::byte* const to = scratch_.data + piece % kStagePieces * common_.staged.piece_bytes;
  const std::byte* const from = call_.input.data + staged_at(piece);
  const size_t bytes = staged_bytes(piece);
  const auto [begin, end] = share_of(size_t(call_.schedule->program.rank), bytes);
  if (begin > 0) copy_bytes(to, from, begin);
  if (end < bytes) copy_bytes(to + end, from + end, bytes - end);
}

void Machine::empty_stage(uint32_t piece) noexcept {
  const std::byte* const from = scratch_.data + piece % kStagePieces * common_.staged.piece_bytes;
  std::byte* const to = call_.output.data + staged_at(piece);
  const size_t bytes = staged_bytes(piece);
  const auto [begin, end] = share_of(size_t(call_.schedule->program.rank), bytes);
  const bool past_cache = call_.store == Store::past_cache;
  const auto copy = past_cache ? copy_past_cache : copy_bytes;
  if (begin > 0) copy(to, from, begin);
  if (end < bytes) copy(to + end, from + end, bytes - end);
  if (past_cache) end_past_cache();
}

// A stage holds the pieces one after the other, over and over; memory of plait all that the vector has.
void Machine::fold_staged(uint32_t piece) noexcept {
  const std::byte* inputs[kMaxOperands];
  std::byte* outputs[kMaxOperands];
  const auto ranks = uint32_t(links_.size());
  const auto [begin, end] = share_of(size_t(call_.schedule->program.rank), staged_bytes(piece));
  if (begin == end) return;
  const size_t in_stage = piece % kStagePieces * common_.staged.piece_bytes + begin,
               in_vector = staged_at(piece) + begin;
  uint32_t stages = 0, vectors = ranks;  // first come those that stay in the cache
  for (uint32_t r = 0; r < ranks; r++) {
    const bool staged = common_.staged.by[r];
    const size_t at = staged ? in_stage : in_vector;
    inputs[r] = common_.inputs[r] + at;
    outputs[staged ? stages++ : --vectors] = common_.outputs[r] + at;
  }
  const Store store = call_.store == Store::past_cache ? Store::past_cache : Store::plain;
  call_.fold({inputs, ranks, outputs, ranks, (end - begin) >> call_.layout.element_shift, call_.ranks, store,
              kNoOperand, &call_.op, stages});
}

bool Machine::staged_awaits(int32_t peer) const noexcept {
  const Common::Staged& s = common_.staged;
  const Commons& c = *links_[size_t(peer)].commons;
  const auto behind = [](const std::atomic<uint32_t>& count, uint32_t mine) {
    return int32_t(count.load(std::memory_order_relaxed) - mine) < 0;
  };
  return (s.folded < s.filled && s.folded > 0 && behind(c.filled, s.base + s.folded + 1)) ||
         (s.emptied < s.folded && behind(c.folded, s.base + s.emptied + 1));
}

}  // namespace plait::collectives::real
