#include "collectives/machine/real/operands.h"

#include <map>
#include <unordered_map>
#include <utility>

namespace plait::collectives::real {
namespace {

// Is the step part of the message of the one before it?
bool begins_inside(const Program& p, uint32_t i) { return i > 0 && (p.steps[i - 1].flags & kMore) != 0; }

uint32_t key(Place p) noexcept { return uint32_t(p.buffer) << 29 | p.slot; }

// Per place: which step wrote it last, at each point of the list. In place, input and output are one.
class Writers {
 public:
  explicit Writers(bool in_place) : in_place_(in_place) {}
  uint32_t of(Place p) const {
    auto it = last_.find(canonical(p));
    return it == last_.end() ? kNoStep : it->second;
  }
  void write(const Step& s, uint32_t step) {
    for (uint32_t k = 0; k < s.count; k++) last_[canonical(place(s.dst.in(), s.dst.slot + k))] = step;
  }

 private:
  uint32_t canonical(Place p) const {
    return key(in_place_ && p.in() == Buffer::input ? place(Buffer::output, p.slot) : p);
  }
  bool in_place_;
  std::unordered_map<uint32_t, uint32_t> last_;
};

class Finder {
 public:
  explicit Finder(const Program& program) : p_(program) {}
  Operands run() {
    number_messages();
    find_sizes();
    gather_operands();
    return std::move(o_);
  }

 private:
  void number_messages() {
    std::map<std::pair<int32_t, int32_t>, uint32_t> sent, received;
    o_.ordinal.resize(p_.steps.size());
    for (uint32_t i = 0; i < p_.steps.size(); i++) {
      const Step& s = p_.steps[i];
      if (begins_inside(p_, i)) {
        o_.ordinal[i] = o_.ordinal[i - 1];
        continue;
      }
      if (sends(s.op)) o_.ordinal[i] = sent[{s.peer, s.lane}]++;
      if (receives(s.op)) o_.ordinal[i] = received[{s.peer, s.lane}]++;
    }
  }

  // Which slot of the input or output is as long as what each step moves. Values in scratch are followed to
  // where they came from or go to: in an alltoall of uneven parts nothing else tells.
  void find_sizes() {
    const auto& steps = p_.steps;
    std::unordered_map<uint32_t, Place> scratch;
    auto known = [&](Place q) -> Place {
      if (q.in() == Buffer::input || q.in() == Buffer::output) return q;
      const auto it = q.in() == Buffer::scratch ? scratch.find(q.slot) : scratch.end();
      return it == scratch.end() ? kNowhere : it->second;
    };
    o_.sized_by.assign(steps.size(), kNowhere);
    for (uint32_t i = 0; i < steps.size(); i++) {
      const Step& s = steps[i];
      Place by = known(s.src);
      if (by == kNowhere) by = known(s.src2);
      if (by == kNowhere && s.dst.in() == Buffer::output) by = s.dst;
      o_.sized_by[i] = by;
      if (s.dst.in() == Buffer::scratch) scratch[s.dst.slot] = by;
    }
    scratch.clear();
    for (uint32_t i = uint32_t(steps.size()); i-- > 0;) {
      const Step& s = steps[i];
      if (o_.sized_by[i] == kNowhere) o_.sized_by[i] = known(s.dst);
      if (s.dst.in() == Buffer::scratch) scratch.erase(s.dst.slot);
      for (Place q : {s.src, s.src2}) {
        if (q.in() == Buffer::scratch && o_.sized_by[i] != kNowhere) scratch[q.slot] = o_.sized_by[i];
      }
    }
  }

  // For each step the operands it folds, with declared chains and single-use receives (peephole d) pulled in.
  // Steps pulled into another one get merged[step] = that one.
  void gather_operands() {
    const uint32_t n = uint32_t(p_.steps.size());
    o_.merged.assign(n, kNoStep);
    o_.of.resize(n);
    count_readers();
    Writers writers(p_.in_place);
    for (uint32_t i = 0; i < n; i++) {
      const Step& s = p_.steps[i];
      const Source message{s.peer, receives(s.op) ? o_.ordinal[i] : 0, s.lane, kNowhere};
      if (s.op == Op::recv) {
        o_.of[i] = {message};
      } else if (s.op == Op::recv_reduce) {
        o_.of[i] = operand(writers, s.src, i);
        o_.of[i].insert(s.flags & kSwapped ? o_.of[i].begin() : o_.of[i].end(), message);
      } else if (s.op == Op::reduce) {
        o_.of[i] = operand(writers, s.src, i);
        auto right = operand(writers, s.src2, i);
        o_.of[i].insert(o_.of[i].end(), right.begin(), right.end());
      } else if (s.op == Op::decode_reduce) {
        o_.of[i] = {Source{kLocal, 0, 0, s.src}, Source{kLocal, 0, 0, s.src2}};
      } else if (s.flags & kEnter) {
        o_.of[i] = {Source{kLocal, 0, 0, s.src, true}};
      } else if (s.op == Op::copy && is_entry(writers.of(s.src))) {
        o_.of[i] = operand(writers, s.src, i);
      } else {
        o_.of[i] = {Source{kLocal, 0, 0, s.src}};
      }
      writers.write(s, i);
    }
  }

  void count_readers() {
    readers_.assign(p_.steps.size(), 0);
    Writers writers(p_.in_place);
    for (uint32_t i = 0; i < p_.steps.size(); i++) {
      const Step& s = p_.steps[i];
      for (Place q : {s.src, s.src2}) {
        for (uint32_t k = 0; q.in() != Buffer::none && k < s.count; k++) {
          const uint32_t w = writers.of(place(q.in(), q.slot + k));
          if (w != kNoStep) readers_[w]++;
        }
      }
      writers.write(s, i);
    }
  }

  std::vector<Source> operand(const Writers& writers, Place place, uint32_t reader) {
    const uint32_t w = writers.of(place);
    if (w != kNoStep && !is_piece(p_, w) && p_.steps[w].dst == place &&
        p_.steps[w].count == p_.steps[reader].count) {
      const Step& s = p_.steps[w];
      const bool chained = (s.flags & kChain) != 0;
      const bool moves = s.op == Op::recv || is_entry(w);
      const bool used_once = moves && s.dst.in() == Buffer::scratch && readers_[w] == s.count;
      if (chained || used_once) {
        o_.merged[w] = reader;
        return o_.of[w];
      }
    }
    return {Source{kLocal, 0, 0, place}};
  }

  bool is_entry(uint32_t step) const { return step != kNoStep && (p_.steps[step].flags & kEnter) != 0; }

  const Program& p_;
  Operands o_;
  std::vector<uint32_t> readers_;  // of each step: how many operands of others are what it wrote
};

}  // namespace

bool is_piece(const Program& p, uint32_t i) { return (p.steps[i].flags & kMore) != 0 || begins_inside(p, i); }

Operands find_operands(const Program& program) { return Finder(program).run(); }

}  // namespace plait::collectives::real
