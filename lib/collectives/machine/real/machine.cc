#include "collectives/machine/real/machine.h"

#include <algorithm>
#include <cstring>

#include "base/pages.h"
#include "collectives/machine/real/descriptor.h"

namespace plait::collectives::real {

using transport::kStreams;

namespace {
constexpr size_t kRestingScratch = 64 * 1024;  // rest() leaves as much
}  // namespace

Status Machine::prepare(const Call& call) {
  const Schedule& s = *call.schedule;
  if (s.lanes > kStreams) {
    return {Code::unsupported, "the program uses " + std::to_string(s.lanes) + " lanes, a link has " +
                                   std::to_string(kStreams) + " streams"};
  }
  const size_t all_windows = kStreams / s.lanes;
  const size_t windows = std::clamp<size_t>(call.layout.segments, 1, all_windows);
  const size_t slot = round_up(call.layout.largest_segment_bytes(), kGranuleBytes);
  const uint64_t most = call.layout.largest_segment_bytes() / call.layout.element_bytes;
  const size_t wire = call.codec == nullptr ? 0 : wire_slot_bytes(*call.codec, most);
  const size_t scratch = std::max((slot * s.scratch + wire * s.program.wires) * windows,
                                  wants_stage(call) ? stage_bytes(call.layout.all_bytes()) : 0);
  if (scratch > scratch_room_) {
    scratch_room_ = 0;
    scratch_ = allocate_(context_, scratch);
    if (scratch_.data == nullptr)
      return {Code::memory, "no " + std::to_string(scratch) + " bytes of scratch memory"};
    scratch_room_ = scratch;
  }
  auto grow = [](auto& vector, size_t size) {
    if (vector.size() < size) vector.resize(size);
  };
  grow(window_, windows);
  grow(runs_, windows * s.actions.size());
  grow(waits_, windows * s.actions.size());
  grow(active_, windows * s.actions.size());
  grow(arrivals_, windows * s.sources.size());
  if (call.volley != nullptr) {
    call.volley->sends.reserve(s.round.size());
    call.volley->folds.reserve(s.round.size());
    call.volley->operands.reserve(s.sources.size());
  }
  const size_t gather = windows * s.sources.size() * kGatherBytes;
  if (gather > gather_.size()) {
    gather_ = map_pages(gather);
    if (!gather_) return {Code::memory, "no " + std::to_string(gather) + " bytes to gather messages in"};
  }
  grow(ordinals_, links_.size() * kStreams);
  const size_t work = call.codec == nullptr ? 0 : round_up(call.codec->work_bytes(size_t(most)), 64) + slot;
  if (work > work_.size()) {
    work_ = map_pages(work);
    if (!work_) return {Code::memory, "no " + std::to_string(work) + " bytes for a codec to work in"};
  }
  ready_for_ = &s;
  ready_codec_ = call.codec;
  ready_bytes_ = call.layout.largest_segment_bytes();
  ready_segments_ = windows == all_windows ? UINT32_MAX : uint32_t(windows);
  return {};
}

void Machine::rest() noexcept {
  if (bounce_) drop_pages(bounce_.data(), bounce_.size());
  if (gather_) drop_pages(gather_.data(), gather_.size());
  if (work_) drop_pages(work_.data(), work_.size());
  if (scratch_room_ <= kRestingScratch) return;
  (void)allocate_(context_, 0);
  scratch_ = {};
  scratch_room_ = 0;
  ready_for_ = nullptr;
}

void Machine::start() noexcept {
  if (!status_.ok()) status_ = Status();
  const bool made = call_.volley != nullptr && call_.volley->made;
  is_volley_ = made && !call_.volley->mapped;
  if (is_volley_) return start_volley();
  const bool on_commons = takes_commons();  // counted alike on all ranks, volley or not
  is_mapped_volley_ = made && !on_commons && lies_mapped();
  if (is_mapped_volley_) return start_volley();
  on_commons ? start_common() : start_program();
}

void Machine::start_program() noexcept {
  if (!take_program()) return;
  const Schedule& s = *call_.schedule;
  round_ = !s.round.empty() && call_.layout.segments == 1 && !call_.layout.uneven &&
           call_.layout.largest_segment_bytes() <= (call_.network ? kInlineNetworkBytes : kInlineMappedBytes);
  if (round_) {
    is_volley_ = make_volley(false);
    return is_volley_ ? start_volley() : start_round();
  }
  is_mapped_volley_ = maps_round() && make_volley(true);
  is_mapped_volley_ ? start_volley() : start_actions();
}

// False: it does not fit the call, and status() says so.
bool Machine::take_program() noexcept {
  const Schedule& s = *call_.schedule;
  actions_ = uint32_t(s.actions.size());
  windows_ = s.lanes == 1 ? kStreams : kStreams / s.lanes;
  scratch_slot_ = round_up(call_.layout.largest_segment_bytes(), kGranuleBytes);
  pulls_ = 0;
  if (s.joined || call_.layout.uneven) [[unlikely]] {
    if (!fits_program()) return false;
    // Chunks of one step lie side by side in scratch, too.
    if (s.joined) scratch_slot_ = call_.layout.largest_segment_bytes();
  }
  if (call_.codec != nullptr) {
    wires_at_ = std::min(windows_, call_.layout.segments) * size_t(s.scratch) * scratch_slot_;
    const size_t most = call_.layout.largest_segment_bytes() / call_.layout.element_bytes;
    wire_slot_ = wire_slot_bytes(*call_.codec, most);
    spare_ = round_up(call_.codec->work_bytes(most), 64);
  }
  return true;
}

void Machine::start_actions() noexcept {
  const Schedule& s = *call_.schedule;
  roomy_ =
      roomy_ || call_.layout.segments > 1 || (s.scratch != 0 && scratch_slot_ * s.scratch > kRestingScratch);
  active_count_ = 0;
  segments_left_ = call_.layout.segments;
  if (actions_ == 0) segments_left_ = 0;
  const uint32_t first = std::min(windows_, segments_left_);
  for (uint32_t w = 0; w < first; w++) begin_segment(w, w);
}

void Machine::begin_segment(uint32_t w, uint32_t segment) noexcept {
  const Schedule& s = *call_.schedule;
  window_[w] = {segment, actions_, 0};
  std::fill_n(&runs_[w * actions_], actions_, Run{});
  std::fill_n(arrivals_.begin() + ptrdiff_t(w * s.sources.size()), s.sources.size(), Arrival{});
  for (uint32_t a = 0; a < actions_; a++) waits_[w * actions_ + a] = s.actions[a].waits;
  for (int32_t peer : s.peers) {
    for (uint32_t lane = 0; lane < s.lanes; lane++) ordinals(peer, stream_of(uint16_t(lane), w)) = {};
  }
  for (uint32_t a : s.roots) active_[active_count_++] = {w, a};
}

bool Machine::step() noexcept {
  moved_ = false;
  if (!status_.ok()) return true;
  if (is_volley_) return step_volley();
  if (is_mapped_volley_) return step_mapped();
  if (common_.stage != Common::Stage::none) return step_common();
  return round_ ? step_round() : step_actions();
}

bool Machine::step_actions() noexcept {
  bool again = true;
  while (again && segments_left_ > 0) {
    again = false;
    for (uint32_t i = 0; i < active_count_;) {
      const Enabled e = active_[i];
      const Turn turn = run(e.w, e.action);
      if (!status_.ok()) return true;
      if (turn == Turn::done) {
        std::copy(active_.begin() + i + 1, active_.begin() + active_count_, active_.begin() + i);
        active_count_--;
        complete(e.w, e.action);
        again = true;
      } else {
        again = again || turn == Turn::moved;
        i++;
      }
    }
    moved_ = moved_ || again;
  }
  if (segments_left_ != 0) return false;
  if (call_.network) recall();
  return true;
}

// All that was wanted has come. A peer whose messages were others than agreed may have left something.
void Machine::recall() noexcept {
  for (int32_t peer : call_.schedule->peers) links_[size_t(peer)].mailbox->recall();
}

void Machine::complete(uint32_t w, uint32_t action) noexcept {
  const Schedule& s = *call_.schedule;
  const Action& a = s.actions[action];
  const uint64_t fused = run_of(w, action).fused, sourced = run_of(w, action).sourced;
  window_[w].left--;
  for (uint32_t k = 0; k < a.nexts; k++) {
    const uint32_t to = s.next[a.first_next + k];
    if (--waits_[w * actions_ + to] == 0) active_[active_count_++] = {w, to};
  }
  // Sends served in the same pass are done, too, never having been started; but what the transport still
  // reads is not to be written yet.
  for (uint32_t k = 0; k < a.fused && fused != 0; k++) {
    if ((fused >> k & 1) == 0) continue;
    const uint32_t send = s.fused[a.first_fused + k];
    const Action& b = s.actions[send];
    if ((sourced >> k & 1) != 0 &&
        !links_[size_t(b.peer)].mailbox->out(stream_of(b.lane, w)).sources_free()) {
      run_of(w, send).phase = Phase::drained;
      continue;
    }
    auto* end = active_.data() + active_count_;
    auto* at = std::find(active_.data(), end, Enabled{w, send});
    std::copy(at + 1, end, at);
    active_count_--;
    complete(w, send);
  }
  if (window_[w].left != 0) return;
  window_[w].left = ~0u;  // once
  segments_left_--;
  // Segment s runs in window s % windows on every rank: windows have streams of their own, and finish in
  // another order on each rank.
  const uint32_t next = window_[w].segment + windows_;
  if (next < call_.layout.segments) begin_segment(w, next);
}

Machine::Turn Machine::run(uint32_t w, uint32_t action) noexcept {
  const Kind kind = call_.schedule->actions[action].kind;
  if (kind >= Kind::encode) [[unlikely]]
    return run_codec(w, action);
  return kind == Kind::send ? run_send(w, action) : run_fold(w, action);
}

size_t Machine::offset_of(Place p, uint32_t w) const noexcept {
  if (p.in() == Buffer::scratch) return (size_t(w) * call_.schedule->scratch + p.slot) * scratch_slot_;
  if (p.in() == Buffer::wire)
    return wires_at_ + (size_t(w) * call_.schedule->program.wires + p.slot) * wire_slot_ + kWireOffset;
  return call_.layout.offset(p, window_[w].segment);
}

void Machine::fail(Code code, std::string text) noexcept {
  if (status_.ok()) status_ = Status(code, std::move(text));
}

int32_t Machine::peer_awaited(const Enabled& e) const noexcept {
  const Schedule& s = *call_.schedule;
  const Action& a = s.actions[e.action];
  if (a.kind == Kind::send) return a.peer;
  int32_t peer = kLocal;
  for (uint32_t k = runs_[e.w * actions_ + e.action].landed; k < a.sources; k++) {
    if (s.sources[a.first_source + k].peer != kLocal) peer = s.sources[a.first_source + k].peer;
  }
  return peer;
}

int32_t Machine::awaited(uint32_t& from) const noexcept {
  if (common_.stage != Common::Stage::none) return common_awaited(from);
  while (from < active_count_) {
    const int32_t peer = peer_awaited(active_[from++]);
    if (peer != kLocal) return peer;
  }
  return kLocal;
}

std::string Machine::waiting_for() const {
  if (common_.stage != Common::Stage::none) return common_waiting_for();
  const Schedule& s = *call_.schedule;
  std::string text;
  std::vector<int32_t> named;
  for (uint32_t i = 0; i < active_count_ && named.size() < 8; i++) {
    const Action& a = s.actions[active_[i].action];
    const int32_t peer = peer_awaited(active_[i]);
    if (peer == kLocal || std::find(named.begin(), named.end(), peer) != named.end()) continue;
    named.push_back(peer);
    text += (text.empty() ? "rank " : ", rank ") + std::to_string(peer) + " (step " + std::to_string(a.step) +
            ": " + describe(s.program.steps[a.step]) + ")";
  }
  return text;
}

bool Machine::sees_other_call(int32_t* rank) const noexcept {
  if (common_.stage != Common::Stage::none) return common_sees_other_call(rank);
  const Schedule& s = *call_.schedule;
  for (uint32_t i = 0; i < active_count_; i++) {
    const uint32_t w = active_[i].w;
    const Action& a = s.actions[active_[i].action];
    for (uint32_t k = 0; a.kind != Kind::send && k < a.sources; k++) {
      const Source& source = s.sources[a.first_source + k];
      uint32_t tag;
      if (source.peer == kLocal) continue;
      if (!links_[size_t(source.peer)].mailbox->in(stream_of(source.lane, w)).peek_tag(&tag)) continue;
      if ((tag & ~transport::kDescriptorBit) == call_.tag) continue;
      *rank = source.peer;
      return true;
    }
  }
  return false;
}

}  // namespace plait::collectives::real
