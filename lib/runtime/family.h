// Who belongs together after a split: what each rank asks for, and the communicator that comes of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace plait::runtime {

// What a rank tells the others of its parent.
struct Wish {
  int32_t color = -1;  // negative: it wants no child
  int32_t key = 0;
  Status status;  // not ok: it cannot take part in its child, which then nobody gets
  Bytes card;     // bootstrap::Invitation::card(); none in a parent of one rank
};
Bytes encode(const Wish& wish);
// False when the bytes make no sense.
bool decode(ByteView from, Wish& wish);

// A child that is being made.
struct Family {
  uint64_t number = 0;         // tells it from every other child of its parent: operation and color
  std::string name;            // "7.0": made by operation 7, of color 0
  int32_t rank = -1;           // this rank's in it
  std::vector<int32_t> ranks;  // in the parent, by their rank in the child
  std::vector<Bytes> cards;    // by rank in the child
};

// The child of rank `rank`, which wants one: those of its color, ordered by key, then by rank; `operation` is
// the split's number. The status of the first that cannot take part.
Result<Family> family_of(const std::vector<Wish>& wishes, int32_t rank, uint64_t operation);

// "ranks 0, 1 are ranks 4, 7 of its parent", at most 8 of them.
std::string describe(const Family& family);

}  // namespace plait::runtime
