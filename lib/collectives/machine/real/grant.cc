#include "collectives/machine/real/grant.h"

#include <algorithm>
#include <map>

#include "collectives/cells.h"

namespace plait::collectives::real {

namespace {

// Does `a` wait for an action that has message `ordinal` of a peer and lane as an operand?
bool waits_for_message(const Schedule& s, const Action& a, int32_t peer, uint16_t lane, uint32_t ordinal) {
  const uint32_t me = uint32_t(&a - s.actions.data());
  for (const Action& b : s.actions) {
    const auto first = s.next.begin() + b.first_next;
    if (std::find(first, first + b.nexts, me) == first + b.nexts) continue;
    for (uint32_t k = 0; k < b.sources; k++) {
      const Source& source = s.sources[b.first_source + k];
      if (source.peer == peer && source.ordinal == ordinal && source.lane == lane) return true;
    }
  }
  return false;
}

// Step `dep` of q is a send to us whose message is an operand of an action that `a` waits for; or a
// contribution enters there that such a send takes on.
bool consumed_before(const Schedule& s, const Program& q, uint32_t dep, const Action& a) {
  const int32_t me = s.program.rank;
  if (q.steps[dep].flags & kEnter) {
    const Place entered = q.steps[dep].dst;
    while (dep < q.steps.size() && !(sends(q.steps[dep].op) && q.steps[dep].src == entered)) dep++;
    if (dep == q.steps.size()) return false;
  }
  const Step& send = q.steps[dep];
  if (!sends(send.op) || send.peer != me) return false;
  uint32_t ordinal = 0;
  for (uint32_t i = 0; i < dep; i = message_end(q, i)) {
    ordinal += sends(q.steps[i].op) && q.steps[i].peer == me && q.steps[i].lane == send.lane;
  }
  return waits_for_message(s, a, q.rank, send.lane, ordinal);
}

bool receiver_is_free(const Schedule& s, const Program& q, Action& a) {
  uint32_t received = 0;
  for (uint32_t i = 0; i < q.steps.size(); i = message_end(q, i)) {
    const Step& recv = q.steps[i];
    if (!receives(recv.op) || recv.peer != s.program.rank || recv.lane != a.lane) continue;
    if (received++ != a.ordinal) continue;
    if (recv.op != Op::recv || recv.dst.in() != Buffer::output || (recv.flags & kMore) != 0) return false;
    a.granted_slot = recv.dst.slot;
    for (uint32_t d = q.dep_begin[i]; d < q.dep_begin[i + 1]; d++) {
      if (!consumed_before(s, q, q.deps[d], a)) return false;
    }
    return true;
  }
  return false;
}

}  // namespace

void grant(Schedule& schedule, const ProgramOf& program_of) {
  std::map<int32_t, Program> programs;
  for (Action& a : schedule.actions) {
    if (a.kind != Kind::send || a.pieces > 0 || a.wired) continue;
    auto it = programs.find(a.peer);
    if (it == programs.end()) it = programs.emplace(a.peer, program_of(a.peer)).first;
    a.granted = receiver_is_free(schedule, it->second, a);
  }
}

}  // namespace plait::collectives::real
