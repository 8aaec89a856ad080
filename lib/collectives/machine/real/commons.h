// The commons: what the ranks of one host show all others at once, instead of each other pair by pair. Each
// has a line an operation, which others read where it lies; an allreduce is then a look at all lines, and
// either a sum of what they hold, or of what they tell the place of. A broadcast of more than lines hold is
// done so, too, where ranks have a core each: each rank copies its share of what the root has to all others.
//
// It is a peephole of the machine, for broadcasts and for programs whose result is, on every rank and for
// each element, the chain of all inputs in the order of ranks: who folds which element, and how often, does
// not show in the bits. So ranks with a core each look at all lines and take a share each; where they share
// cores the last one to come looks for all, and whoever runs takes pieces of all shares of its core: a rank
// that has no core just now is not waited for.
//
// Two turns suffice: who knows that all came to an operation knows that every rank is done with the one
// before.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/reduce/reduce.h"
#include "transport/mailbox.h"

namespace plait::collectives::real {

constexpr uint32_t kCommonTurns = 2;
// Values of up to so many bytes are shown themselves: all ranks fold all of them. In the line, if they fit.
constexpr size_t kCommonBytes = 1024;
// Where ranks share cores: what one takes at a time.
constexpr size_t kCommonPiece = 32 * 1024;
// The largest vectors for which they do so, of all ranks together: of larger ones each process would come to
// touch all pages of all ranks, which it has to be told of one by one (8 ranks of 2 MiB on 2 cores: 900 us;
// each its share: 230).
constexpr size_t kCommonCrowdedBytes = 1024 * 1024;
// Elsewhere: what is folded between two looks at whether to go on.
constexpr size_t kCommonStride = 256 * 1024;
// Where ranks have a core each, plain memory goes through a stage, of which each rank has one: so many
// pieces, of so many bytes, that stay in a cache.
constexpr size_t kStagePiece = 256 * 1024, kStagePieces = 2;
// Of vectors that come from memory they are longer, and ranks wait for each other less often (2 ranks on a
// Zen 5, 64 MiB: 5.83 -> 5.40 ms, in place 3.88 -> 3.55; 1 MiB would take 3 % longer so).
constexpr size_t kLongStagePiece = 512 * 1024, kLongStaged = size_t{32} << 20;
// Of a vector of so many bytes: those of a piece; of the stage.
constexpr size_t stage_piece(size_t bytes) noexcept {
  return bytes >= kLongStaged ? kLongStagePiece : kStagePiece;
}
constexpr size_t stage_bytes(size_t bytes) noexcept { return kStagePieces * stage_piece(bytes); }
// Operations for which nobody asks again after some rank had plain memory and no stage.
constexpr uint32_t kCommonPause = 63;

// Where a rank's buffers lie in its shared memory, or (both) its stage; kNotShared: nowhere there, and the
// operation takes the usual way on all ranks. Comes from another process: checked before it is used.
struct CommonOffer {
  uint64_t input, output;
  uint64_t staged;  // 1: a stage
};

// Of one rank, written by it unless said otherwise, read by all; zeroed.
struct alignas(64) Commons {
  transport::Line line[kCommonTurns];
  // Of rank 0, where ranks share cores: how often ranks came, and what the last one found. That is the sum,
  // if it fits; else the rank that has it in its values, or nothing but that all may begin.
  alignas(64) std::atomic<uint32_t> came;
  transport::Line found[kCommonTurns];
  std::byte values[kCommonTurns][kCommonBytes];  // that do not fit a line
  struct alignas(64) Turn {
    std::atomic<uint32_t> taken;  // pieces of its share that somebody took, by whom
    std::atomic<uint32_t> made;   // of rank 0: those of all that are folded
  } turn[kCommonTurns];
  alignas(64) std::atomic<uint32_t> done;  // the latest operation of which its share is folded
  std::atomic<uint32_t> busy;              // the one that it folds a piece of; 0: none
  // Pieces of stages, over all operations: that it put into its own, or need not; and that it folded its
  // share of.
  alignas(64) std::atomic<uint32_t> filled;
  std::atomic<uint32_t> folded;
  alignas(64) std::atomic<uint32_t> core;  // on which it was when it last came, where ranks share cores
};

// What two ranks with a core each need of an earlier allreduce for the next one like it, in the same buffers
// (pair.cc): their offers, and what this rank folds, which holds as long as the peer offers the same again.
struct CommonPair {
  bool fits(const void* input, const void* output) const noexcept {
    return made && in == input && out == output;
  }
  bool made = false;
  const void *in = nullptr, *out = nullptr;
  CommonOffer own = {}, theirs = {};
  const std::byte* inputs[2] = {};
  std::byte* outputs[2] = {};
  Fold work = {};  // without buffers and operator
};

// What a rank's machine knows of its operation on the commons.
struct CommonWork {
  enum class Stage : uint8_t { none, gather, fold, drain, staged };
  Commons* own = nullptr;  // null: there are none
  bool crowded = false;
  bool small = false;      // the lines hold the values
  uint32_t core = 0;       // that this rank is on, where they share cores ...
  uint32_t neighbour = 1;  // ... and how far from it somebody is who was last awaited there
  Stage stage = Stage::none;
  uint32_t sequence = 0;  // of the latest operation on them ...
  uint64_t number = 0;    // ... and of its call; a pair's (pair.cc) has none
  bool last = false;      // crowded: this rank was the last to come
  // So many that could be done on them are not: allreduces, which have stages, and broadcasts, which have
  // none.
  uint32_t pause[2] = {};
  uint32_t seen = 0;    // ranks, from the next one on, that are as far
  uint64_t word = 0;    // what all lines must say
  uint32_t pieces = 0;  // crowded: of all ranks
  size_t bytes = 0;
  bool backwards = false;                // see turn_round()
  uint32_t stride = 0;                   // of its share, how many this rank has folded
  std::vector<const std::byte*> inputs;  // by rank
  std::vector<std::byte*> outputs;
  struct Staged {                   // where some go through stages
    bool any = false, own = false;  // some rank does; this one does
    std::vector<uint8_t> by;        // rank: does it?
    uint32_t base = 0;              // pieces of the operations before
    size_t piece_bytes = 0;         // of this one
    uint32_t pieces = 0;
    uint32_t filled = 0, folded = 0, emptied = 0;
    uint32_t seen_filled = 1, seen_folded = 1;  // ranks, from the next one on, that are as far
  } staged;
};

}  // namespace plait::collectives::real
