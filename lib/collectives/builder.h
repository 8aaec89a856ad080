// The builder: what an algorithm writes its steps into. An algorithm says who sends which chunks to whom, in
// which order; where values lie, which steps wait for which, what in place means and how much scratch that
// takes is the builder's part.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "collectives/collective.h"
#include "collectives/group.h"
#include "collectives/holdings.h"
#include "collectives/program.h"

namespace plait::collectives {

// Makes the program of one rank in O(steps log steps), however many chunks a step has; but an alltoall, which
// has as many steps. Wrong use (a send of a chunk that this rank does not hold) makes finish() fail with the
// first such sentence; nothing else does.
class Builder {
 public:
  // For a vector of `chunks` chunks, of which this rank has the inputs and outputs that collective.h says. An
  // alltoall has one chunk a rank.
  Builder(Collective collective, int n, int rank, int root, uint32_t chunks);
  // For any other holding: `inputs` and `outputs` are the chunks of which this rank has an input and an
  // output, each in the slot of its number.
  Builder(int rank, uint32_t chunks, Range inputs, Range outputs);

  // One message each of the chunks of `ranges`, from where they lie now, to where they belong, of as many
  // steps as there are contiguous pieces (rule 10). No chunks are no message, and no step. With kMore among
  // `flags` the next call goes on with the same message.
  void send(int peer, const Ranges& ranges, int lane = 0, uint8_t flags = 0);
  void recv(int peer, const Ranges& ranges, int lane = 0, uint8_t flags = 0);
  void recv_reduce(int peer, const Ranges& ranges, int lane = 0, uint8_t flags = 0);

  // As recv_reduce, but the result lies in scratch, apart from what it was made of: the incoming message need
  // not wait until sends of the old value are over. This is what makes a symmetric exchange do without
  // credits (rule 5).
  void recv_reduce_aside(int peer, const Ranges& ranges, int lane = 0, uint8_t flags = 0);

  // As recv and recv_reduce, but by way of scratch where the chunk's value lies at home already, or will in
  // place: the message need not wait until sends of that value are over.
  void recv_apart(int peer, const Ranges& ranges, int lane = 0, uint8_t flags = 0);
  void recv_reduce_apart(int peer, const Ranges& ranges, int lane = 0, uint8_t flags = 0);

  // Receives another rank's value of `ranges` into scratch, next to this rank's own; returns where it lies,
  // one chunk after the other.
  Place recv_aside(int peer, const Ranges& ranges, int lane = 0, uint8_t flags = 0);

  // Folds values of `ranges` from left to right as one declared chain (rule 7) into where the chunks belong.
  // An operand is what recv_aside(..., kChain) returned, or kNowhere for this rank's own value. One operand
  // alone is left as it is. `flags` are those of the last fold.
  void fold_chain(const Ranges& ranges, std::span<const Place> operands, uint8_t flags = 0);

  // From now on folds flagged kLast do not complete their chunk: it is folded on at an outer level of a
  // hierarchy. And the other way round.
  void complete(bool complete) noexcept { incomplete_ = !complete; }

  // What is appended from now on is an algorithm of its own, which begins when others are done: scratch.h
  // says what that means for the places of values.
  void begin_stage() { stages_.push_back(uint32_t(program_.steps.size())); }

  // Lower level: local steps between places, and any step at all. They do not change where chunks lie;
  // settle() does.
  void copy(Range range, Place dst, Place src);
  void reduce(Range range, Place dst, Place left, Place right, uint8_t flags = 0);
  void emit(const Step& step);
  void settle(Range range, Place where);

  // `count` adjacent slots of scratch for a value without a name; finish() lets values that never live at the
  // same time share slots.
  Place temp(uint32_t count = 1);

  // Where the value of a chunk lies now: `input` until this rank first writes it; kNowhere when it has none.
  Place cur(uint32_t chunk) const;
  // Where the call's input of this chunk lies; kNowhere when this rank has none.
  Place input(uint32_t chunk) const;
  // Where a result of this chunk belongs: `output`, or where this rank has none, the scratch where it lies
  // now, or kNowhere.
  Place home(uint32_t chunk) const;

  // Copies what was never written into its output, allots scratch, derives the dependencies and hands over
  // the program; the builder is then empty. in_place: input[c] and output[c] are the same bytes.
  Result<Program> finish(bool in_place);

 private:
  // What a message does here: which steps, and where its values come from and go to.
  struct Message {
    Op op;
    int peer, lane;
    uint8_t flags;
    bool aside = false;  // to fresh scratch instead of home
  };
  bool holds(Range range, const char* verb);
  Place target(uint32_t chunk, bool aside) const;
  uint32_t home_end(uint32_t chunk, uint32_t end) const;
  Range piece(Range rest, bool reads, bool writes, bool aside) const;
  void add(const Message& message, const Ranges& ranges);
  void add_range(const Message& message, Range range, bool open);
  void add_apart(Message message, const Ranges& ranges);
  void land();
  void fold_piece(Range now, std::span<const Place> operands, uint32_t offset, uint8_t flags);
  void copy_unwritten(bool in_place);
  void straighten_detours();
  void fail(std::string text);

  Place own_place(Buffer buffer, uint32_t chunk) const;

  Program program_;
  Collective collective_ = Collective::allreduce;  // as far as it says where chunks lie
  uint32_t n_ = 1;
  Range inputs_, outputs_;
  Holdings cur_;
  std::vector<Range> blocks_;  // of scratch, in slots not yet shared; see scratch.h
  uint32_t next_slot_ = 0;
  std::vector<uint32_t> stages_;  // the steps at which they begin
  // Receives into scratch and their copies to where chunks belong, which are needed in place only.
  struct Detour {
    uint32_t recv, copy;
  };
  std::vector<Detour> detours_;  // by `copy`
  // Receives of the message now open that will be copied home, some out of place too.
  struct Landing {
    uint32_t recv;
    bool always;
  };
  std::vector<Landing> landing_;
  bool incomplete_ = false;
  std::string error_;  // the first wrong use
};

}  // namespace plait::collectives
