// The builder: what an algorithm writes its steps into. An algorithm says who sends which chunks to whom, in
// which order; where values lie, which steps wait for which, what in place means and how much scratch that
// takes is the builder's part.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "collectives/group.h"
#include "collectives/program.h"

namespace plait::collectives {

// Makes the program of one rank in O(steps + chunks). Wrong use (a send of a chunk that this rank does not
// hold) makes finish() fail with the first such sentence; nothing else does.
class Builder {
 public:
  // `inputs` and `outputs`: the chunks of which this rank has an input and an output.
  Builder(int rank, uint32_t chunks, Range inputs, Range outputs);

  // Messages of the chunks of `range`, from where they lie now, to where they belong. One message each, of as
  // many steps as there are contiguous pieces. An empty range is no message, and no step.
  void send(int peer, Range range, int lane = 0, uint8_t flags = 0);
  void recv(int peer, Range range, int lane = 0, uint8_t flags = 0);
  void recv_reduce(int peer, Range range, int lane = 0, uint8_t flags = 0);

  // The same with chunks that are not contiguous, in this order: still one message (rule 10).
  void send(int peer, std::span<const Range> list, int lane = 0);
  void recv(int peer, std::span<const Range> list, int lane = 0);
  void recv_reduce(int peer, std::span<const Range> list, int lane = 0, uint8_t flags = 0);

  // As recv_reduce, but the result lies in scratch, apart from what it was made of: the incoming message need
  // not wait until sends of the old value are over. This is what makes a symmetric exchange do without
  // credits (rule 5).
  void recv_reduce_aside(int peer, Range range, int lane = 0, uint8_t flags = 0);

  // Receives another rank's value of `range` into scratch, next to this rank's own; returns where it lies.
  Place recv_aside(int peer, Range range, int lane = 0, uint8_t flags = 0);

  // Folds values of `range` from left to right as one declared chain (rule 7) into where the chunks belong.
  // An operand is what recv_aside(..., kChain) returned, or kNowhere for this rank's own value. One operand
  // alone is left as it is. `flags` are those of the last fold.
  void fold_chain(Range range, std::span<const Place> operands, uint8_t flags = 0);

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
    bool open = false;   // more pieces of the same message follow
    bool aside = false;  // to fresh scratch instead of home
  };
  bool holds(Range range, const char* verb);
  Place target(uint32_t chunk, bool aside) const;
  Range piece(Range rest, bool reads, bool writes, bool aside) const;
  void add(const Message& message, Range range);
  void add_list(Message message, std::span<const Range> list);
  void copy_unwritten(bool in_place);
  void fail(std::string text);

  Program program_;
  Range outputs_;
  std::vector<Place> cur_;     // of each chunk
  std::vector<Range> blocks_;  // of scratch, in slots not yet shared; see scratch.h
  uint32_t next_slot_ = 0;
  std::string error_;  // the first wrong use
};

}  // namespace plait::collectives
