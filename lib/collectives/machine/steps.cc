// check_steps: one step at a time.
#include <spdlog/fmt/fmt.h>

#include "collectives/cells.h"
#include "collectives/machine/check.h"

namespace plait::collectives {

namespace {

bool inside(Range range, uint32_t first, uint32_t count) noexcept {
  return first >= range.first && first <= range.end() && count <= range.end() - first;
}

class StepChecker {
 public:
  StepChecker(Collective collective, int n, int root, const Program& p)
      : p_(p),
        collective_(collective),
        n_(n),
        input_(input_of(collective, n, p.rank, root, p.chunks)),
        output_(output_of(collective, n, p.rank, root, p.chunks)) {}

  Status run() const {
    PLAIT_TRY(check_dependencies());
    PLAIT_TRY(check_entries());
    for (uint32_t i = 0; i < p_.steps.size(); i++) {
      std::string why = fault(p_.steps[i]);
      if (why.empty() && p_.steps[i].flags & kMore) why = join_fault(i);
      if (!why.empty()) return {Code::invalid, describe(p_, i) + ": " + why};
    }
    return {};
  }

 private:
  Status check_dependencies() const {
    bool sound = p_.dep_begin.size() == p_.steps.size() + 1 && p_.dep_begin.front() == 0 &&
                 p_.dep_begin.back() == p_.deps.size();
    for (size_t i = 0; sound && i < p_.steps.size(); i++) sound = p_.dep_begin[i] <= p_.dep_begin[i + 1];
    for (uint32_t d : p_.deps) sound = sound && d < p_.steps.size();
    if (sound) return {};
    return {Code::invalid, fmt::format("rank {}: its dependencies are not lists of its steps", p_.rank)};
  }

  // Where contributions enter, each does so once, and nothing reads one that has not.
  Status check_entries() const {
    std::vector<bool> seen(p_.chunks);
    uint32_t entries = 0, others = 0;
    for (uint32_t i = 0; i < p_.steps.size(); i++) {
      const Step& s = p_.steps[i];
      const bool reads_input = s.src.in() == Buffer::input || s.src2.in() == Buffer::input;
      if (!(s.flags & kEnter)) {
        if (reads_input) others = i + 1;
        continue;
      }
      if (s.op != Op::copy || !reads_input) return refuse(i, "only a copy from the input can let it enter");
      if (s.count != 1 || s.chunk >= p_.chunks || seen[s.chunk])
        return refuse(i, "enters not one chunk, once");
      seen[s.chunk] = true;
      entries++;
    }
    if (entries > 0 && others > 0) return refuse(others - 1, "reads what has not entered");
    return {};
  }
  Status refuse(uint32_t step, const char* why) const {
    return {Code::invalid, describe(p_, step) + ": " + why};
  }

  // What is wrong with a step; empty when nothing is.
  std::string fault(const Step& s) const {
    if (s.count == 0 || !inside({0, p_.chunks}, s.chunk, s.count)) {
      return fmt::format("no such chunks, there are {}", p_.chunks);
    }
    if (sends(s.op) || receives(s.op)) {
      if (s.peer < 0 || s.peer >= n_) return fmt::format("no such peer, there are {} ranks", n_);
      if (s.peer == p_.rank) return "a rank cannot be its own peer";
    }
    if ((s.dst.in() == Buffer::none) != sends(s.op)) return "every step but a send has a dst";
    if ((s.src.in() == Buffer::none) != (s.op == Op::recv)) return "every step but a recv has a src";
    if ((s.src2.in() == Buffer::none) != (s.op != Op::reduce && s.op != Op::decode_reduce))
      return "a fold of two places, and nothing else, has a src2";
    if (std::string why = wire_fault(s); !why.empty()) return why;
    for (Place place : {s.src, s.src2, s.dst}) {
      if (std::string why = place_fault(s, place); !why.empty()) return why;
    }
    if (s.dst.in() == Buffer::input) return "writes its input";
    if (s.dst.in() == Buffer::output && !inside(output_, s.chunk, s.count)) {
      return fmt::format("has no {} to write", describe(s.dst));
    }
    return {};
  }

  // Wires are encoded, decoded, moved and copied (rule 9).
  static std::string wire_fault(const Step& s) {
    auto wire = [](Place p) { return p.in() == Buffer::wire; };
    const bool encodes = s.op == Op::encode, decodes = s.op == Op::decode, folds = s.op == Op::decode_reduce;
    const bool touches = wire(s.src) || wire(s.src2) || wire(s.dst);
    if (touches && (s.count != 1 || (s.flags & kMore) != 0)) return "touches more than one wire";
    if (encodes) return !wire(s.src) && wire(s.dst) ? "" : "encodes not from a value to a wire";
    if (decodes) return wire(s.src) && !wire(s.dst) ? "" : "decodes not from a wire to a value";
    if (folds)
      return !wire(s.src) && wire(s.src2) && !wire(s.dst) ? "" : "folds other than a value and a wire";
    if (s.op == Op::copy && wire(s.src) != wire(s.dst)) return "copies between a wire and a value";
    if ((s.op == Op::reduce || s.op == Op::recv_reduce) && touches) return "folds a wire without decoding it";
    return {};
  }

  std::string place_fault(const Step& s, Place place) const {
    if (place.in() == Buffer::none) return {};
    uint32_t slots = slots_of(p_, place.in());
    if (!inside({0, slots}, place.slot, s.count)) {
      return fmt::format("{}+{} is out of bounds, there are {} slots", describe(place), s.count, slots);
    }
    if (place.in() == Buffer::scratch || place.in() == Buffer::wire) return {};
    for (uint32_t k = 0; k < s.count; k++) {
      if (place.slot + k != slot_of(collective_, place.in(), uint32_t(n_), uint32_t(p_.rank), s.chunk + k))
        return fmt::format("chunk {} does not lie in {}", s.chunk + k,
                           describe(::plait::collectives::place(place.in(), place.slot + k)));
    }
    if (place.in() == Buffer::input && !inside(input_, s.chunk, s.count)) {
      return fmt::format("has no {} to read", describe(place));
    }
    return {};
  }

  std::string join_fault(uint32_t i) const {
    if (i + 1 == p_.steps.size()) return "the message has no next step";
    const Step &a = p_.steps[i], &b = p_.steps[i + 1];
    bool joined = (sends(a.op) || receives(a.op)) && a.op == b.op && a.peer == b.peer && a.lane == b.lane;
    return joined ? "" : "cannot be one message with the next step";
  }

  const Program& p_;
  Collective collective_;
  int n_;
  Range input_, output_;
};

}  // namespace

Status check_steps(Collective collective, int root, std::span<const Program> programs) {
  auto n = int(programs.size());
  if (n == 0 || root < 0 || root >= n) return {Code::invalid, fmt::format("no rank {} among {}", root, n)};
  for (int r = 0; r < n; r++) {
    const Program& p = programs[size_t(r)];
    if (p.rank != r) return {Code::invalid, fmt::format("program {} is that of rank {}", r, p.rank)};
    if (p.chunks != programs[0].chunks || p.in_place != programs[0].in_place) {
      return {Code::invalid,
              fmt::format("rank {} cuts the vector otherwise than rank 0, or is not in place alike", r)};
    }
    if (collective == Collective::alltoall && p.chunks != uint32_t(n)) {
      return {Code::invalid,
              fmt::format("rank {}: an alltoall of {} ranks has as many chunks, not {}", r, n, p.chunks)};
    }
    PLAIT_TRY(StepChecker(collective, n, root, p).run());
  }
  return {};
}

}  // namespace plait::collectives
