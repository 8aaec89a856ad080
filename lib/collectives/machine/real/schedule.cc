#include "collectives/machine/real/schedule.h"

#include <algorithm>
#include <map>

#include "collectives/cells.h"
#include "collectives/machine/real/grant.h"
#include "collectives/machine/real/operands.h"
#include "collectives/reduce/reduce.h"

namespace plait::collectives::real {
namespace {

class Lowering {
 public:
  Lowering(Program program, const ProgramOf& program_of) : program_of_(program_of) {
    s_.program = std::move(program);
  }

  Result<Schedule> run() {
    PLAIT_TRY(check());
    o_ = find_operands(p());
    PLAIT_TRY(make_actions());
    connect();
    fuse_sends();
    pair_copies();
    if (program_of_) grant(s_, program_of_);
    compact_scratch();
    finish();
    return std::move(s_);
  }

 private:
  const Program& p() const { return s_.program; }

  Status refuse(uint32_t step, const char* why) const {
    return {Code::unsupported,
            "step " + std::to_string(step) + " (" + describe(p().steps[step]) + ") " + why};
  }

  Status check() {
    s_.lanes = std::max(1u, p().lanes);
    for (uint32_t i = 0; i < p().steps.size(); i++) {
      const Step& s = p().steps[i];
      const bool piece = is_piece(p(), i);
      if (piece && (s.flags & kChain) && s.op != Op::recv)
        return refuse(i, "is part of a message of several pieces and continued by another fold");
      s_.joined = s_.joined || s.count > 1 || piece;
      if (p().lanes == 0) s_.lanes = std::max(s_.lanes, s.lane + 1u);
      if (s.lane >= s_.lanes) return refuse(i, "uses a lane that the program does not say it has");
    }
    return {};
  }

  static uint32_t entering(const std::vector<Source>& operands) {
    for (uint32_t k = 0; k < operands.size(); k++) {
      if (operands[k].enters) return k;
    }
    return kNoOperand;
  }

  Status make_actions() {
    action_of_.resize(p().steps.size());
    for (uint32_t i = 0; i < p().steps.size();) {
      const uint32_t end = message_end(p(), i);
      if (end > i + 1) {
        PLAIT_TRY(make_joined(i, end));
      } else if (o_.merged[i] == kNoStep) {
        Action a;
        PLAIT_TRY(make_action(i, &a));
        action_of_[i] = uint32_t(s_.actions.size());
        s_.actions.push_back(a);
      }
      i = end;
    }
    for (uint32_t i = uint32_t(p().steps.size()); i-- > 0;) {
      if (o_.merged[i] != kNoStep) action_of_[i] = action_of_[o_.merged[i]];
    }
    return {};
  }

  static Kind kind_of(Op op) {
    switch (op) {
      case Op::send:
        return Kind::send;
      case Op::recv:
        return Kind::recv;
      case Op::copy:
        return Kind::copy;
      case Op::encode:
        return Kind::encode;
      case Op::decode:
        return Kind::decode;
      case Op::decode_reduce:
        return Kind::decode_reduce;
      default:
        return Kind::fold;
    }
  }

  void set_codec(const Step& s, Action& a) {
    if (a.kind == Kind::encode) {
      a.site = encoded_[s.chunk]++;
      s_.sites = std::max(s_.sites, a.site + 1);
      return;
    }
    const Place wire = a.kind == Kind::decode ? s.src : s.src2;
    for (const Step& from : p().steps)
      if (receives(from.op) && from.dst == wire) a.peer = from.peer;
  }

  Status make_action(uint32_t i, Action* a) {
    const Step& s = p().steps[i];
    if (o_.of[i].size() > kMaxOperands) return refuse(i, "folds more operands than one pass takes");
    if (two_from_one_peer(o_.of[i])) return refuse(i, "folds two messages of one peer at once");
    a->kind = kind_of(s.op);
    a->swapped = (s.flags & kSwapped) != 0;
    if (a->kind == Kind::send) a->wired = s.src.in() == Buffer::wire;
    if (a->kind == Kind::recv) a->wired = s.dst.in() == Buffer::wire;
    if (a->kind >= Kind::encode) set_codec(s, *a);
    a->own = entering(o_.of[i]);
    if (a->own != kNoOperand) a->kind = Kind::fold;
    a->last = (s.flags & kLast) != 0;
    a->lane = s.lane;
    if (sends(s.op)) {
      a->peer = s.peer;
      a->ordinal = o_.ordinal[i];
    }
    a->dst = s.dst;
    a->chunk = s.chunk;
    a->count = s.count;
    a->sized_by = o_.sized_by[i];
    a->step = i;
    a->first_source = uint32_t(s_.sources.size());
    a->sources = uint32_t(o_.of[i].size());
    s_.sources.insert(s_.sources.end(), o_.of[i].begin(), o_.of[i].end());
    return {};
  }

  // One action for the message of steps [first, end), which has them as its pieces.
  Status make_joined(uint32_t first, uint32_t end) {
    const Step& s = p().steps[first];
    Action message;
    message.kind = sends(s.op) ? Kind::send : Kind::recv;
    message.lane = s.lane;
    message.peer = sends(s.op) ? s.peer : kLocal;
    message.ordinal = o_.ordinal[first];
    message.step = first;
    message.first_source = uint32_t(s_.sources.size());
    if (receives(s.op)) {
      message.sources = 1;
      s_.sources.push_back({s.peer, o_.ordinal[first], s.lane, kNowhere});
    }
    message.first_piece = uint32_t(s_.pieces.size());
    message.pieces = end - first;
    for (uint32_t i = first; i < end; i++) {
      Action piece;
      PLAIT_TRY(make_action(i, &piece));
      for (const Source& source : o_.of[i]) {
        if (source.peer != kLocal && source.peer != s.peer)
          return refuse(i, "is part of a message of several pieces and folds messages of others, too");
      }
      s_.pieces.push_back(piece);
      action_of_[i] = uint32_t(s_.actions.size());
    }
    s_.actions.push_back(message);
    return {};
  }

  // The second would wait for the first to be consumed, which happens with the action only.
  static bool two_from_one_peer(const std::vector<Source>& operands) {
    for (size_t i = 0; i < operands.size(); i++) {
      for (size_t j = i + 1; j < operands.size(); j++) {
        if (operands[i].peer != kLocal && operands[i].peer == operands[j].peer &&
            operands[i].lane == operands[j].lane) {
          return true;
        }
      }
    }
    return false;
  }

  // Dependencies between actions are those between their steps.
  void connect() {
    std::vector<std::vector<uint32_t>> next(s_.actions.size());
    for (uint32_t i = 0; i < p().steps.size(); i++) {
      for (uint32_t d = p().dep_begin[i]; d < p().dep_begin[i + 1]; d++) {
        const uint32_t from = action_of_[p().deps[d]], to = action_of_[i];
        if (from != to) next[from].push_back(to);
      }
    }
    for (uint32_t a = 0; a < next.size(); a++) {
      auto& list = next[a];
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      s_.actions[a].first_next = uint32_t(s_.next.size());
      s_.actions[a].nexts = uint32_t(list.size());
      s_.next.insert(s_.next.end(), list.begin(), list.end());
      for (uint32_t to : list) s_.actions[to].waits++;
    }
  }

  // Peephole (a): sends of exactly what an action just made, and (c): its own copy when nobody else reads it.
  // Sends beyond kMostFused read that copy, like others.
  void fuse_sends() {
    for (Action& a : s_.actions) {
      a.first_fused = uint32_t(s_.fused.size());
      if ((a.kind != Kind::fold && a.kind != Kind::recv) || a.pieces > 0) continue;
      bool only_sends = a.nexts > 0 && a.dst.in() != Buffer::none;
      for (uint32_t k = 0; k < a.nexts; k++) {
        const uint32_t to = s_.next[a.first_next + k];
        const Action& b = s_.actions[to];
        const bool same = b.kind == Kind::send && b.pieces == 0 && !b.wired &&
                          s_.sources[b.first_source].place == a.dst && b.chunk == a.chunk &&
                          b.count == a.count;
        const bool fuses = same && s_.fused.size() - a.first_fused < kMostFused;
        if (fuses) s_.fused.push_back(to);
        only_sends = only_sends && fuses;
      }
      a.fused = uint32_t(s_.fused.size()) - a.first_fused;
      a.dead = only_sends && a.fused > 0 && overwritten_later(a);
    }
  }

  // Is the value of `a` replaced by a later write, so that it is no result?
  bool overwritten_later(const Action& a) const {
    if (a.dst.in() == Buffer::scratch) return true;
    for (uint32_t i = a.step + 1; i < p().steps.size(); i++) {
      const Step& s = p().steps[i];
      if (s.dst == a.dst && s.count == a.count) return true;
    }
    return false;
  }

  // A copy of what one send sends may be made along with it (Action::along). Of what several send it is not:
  // 4 ranks took up to 16 % longer so.
  void pair_copies() {
    std::map<std::pair<Buffer, uint32_t>, std::vector<uint32_t>> sends;
    for (uint32_t i = 0; i < s_.actions.size(); i++) {
      const Action& a = s_.actions[i];
      if (a.kind == Kind::send && a.pieces == 0 && !a.wired) sends[read_by(a)].push_back(i);
    }
    for (uint32_t i = 0; i < s_.actions.size(); i++) {
      const Action& copy = s_.actions[i];
      if (copy.kind != Kind::copy || copy.waits > 0 || copy.dst.in() == Buffer::none) continue;
      const auto of = sends.find(read_by(copy));
      if (of == sends.end() || of->second.size() != 1) continue;
      Action& send = s_.actions[of->second[0]];
      if (send.waits == 0 && send.chunk == copy.chunk && send.count == copy.count) send.along = i;
    }
  }
  std::pair<Buffer, uint32_t> read_by(const Action& a) const {
    const Place from = s_.sources[a.first_source].place;
    return {from.in(), from.slot};
  }

  // Renumbers the scratch slots that are left; those of merged values are gone.
  void compact_scratch() {
    std::map<uint32_t, uint32_t> slots;
    auto use = [&](Place& q, uint32_t count) {
      if (q.in() != Buffer::scratch) return;
      const uint32_t first = q.slot;
      for (uint32_t k = 0; k < count; k++) slots.emplace(first + k, 0);
    };
    auto each = [&](auto&& f) {
      for (auto* actions : {&s_.actions, &s_.pieces}) {
        for (Action& a : *actions) {
          f(a.dst, a.count);
          for (uint32_t k = 0; k < a.sources; k++) f(s_.sources[a.first_source + k].place, a.count);
        }
      }
    };
    each(use);
    for (auto& [slot, to] : slots) to = s_.scratch++;
    each([&](Place& q, uint32_t) {
      if (q.in() == Buffer::scratch) q = place(Buffer::scratch, slots[q.slot]);
    });
  }

  void finish() {
    for (uint32_t i = 0; i < s_.actions.size(); i++) {
      if (s_.actions[i].waits == 0) s_.roots.push_back(i);
      if (s_.actions[i].peer != kLocal) s_.peers.push_back(s_.actions[i].peer);
    }
    for (const Source& source : s_.sources) {
      if (source.peer != kLocal) s_.peers.push_back(source.peer);
    }
    std::sort(s_.peers.begin(), s_.peers.end());
    s_.peers.erase(std::unique(s_.peers.begin(), s_.peers.end()), s_.peers.end());
    if (one_round()) {
      for (bool sending : {true, false}) {
        for (uint32_t i = 0; i < s_.actions.size(); i++) {
          if ((s_.actions[i].kind == Kind::send) == sending) s_.round.push_back(i);
        }
      }
    }
    trim(s_.actions, s_.pieces, s_.sources, s_.fused, s_.next, s_.roots, s_.round, s_.peers);
    trim(s_.program.steps, s_.program.deps, s_.program.dep_begin);
  }

  // Planners keep what they lowered.
  template <class... Vectors>
  static void trim(Vectors&... vectors) {
    (vectors.shrink_to_fit(), ...);
  }

  // Folds keep the order of the program, so each finds the messages before its own consumed if they are
  // numbered so.
  bool one_round() const {
    std::map<int32_t, uint32_t> received;
    if (s_.lanes != 1) return false;
    for (const Action& a : s_.actions) {
      if (a.count > 1 || a.pieces > 0 || a.fused > 0 || (a.kind == Kind::send && a.waits > 0)) return false;
      if (a.wired || a.kind >= Kind::encode) return false;
      for (uint32_t k = 0; k < a.sources; k++) {
        const Source& source = s_.sources[a.first_source + k];
        if (source.peer != kLocal && source.ordinal != received[source.peer]++) return false;
      }
    }
    return true;
  }

  Schedule s_;
  const ProgramOf& program_of_;
  Operands o_;
  std::vector<uint32_t> action_of_;       // of each step
  std::map<uint32_t, uint32_t> encoded_;  // how often, by chunk
};

}  // namespace

Result<Schedule> lower(Program program, const ProgramOf& program_of) {
  return Lowering(std::move(program), program_of).run();
}

}  // namespace plait::collectives::real
