// Two ranks on the commons whose call is like an earlier one in the same buffers: one offers what it offered,
// sees that the peer does, and folds. The machine knows of it when the peer lets it wait, or offers something
// else: then it goes on from there.
#include <cstring>

#include "base/wait.h"
#include "collectives/machine/real/descriptor.h"
#include "collectives/machine/real/machine.h"

namespace plait::collectives::real {

using namespace transport;

namespace {

// Is it not what it is to be, however often one looks? The first looks have no pause, which may take longer
// than a line to the other core.
template <class Word, class Value>
bool stays_other(const Word& word, Value awaited, uint32_t looks) noexcept {
  constexpr uint32_t kEagerLooks = 4;
  for (uint32_t look = 0; look < looks; look++) {
    if (word.load(std::memory_order_acquire) == awaited) return false;
    if (look >= kEagerLooks) cpu_relax();
  }
  return true;
}

}  // namespace

void Machine::note_pair(CommonPair& pair, const void* in, const void* out) const noexcept {
  pair.made = false;
  if (common_.number != call_.number || links_.size() != 2 || common_.crowded || common_.small ||
      common_.staged.any || spreads() || !shares_buffers())
    return;
  const auto rank = size_t(call_.schedule->program.rank);
  const auto [begin, end] = common_share(rank);
  if (begin == end || end - begin > kCommonStride) return;
  std::memcpy(&pair.theirs, common_line(int32_t(1 - rank)).payload, sizeof pair.theirs);
  if (pair.theirs.input == kNotShared || pair.theirs.staged != 0) return;  // it ended in another way
  pair.own = {call_.input.offset, call_.output.offset, 0};
  for (size_t r = 0; r < 2; r++) {
    pair.inputs[r] = common_.inputs[r] + begin;
    pair.outputs[r] = common_.outputs[r] + begin;
  }
  pair.work = {nullptr,     2,           nullptr,    2,      (end - begin) >> call_.layout.element_shift,
               call_.ranks, call_.store, kNoOperand, nullptr};
  pair.work.down = rank == 0;  // as in fold_common()
  pair.in = in;
  pair.out = out;
  pair.made = true;
}

bool Machine::show_pair(const CommonPair& pair, uint32_t tag) noexcept {
  if (common_.pause[0] != 0) return false;
  const uint32_t turn = ++common_.sequence % kCommonTurns;
  Line& line = common_.own->line[turn];
  std::memcpy(line.payload, &pair.own, sizeof pair.own);
  common_.word = line_word(common_.sequence, tag | kDescriptorBit);
  line.word.store(common_.word, std::memory_order_release);
  prefetch_for_write(&common_.own->line[(turn + 1) % kCommonTurns]);
  pair_peer().endpoint->notify();
  turn_round();
  common_.stage = Common::Stage::gather;
  return true;
}

bool Machine::run_pair(const CommonPair& pair, FoldKernel fold, const Operator* op, uint32_t looks) noexcept {
  const Link& peer = pair_peer();
  const Line& line = peer.commons->line[common_.sequence % kCommonTurns];
  if (stays_other(line.word, common_.word, looks)) return false;
  if (std::memcmp(line.payload, &pair.theirs, sizeof pair.theirs) != 0) return false;
  Fold work = pair.work;
  work.inputs = pair.inputs;
  work.outputs = pair.outputs;
  work.op = op;
  fold(work);
  common_.own->done.store(common_.sequence, std::memory_order_release);
  peer.endpoint->notify();
  common_.stage = Common::Stage::drain;
  return !stays_other(peer.commons->done, common_.sequence, looks) && end_common();
}

void Machine::resume_pair() noexcept {
  if (!status_.ok()) status_ = Status();
  is_volley_ = is_mapped_volley_ = false;
  common_.bytes = call_.layout.all_bytes();
  common_.small = false;
  common_.staged.own = false;
  common_.seen = 1;
  if (common_.stage == Common::Stage::gather) start_staged();
}

}  // namespace plait::collectives::real
