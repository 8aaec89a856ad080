#include "collectives/coded.h"

#include <unordered_map>
#include <utility>

#include "collectives/cells.h"
#include "collectives/chain.h"

namespace plait::collectives {

namespace {

constexpr uint8_t kFoldFlags = kLast | kSwapped;

class Coder {
 public:
  Coder(const Program& program, const Coded& how) : from_(program), how_(how), p_(program) {
    p_.steps.clear();
  }

  Result<Program> run() {
    PLAIT_TRY(find_chains());
    for (uint32_t i = 0; i < from_.steps.size(); i++) PLAIT_TRY(add(i));
    for (uint32_t c = how_.outputs.first; c < how_.outputs.end(); c++) {
      const Place out = place(Buffer::output, c);
      chunk_ = c;
      if (auto held = held_.find(key(out)); held != held_.end()) (void)value(out);
    }
    p_.wires = wires_;
    if (std::string error = derive_dependencies(p_); !error.empty())
      return Status(Code::internal, std::move(error));
    return std::move(p_);
  }

 private:
  // What is known of the value that belongs at a place.
  struct Held {
    uint32_t wire = kNoIndex;  // it is what this wire stands for
    bool decoded = true;       // it lies at `at`; else in the wire alone
    Place at = kNowhere;
  };

  bool is_coded(const Step& s) const {
    return (sends(s.op) || receives(s.op)) && (how_.peers.empty() || how_.peers[size_t(s.peer)]);
  }

  // Chains that take in a wire end: each of their folds rounds.
  Status find_chains() {
    auto ends = chain_ends(from_);
    if (!ends.ok()) return ends.status();
    ends_ = std::move(*ends);
    broken_.resize(from_.steps.size());
    for (uint32_t i = 0; i < from_.steps.size(); i++)
      if (receives(from_.steps[i].op) && is_coded(from_.steps[i])) broken_[ends_[i]] = true;
    return {};
  }

  uint32_t key(Place p) const {
    const bool same = from_.in_place && p.in() == Buffer::input;
    return uint32_t(same ? Buffer::output : p.in()) << 29 | p.slot;
  }
  Held& held(Place p) { return held_.try_emplace(key(p), Held{kNoIndex, true, p}).first->second; }
  void write(Place p, uint32_t wire = kNoIndex, bool decoded = true) { held_[key(p)] = {wire, decoded, p}; }

  // Where a value that belongs at `p` can be put: an input that is no output is not ours to write.
  Place room(Place p) {
    if (p.in() != Buffer::input) return p;
    const bool output = from_.in_place && p.slot >= how_.outputs.first && p.slot < how_.outputs.end();
    return place(output ? Buffer::output : Buffer::scratch, output ? uint32_t{p.slot} : p_.scratch++);
  }

  // Where the value lies that belongs at `p`, decoded if need be.
  Place value(Place p) {
    Held& h = held(p);
    if (!h.decoded) {
      const Place to = room(p);
      emit({.op = Op::decode, .dst = to, .src = wire_place(h.wire)});
      h.decoded = true;
      h.at = to;
    }
    return h.at;
  }

  static Place wire_place(uint32_t wire) { return place(Buffer::wire, wire); }

  void emit(Step s) {
    s.chunk = chunk_;
    s.count = 1;
    p_.steps.push_back(s);
  }

  Status add(uint32_t i) {
    const Step& s = from_.steps[i];
    if (s.count != 1 || (s.flags & kMore) != 0)
      return {Code::unsupported, describe(from_, i) + " moves several chunks at once: no codec goes with it"};
    chunk_ = s.chunk;
    broken_chain_ = broken_[ends_[i]];
    switch (s.op) {
      case Op::send:
        add_send(s);
        return {};
      case Op::recv:
      case Op::recv_reduce:
        add_receive(s);
        return {};
      case Op::copy:
        add_copy(s);
        return {};
      case Op::reduce:
        add_fold(s, held(s.src2));
        return {};
      default:
        return {Code::unsupported, describe(from_, i) + ": the program has a codec of its own"};
    }
  }

  uint8_t flags_of(const Step& s) const { return broken_chain_ ? s.flags & uint8_t(~kChain) : s.flags; }

  void add_send(Step s) {
    if (!is_coded(s)) {
      s.src = value(s.src);
      return emit(s);
    }
    if (held(s.src).wire == kNoIndex) encode(s.src);
    s.src = wire_place(held(s.src).wire);
    emit(s);
  }

  // From now on the value is what others decode.
  void encode(Place p) {
    const uint32_t wire = wires_++;
    Held& h = held(p);
    emit({.op = Op::encode, .dst = wire_place(wire), .src = h.at});
    h.wire = wire;
    h.decoded = how_.exact;
  }

  void add_receive(Step s) {
    if (!is_coded(s)) {
      s.flags = flags_of(s);
      if (s.op == Op::recv_reduce) s.src = value(s.src);
      emit(s);
      return write(s.dst);
    }
    const uint32_t wire = wires_++;
    emit({.op = Op::recv, .lane = s.lane, .peer = s.peer, .dst = wire_place(wire)});
    if (s.op == Op::recv_reduce) return add_fold(s, {wire, false, kNowhere});
    write(s.dst, wire, false);
    // What is a result is decoded at once; the rest when it is known what for.
    if (s.dst.in() == Buffer::output) (void)value(s.dst);
  }

  void add_copy(const Step& s) {
    const Held from = held(s.src);
    if (!from.decoded) {
      write(s.dst, from.wire, false);
      if (s.dst.in() == Buffer::output) (void)value(s.dst);
      return;
    }
    Step copy = s;
    copy.src = from.at;
    emit(copy);
    write(s.dst, from.wire);
  }

  // The values at s.src, and `right`: a wire, or what lies at s.src2.
  void add_fold(const Step& s, const Held right) {
    const Held left = held(s.src);
    const uint8_t flags = s.flags & kFoldFlags;
    if (right.decoded && left.decoded) {
      Step fold = s;
      fold.op = Op::reduce;
      fold.flags = flags_of(s);
      fold.src = left.at;
      fold.src2 = right.at;
      emit(fold);
    } else if (right.decoded) {
      // The decoded value is the left operand.
      emit({.op = Op::decode_reduce,
            .flags = uint8_t(flags ^ kSwapped),
            .dst = s.dst,
            .src = right.at,
            .src2 = wire_place(left.wire)});
    } else {
      Place from = left.at;
      if (!left.decoded) emit({.op = Op::decode, .dst = from = s.dst, .src = wire_place(left.wire)});
      emit({.op = Op::decode_reduce,
            .flags = flags,
            .dst = s.dst,
            .src = from,
            .src2 = wire_place(right.wire)});
    }
    write(s.dst);
  }

  const Program& from_;
  const Coded& how_;
  Program p_;
  std::vector<uint32_t> ends_;  // of each step: the step that ends its chain
  std::vector<bool> broken_;    // of a step that ends a chain
  bool broken_chain_ = false;   // the step now added is in such a chain
  uint32_t chunk_ = 0;          // ... and of this chunk
  std::unordered_map<uint32_t, Held> held_;
  uint32_t wires_ = 0;  // each has a slot of its own, so that no receive waits for another wire to be sent
};

}  // namespace

Result<Program> coded(const Program& program, const Coded& how) { return Coder(program, how).run(); }

}  // namespace plait::collectives
