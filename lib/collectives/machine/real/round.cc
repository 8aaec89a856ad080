// Programs of one round with small messages: every send waits for nothing, then come the folds. They run in
// the order of Schedule::round, with nothing to keep of who waits for whom. This is what latency is measured
// with.
#include "collectives/machine/real/machine.h"

namespace plait::collectives::real {

using namespace transport;

void Machine::start_round() noexcept {
  const Schedule& s = *call_.schedule;
  window_[0] = {0, actions_, 0};
  for (uint32_t i : s.round) {
    const Action& a = s.actions[i];
    if (a.kind == Kind::send) continue;
    runs_[i] = Run{};
    for (uint32_t k = 0; k < a.sources; k++) arrivals_[a.first_source + k] = {};
  }
  round_at_ = 0;
  active_[0] = {0, s.round[0]};
  active_count_ = 1;
}

// A send waits for room in its stream, that is for what the peer consumed in earlier operations; a fold for
// messages that peers send first thing. So running in order waits for nothing that a peer could be waiting
// for in turn.
bool Machine::step_round() noexcept {
  const Schedule& s = *call_.schedule;
  const uint32_t before = round_at_;
  for (; round_at_ < s.round.size(); round_at_++) {
    const uint32_t i = s.round[round_at_];
    const Action& a = s.actions[i];
    const size_t bytes = call_.layout.bytes(a.sized_by, a.chunk, a.count, 0);
    if (a.kind == Kind::send) {
      const Place from = s.sources[a.first_source].place;
      if (send_lines(0, a, bound(from.in()).data + offset_of(from, 0), bytes) == Turn::blocked) break;
    } else if (!fold_lines(a, runs_[i], bytes)) {
      break;
    }
  }
  moved_ = round_at_ != before;
  if (round_at_ == s.round.size()) {
    // What this rank sent may still be leaving, and a peer be in its next operation already: none of its
    // messages is looked at as if it were of this one (sees_other_call).
    active_count_ = 0;
    return true;
  }
  active_[0].action = s.round[round_at_];
  return false;
}

bool Machine::fold_lines(const Action& a, Run& r, size_t bytes) noexcept {
  const Schedule& s = *call_.schedule;
  Arrival* arrivals = &arrivals_[a.first_source];
  for (; r.landed < a.sources; r.landed++) {
    const Source& source = s.sources[a.first_source + r.landed];
    Arrival& arrival = arrivals[r.landed];
    if (source.peer == kLocal) {
      arrival = {bound(source.place.in()).data + offset_of(source.place, 0), bytes, Form::whole};
    } else if (!land_lines(links_[size_t(source.peer)], 0, 0, arrival, bytes)) {
      return false;
    }
  }
  if (bytes > 0) fold_piece(0, a, r, 0, bytes);
  for (uint32_t k = 0; k < a.sources; k++) {
    const Source& source = s.sources[a.first_source + k];
    if (source.peer == kLocal) continue;
    links_[size_t(source.peer)].mailbox->in(0).consume(arrivals[k].lines);
    release(0, source, arrivals[k]);
  }
  return true;
}

}  // namespace plait::collectives::real
