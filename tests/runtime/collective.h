// Any collective of the C API, even or uneven, called and checked in one way: pieces of buffers, what is put
// into each and what must come out of each, and nothing written between them.
#pragma once

#include <plait/plait.h>

#include <random>
#include <string>
#include <vector>

namespace plait::test {

enum class Kind : uint8_t {
  allreduce,
  reduce,
  reduce_scatter,
  allgather,
  broadcast,
  gather,
  scatter,
  alltoall,
};
inline constexpr Kind kKinds[] = {Kind::allreduce, Kind::reduce, Kind::reduce_scatter, Kind::allgather,
                                  Kind::broadcast, Kind::gather, Kind::scatter,        Kind::alltoall};
inline bool reduces(Kind k) { return k <= Kind::reduce_scatter; }
inline bool rooted(Kind k) {
  return k == Kind::reduce || k == Kind::broadcast || k == Kind::gather || k == Kind::scatter;
}
// There is a variant with counts.
inline bool has_blocks(Kind k) {
  return k == Kind::reduce_scatter || k == Kind::allgather || k == Kind::gather || k == Kind::scatter ||
         k == Kind::alltoall;
}

enum class How : uint8_t { blocking, request, plan };

// A call as all ranks know it.
struct Case {
  Kind kind;
  size_t count = 0;  // even calls: as in the C call
  plait_dtype dtype = PLAIT_FLOAT32;
  plait_op op = PLAIT_SUM;
  bool in_place = false;
  int root = 0;
  const char* algorithm = nullptr;
  How how = How::blocking;
  // Uneven calls: the elements of each rank's block; alltoall: [from * size + to].
  std::vector<size_t> counts = {};
  unsigned gaps = 0;  // not 0: a seed of where blocks lie, each rank its own way; 0: packed, no displacements

  bool uneven() const { return !counts.empty(); }
};

std::string name(const Case& c);

// Counts of an uneven call: zeroes among them, and few of more than `most` / 8.
std::vector<size_t> random_counts(Kind kind, int size, size_t most, std::mt19937& random);

// Two buffers of a rank, each with room for what a case needs.
struct Room {
  char* first;
  char* second;
  size_t bytes;
};
// Bytes that a case needs in each buffer, at most.
size_t room_for(const Case& c, int size);

// Makes the call on this rank `times` times, with values that differ. Empty, or what is wrong.
std::string run_case(const Case& c, plait_comm* comm, const Room& room, int rank, int size, int times = 1);

// What the call came to, unless it was PLAIT_OK, is its own last error.
plait_status call(const Case& c, plait_comm* comm, const Room& room, int rank, int size);

// The algorithms that the library has for a collective, as its own error message lists them.
std::vector<std::string> algorithms_of(plait_comm* comm, Kind kind, const Room& room, int rank, int size);

}  // namespace plait::test
