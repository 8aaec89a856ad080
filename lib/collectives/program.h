// The program: what a collective is. A flat, pointer-free list of the steps of one rank over logical chunks; the order
// of the list is its meaning, dependencies are derived from it, bytes appear at execution only. docs/program.md tells
// the rules (numbered there and cited here).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plait::collectives {

enum class Op : uint8_t { send, recv, recv_reduce, copy, reduce, encode, decode, decode_reduce };
enum class Buffer : uint8_t { input, output, scratch, wire, none };

// Where a value lies. In input and output the slot is the chunk (alltoall: the peer).
struct Place {
  uint32_t buffer : 3;
  uint32_t slot : 29;
  Buffer in() const noexcept { return Buffer(buffer); }
  friend bool operator==(Place a, Place b) noexcept { return a.buffer == b.buffer && a.slot == b.slot; }
};
constexpr uint32_t kMaxSlot = (1u << 29) - 1;
constexpr Place place(Buffer buffer, uint32_t slot) noexcept { return {uint32_t(buffer) & 7u, slot & kMaxSlot}; }
constexpr Place kNowhere = place(Buffer::none, 0);

enum Flag : uint8_t {
  kMore = 1,     // one message with the next step
  kSwapped = 2,  // recv_reduce: the incoming value is the left operand
  kChain = 4,    // this fold is continued by the next step that reads its dst: no rounding in between (rule 7); for a
                 // recv: its value is an operand of the chain. See chain.h
  kLast = 8,     // this fold completes its chunk: `avg` scales here, after it and before rounding
  kEnter = 16,   // a copy from the input: here this rank's contribution is scaled, and rounded. See entry.h
};

struct Range {
  uint32_t first = 0, count = 0;
  uint32_t end() const noexcept { return first + count; }
  friend bool operator==(Range, Range) = default;
};

struct Step {                     // 28 bytes
  Op op = Op::copy;
  uint8_t flags = 0;
  uint16_t lane = 0;              // a match key, no endpoint
  int32_t peer = -1;
  Place dst = kNowhere, src = kNowhere, src2 = kNowhere;  // recv_reduce: dst = src (op) incoming; reduce: dst = src (op) src2
  uint32_t chunk = 0, count = 0;  // the only source of bytes; contiguous
};
static_assert(sizeof(Step) == 28);

constexpr bool sends(Op op) noexcept { return op == Op::send; }
constexpr bool receives(Op op) noexcept { return op == Op::recv || op == Op::recv_reduce; }
constexpr bool folds(Op op) noexcept { return op == Op::recv_reduce || op == Op::reduce || op == Op::decode_reduce; }

struct Program {
  int32_t rank = 0;
  uint32_t chunks = 0;            // logical chunks of the vector
  uint32_t scratch = 0;           // slots of Buffer::scratch, each with the largest chunk's capacity
  uint32_t wires = 0;             // slots of Buffer::wire, each with the capacity of the largest encoded chunk (rule 9)
  uint32_t lanes = 0;             // of the call, alike on all ranks; 0: as many as the steps of each rank use
  uint8_t min_credits = 0;        // set by proof or by the algorithm table: 0 fits unbuffered delivery (rule 5)
  bool in_place = false;
  bool rank_order = false;        // fit for non-commutative operators
  std::vector<Step> steps;
  // Derived by Builder::finish(), never written by an algorithm: steps that step i waits for are
  // deps[dep_begin[i]] .. deps[dep_begin[i + 1]]; a message of several steps (kMore) waits as its first step.
  std::vector<uint32_t> dep_begin, deps;
};

// Derives dep_begin and deps from reads and writes of places (RAW, WAR, WAW; zero bytes too), in place as the program
// says. Each list ascends and names first steps of messages, once each. A place out of bounds, or kMore between steps
// that cannot be one message: returns the sentence that names rank and step; empty when all is well.
std::string derive_dependencies(Program& program);

// "send", ...; "unknown op" for other values.
std::string_view name_of(Op op) noexcept;
// "scratch[2]".
std::string describe(Place place);
// One line a step, as errors and tools print it: "send chunk 3+1 from output[3] to rank 2 lane 0".
std::string describe(const Step& step);
// Which step of which rank, and what it does: "rank 3 step 5 (recv_reduce ...)".
std::string describe(const Program& program, uint32_t step);

}  // namespace plait::collectives
