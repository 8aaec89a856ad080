// How the machine does an operation on the commons: show, look at all, fold or copy.
#include "collectives/machine/real/commons.h"

#include <sched.h>
#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "collectives/machine/real/descriptor.h"
#include "collectives/machine/real/machine.h"

namespace plait::collectives::real {

using namespace transport;

void Machine::share(Commons* own, bool crowded) {
  common_.own = own;
  common_.crowded = crowded;
  common_.inputs.resize(links_.size());
  common_.outputs.resize(links_.size());
  common_.staged.by.resize(links_.size());
}

// Alike on all ranks: it depends on nothing but the calls so far and what all of them saw.
bool Machine::takes_commons() noexcept {
  if (!call_.common) return false;
  common_.bytes = call_.layout.all_bytes();
  // A pair with a core each: lines that come one by one are faster.
  if (links_.size() == 2 && !common_.crowded && common_.bytes <= kInlineMappedBytes) return false;
  // A root goes on where its values fit lines.
  if (spreads() && common_.bytes <= kCommonBytes) return false;
  if (common_.bytes <= kCommonBytes) return true;
  if (common_.crowded && common_.bytes * links_.size() > kCommonCrowdedBytes) return false;
  uint32_t& pause = common_.pause[spreads()];
  if (pause == 0) return true;
  pause--;
  return false;
}

void Machine::start_common() noexcept {
  const uint32_t turn = ++common_.sequence % kCommonTurns;
  Commons& own = *common_.own;
  Line& line = own.line[turn];
  uint32_t tag = call_.tag;
  common_.number = call_.number;
  common_.small = common_.bytes <= kCommonBytes;
  if (common_.small) {
    std::byte* const to = common_.bytes <= kLinePayload ? line.payload : own.values[turn];
    if (common_.bytes == 8) {  // what latency is measured with
      std::memcpy(to, call_.input.data, 8);
    } else if (common_.bytes > 0) {
      std::memcpy(to, call_.input.data, common_.bytes);
    }
  } else {
    const CommonOffer offer = own_offer();
    std::memcpy(line.payload, &offer, sizeof offer);
    tag |= kDescriptorBit;
    if (common_.crowded) own.turn[turn].taken.store(0, std::memory_order_relaxed);
    turn_round();
    if (!common_.crowded) start_staged();
    if (spreads() && is_root() && call_.output.data != nullptr && call_.output.data != call_.input.data)
      copy_bytes(call_.output.data, call_.input.data, common_.bytes);
  }
  if (common_.crowded) note_core();
  common_.word = line_word(common_.sequence, tag);
  line.word.store(common_.word, std::memory_order_release);
  prefetch_for_write(&own.line[(turn + 1) % kCommonTurns]);
  common_.stage = Common::Stage::gather;
  common_.seen = 1;
  if (!common_.crowded) return wake_all();
  // Nobody looks at the line but who comes last.
  const uint32_t came = first_commons().came.fetch_add(1, std::memory_order_acq_rel) + 1;
  common_.last = came == common_.sequence * uint32_t(links_.size());
}

// Is all that others read of this rank, or write, where they map it?
bool Machine::shares_buffers() const noexcept {
  if (spreads()) return is_root() ? call_.input.shared : call_.output.shared;
  return call_.input.shared && call_.output.shared;
}

CommonOffer Machine::own_offer() noexcept {
  const bool shared = shares_buffers();
  common_.staged.own = !shared && !spreads() && has_stage(call_);
  if (common_.staged.own) return {scratch_.offset, scratch_.offset, 1};
  if (!shared) return {kNotShared, kNotShared, 0};
  if (!spreads()) return {call_.input.offset, call_.output.offset, 0};
  const uint64_t at = is_root() ? call_.input.offset : call_.output.offset;
  return {at, at, 0};
}

// Seldom another one: the line stays with those who read it.
void Machine::note_core() noexcept {
  common_.core = uint32_t(sched_getcpu());
  if (common_.own->core.load(std::memory_order_relaxed) != common_.core)
    common_.own->core.store(common_.core, std::memory_order_relaxed);
}

// Looks at lines of those only that are on this core: the others' are on their way to be written.
bool Machine::awaits_others_cores() noexcept {
  if (common_.stage == Common::Stage::none || !common_.crowded) return false;
  const auto awaits_here = [this](uint32_t distance) {
    const int32_t peer = common_peer(distance);
    return links_[size_t(peer)].commons->core.load(std::memory_order_relaxed) == common_.core &&
           common_awaits(peer);
  };
  if (awaits_here(common_.neighbour)) return false;
  for (uint32_t k = 1; k < links_.size(); k++) {
    if (!awaits_here(k)) continue;
    common_.neighbour = k;
    return false;
  }
  return true;
}

int32_t Machine::ranks_on_core() const noexcept {
  if (common_.sequence == 0 || !common_.crowded) return 0;
  return 1 + int32_t(std::count_if(links_.begin(), links_.end(), [this](const Link& link) {
           return link.commons != nullptr &&
                  link.commons->core.load(std::memory_order_relaxed) == common_.core;
         }));
}

void Machine::wake_all() noexcept {
  for (Link& link : links_)
    if (link.endpoint != nullptr) link.endpoint->notify();
}

bool Machine::step_common() noexcept {
  if (common_.stage == Common::Stage::gather) {
    if (common_.crowded ? !all_came() : !see_all()) return false;
    if (common_.small) {
      if (!common_.crowded) fold_values(call_.output.data);
      if (common_.crowded) take_found();
      return end_common();
    }
    if (!take_offers()) {
      end_common();
      if (!status_.ok()) return true;
      common_.pause[spreads()] = kCommonPause;
      start_program();
      return step();
    }
    moved_ = true;
    common_.stage = common_.staged.any ? Common::Stage::staged : Common::Stage::fold;
    common_.seen = 1;
    if (common_.crowded) {
      common_.seen = 0;
      common_.pieces = 0;
      for (size_t r = 0; r < links_.size(); r++) common_.pieces += common_pieces(r);
    }
  }
  if (common_.stage == Common::Stage::staged) return step_staged() && end_common();
  if (common_.stage == Common::Stage::fold && !(common_.crowded ? fold_pieces() : fold_share())) return false;
  return all_is_made() && end_common();
}

bool Machine::end_common() noexcept {
  common_.stage = Common::Stage::none;
  moved_ = true;
  return true;
}

const Line& Machine::common_line(int32_t rank) const noexcept {
  return (rank == call_.schedule->program.rank ? common_.own : links_[size_t(rank)].commons)
      ->line[common_.sequence % kCommonTurns];
}

// Nearest first, so that not all look at the same rank at once.
bool Machine::see_all() noexcept {
  const uint32_t ranks = uint32_t(links_.size());
  for (; common_.seen < ranks; common_.seen++) {
    if (common_line(common_peer(common_.seen)).word.load(std::memory_order_acquire) != common_.word)
      return false;
  }
  return true;
}

Commons& Machine::first_commons() const noexcept {
  return call_.schedule->program.rank == 0 ? *common_.own : *links_[0].commons;
}

// The last one looks at all lines; it finds none but its own kind, or all wait until somebody tells why not.
bool Machine::all_came() noexcept {
  const std::atomic<uint64_t>& word = first_commons().found[common_.sequence % kCommonTurns].word;
  if (common_.last && word.load(std::memory_order_relaxed) != common_.word) {
    if (!see_all()) return false;
    find_for_all();
  }
  return word.load(std::memory_order_acquire) == common_.word;
}

void Machine::find_for_all() noexcept {
  const uint32_t turn = common_.sequence % kCommonTurns;
  Line& found = first_commons().found[turn];
  if (!common_.small) {
    common_turn().made.store(0, std::memory_order_relaxed);
  } else if (common_.bytes <= kLinePayload) {
    fold_values(found.payload);
  } else {
    // Nobody reads this rank's own any more.
    fold_values(common_.own->values[turn]);
    const int32_t me = call_.schedule->program.rank;
    std::memcpy(found.payload, &me, sizeof me);
  }
  found.word.store(common_.word, std::memory_order_release);
  wake_all();
}

void Machine::take_found() noexcept {
  const uint32_t turn = common_.sequence % kCommonTurns;
  const Line& found = first_commons().found[turn];
  const std::byte* from = found.payload;
  if (common_.bytes > kLinePayload) {
    uint32_t rank;
    std::memcpy(&rank, found.payload, sizeof rank);
    if (rank >= links_.size()) return fail(Code::internal, "a sum is with no rank: please report it");
    from = (int32_t(rank) == call_.schedule->program.rank ? common_.own : links_[rank].commons)->values[turn];
  }
  if (common_.bytes > 0) std::memcpy(call_.output.data, from, common_.bytes);
}

int32_t Machine::common_peer(uint32_t distance) const noexcept {
  const uint32_t to = uint32_t(call_.schedule->program.rank) + distance;
  return int32_t(to < links_.size() ? to : to - uint32_t(links_.size()));
}

void Machine::fold_values(std::byte* output) noexcept {
  if (common_.bytes == 0) return;
  const uint32_t turn = common_.sequence % kCommonTurns;
  for (size_t r = 0; r < links_.size(); r++) {
    const Commons* c = int32_t(r) == call_.schedule->program.rank ? common_.own : links_[r].commons;
    common_.inputs[r] = common_.bytes <= kLinePayload ? c->line[turn].payload : c->values[turn];
  }
  call_.fold({common_.inputs.data(), uint32_t(links_.size()), &output, 1,
              common_.bytes >> call_.layout.element_shift, call_.ranks, Store::plain, kNoOperand, &call_.op});
}

// Where everybody's buffers, or stages, lie. False: somebody has neither.
bool Machine::take_offers() noexcept {
  bool all = true;
  common_.staged.any = common_.staged.own;
  for (size_t r = 0; r < links_.size(); r++) {
    if (int32_t(r) == call_.schedule->program.rank) {
      common_.inputs[r] = call_.input.data;
      common_.outputs[r] = call_.output.data;
      common_.staged.by[r] = false;
      all = all && (common_.staged.own || shares_buffers());
      continue;
    }
    const Link& link = links_[r];
    const Line& line = common_line(int32_t(r));
    // Where the last one to come looked at it for all, nothing but that says so to ThreadSanitizer, which
    // sees one process.
    static_cast<void>(line.word.load(std::memory_order_acquire));
    CommonOffer offer;
    std::memcpy(&offer, line.payload, sizeof offer);
    const bool staged = offer.staged != 0;
    const size_t bytes = staged ? stage_bytes(common_.bytes) : common_.bytes;
    common_.staged.by[r] = staged;
    common_.staged.any = common_.staged.any || staged;
    if (offer.input == kNotShared) {
      all = false;
    } else if (!in_bounds(offer.input, bytes, link.shared_bytes) ||
               !in_bounds(offer.output, bytes, link.shared_bytes)) {
      fail(Code::internal,
           "rank " + std::to_string(r) + " told of buffers outside of its shared memory: please report it");
      return false;
    } else {
      common_.inputs[r] = link.shared + offer.input;
      common_.outputs[r] = link.shared + offer.output;
    }
  }
  return all;
}

bool Machine::common_awaits(int32_t peer) const noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  const Commons& c = *links_[size_t(peer)].commons;
  if (common_.stage == Common::Stage::gather) return common_line(peer).word.load(relaxed) != common_.word;
  if (common_.stage == Common::Stage::staged) return staged_awaits(peer);
  return common_.crowded ? c.busy.load(relaxed) == common_.sequence
                         : c.done.load(relaxed) != common_.sequence;
}

// Whom the operation waits for, one after the other.
int32_t Machine::common_awaited(uint32_t& from) const noexcept {
  for (from = std::max(from, 1u); from < links_.size();) {
    const int32_t peer = common_peer(from++);
    if (common_awaits(peer)) return peer;
  }
  return kLocal;
}

std::string Machine::common_waiting_for() const {
  std::string text;
  uint32_t from = 0;
  for (int named = 0; named < 8; named++) {
    const int32_t peer = common_awaited(from);
    if (peer == kLocal) break;
    text += (text.empty() ? "rank " : ", rank ") + std::to_string(peer);
    text += common_.stage == Common::Stage::gather ? " (to show its values)" : " (folding its share)";
  }
  return text;
}

bool Machine::common_sees_other_call(int32_t* rank) const noexcept {
  if (common_.stage != Common::Stage::gather) return false;
  for (uint32_t k = 1; k < links_.size(); k++) {
    const int32_t peer = common_peer(k);
    const uint64_t word = common_line(peer).word.load(std::memory_order_acquire);
    uint32_t tag;
    // It is in another call on the commons, or sent a message of one.
    if (word == common_.word) continue;
    if (uint32_t(word >> 32) != common_.sequence && !links_[size_t(peer)].mailbox->in(0).peek_tag(&tag)) {
      continue;
    }
    *rank = peer;
    return true;
  }
  return false;
}

}  // namespace plait::collectives::real
