// What the arguments of a collective call mean on a rank: how far its buffers reach, where its own block
// lies, whether it is in place.
#pragma once

#include <cstdint>

#include "runtime/request.h"

namespace plait::runtime {

inline uint64_t mix(uint64_t h, uint64_t v) noexcept {
  h = (h ^ v) * 0x9E3779B97F4A7C15ull;
  return h ^ h >> 32;
}

// How far the input and the output reach, in elements from their beginnings; 0: not touched on this rank.
struct Extents {
  uint64_t in = 0, out = 0;
};

// Whether this rank's input, or its output, holds a block of each rank, so that uneven calls have counts for
// it.
bool has_in_blocks(const Args& args, int32_t rank) noexcept;
bool has_out_blocks(const Args& args, int32_t rank) noexcept;

// Where the last of `size` blocks ends, and how many elements they hold together. False when either has more
// than `most`.
bool measure(const Blocks& blocks, int32_t size, uint64_t most, uint64_t* end, uint64_t* sum) noexcept;

// The rank of another block that shares an element with that of *rank, which is set too; -1: there is none.
// Linear where blocks lie in the order of ranks.
int32_t overlapping(const Blocks& blocks, int32_t size, int32_t* rank);

// The elements of all blocks together, of a call whose counts all ranks know. The arguments are checked: so
// nothing overflows here, or below.
uint64_t elements_of(const Args& args, int32_t size) noexcept;
Extents extents_of(const Args& args, int32_t rank, int32_t size) noexcept;

// Where the block of `rank` begins in a buffer that holds one of each.
uint64_t begin_of(const Args& args, const Blocks& blocks, int32_t rank) noexcept;

// Whether the buffers are those of an in-place call on this rank.
bool in_place(const Args& args, int32_t rank) noexcept;

// Whether ranks can compare whether they are in place. The others of a rooted call have one buffer, and a
// rank whose block is empty has a pointer that says nothing.
bool place_is_agreed(const Args& args) noexcept;

// Whether each rank knows the count of every block. Otherwise it knows those of the blocks that it holds.
bool counts_are_agreed(const Args& args) noexcept;

// Alike but for buffers and deadline.
bool same_shape(const Args& a, const Args& b, int32_t size) noexcept;

// Of all but the buffers and the deadline; equal for the same shape.
uint64_t hash_of(const Args& args, int32_t size) noexcept;

// Of counts alone, as ranks compare them.
uint32_t hash_of_counts(const size_t* counts, int32_t size) noexcept;

}  // namespace plait::runtime
