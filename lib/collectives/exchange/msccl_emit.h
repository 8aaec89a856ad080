// Turns what one MSCCL rank does into steps of plait.
#pragma once

#include <string>
#include <vector>

#include "collectives/exchange/msccl_places.h"

namespace plait::collectives::exchange::msccl {

// What lies in a place, or travels: which chunk, and the contributions of how many ranks.
struct Value {
  uint32_t chunk = 0;
  uint32_t ranks = 0;  // 0: nothing
};

// Writes the steps of one rank. Values that MSCCL keeps where plait has no place for them, such as partial
// sums in the input, are put in scratch. A step whose chunks are not contiguous becomes several, of one
// message where it is one.
class Emitter {
 public:
  Emitter(const File& file, uint32_t rank, bool in_place, Budget& budget);

  // Each does one instruction, or half of one, and returns why it cannot be done; empty: it was.
  std::string send(const Instruction& i, int32_t peer, uint16_t lane, Spot from, std::vector<Value>& message);
  std::string receive(const Instruction& i, int32_t peer, uint16_t lane, const std::vector<Value>& message);
  std::string copy(const Instruction& i);
  std::string reduce(const Instruction& i);
  // rrs: folds what arrives into a temporary of the thread block, and sends that.
  std::string fold_and_send(const Instruction& i, uint32_t block, const ThreadBlock& peers,
                            const std::vector<Value>& arrived, std::vector<Value>& message);

  // The program without dependencies; `lines` get the line of each step.
  Program take(std::vector<uint32_t>& lines);

 private:
  struct Cell {
    Value value;
    Place where = kNowhere;  // in plait's program, of what lies here now
  };
  // One chunk of a step.
  struct Element {
    uint32_t chunk;
    Place dst, src, src2;
    uint8_t flags;
  };

  std::string read(Spot spot, uint32_t k, Element& element, Cell*& cell);
  std::string join(Element& element, Value own, Value other, Value& sum);
  Place target(uint32_t at, uint32_t chunk);
  uint32_t temporary(uint32_t block, uint32_t count);
  std::string write(const Instruction& i, Op op, int32_t peer, uint16_t lane);

  const File& file_;
  uint32_t ranks_;
  Places places_;
  Budget& budget_;
  std::vector<Cell> cells_;
  std::vector<uint32_t> moved_;  // scratch slot of each place whose values plait cannot keep there; kNone
  struct Temporary {
    uint32_t first[2] = {0, 0}, count = 0, turn = 0;
  };
  std::vector<Temporary> temporaries_;  // of each thread block
  std::vector<Element> elements_;       // of the step being written
  Program program_;
  std::vector<uint32_t> lines_;
};

}  // namespace plait::collectives::exchange::msccl
