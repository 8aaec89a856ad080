// A rank that calls again and again, and checks each result.
#pragma once

#include <string>
#include <vector>

#include "support/ranks.h"

namespace plait::test {

constexpr size_t kMostShort = 40, kMost = 20'000;  // elements of a block
constexpr int kMostRanks = 5;

enum class Kind {
  allreduce,
  reduce_scatter,
  allgather,
  broadcast,
  alltoall,
  reduce,
  gather,
  scatter,
  barrier
};
constexpr int kKinds = 9;

struct Shape {
  Kind kind = Kind::allreduce;
  size_t count = 2;  // of a block
  int root = 0;
  bool in_place = false, is_max = false;
};

// What rank `rank` gives as element `i` of its input in round `round`.
inline int32_t value(int rank, size_t i, int round) {
  return int32_t(unsigned(rank * 1000 + int(i) * 7 + round * 31) % 10'007);
}

class Caller {
 public:
  Caller(plait_comm* comm, int rank, int size) : comm_(comm), rank_(rank), size_(size) {}

  // Where the buffers of the next calls lie: room for kMost elements a block.
  void place(int32_t* in, int32_t* out) { in_ = in, out_ = out; }

  // The call of a round, and whether its result is right.
  std::string run(const Shape& s, int round) {
    const size_t blocks = size_t(size_) * s.count;
    std::fill_n(out_, blocks, -1);
    int32_t* in = place_input(s);
    for (size_t i = 0; i < blocks; i++) in[i] = value(rank_, i, round);
    if (s.kind == Kind::broadcast && s.in_place && rank_ != s.root) std::fill_n(out_, blocks, -1);
    if (call(s, in, out_) != PLAIT_OK) return plait_last_error(comm_);
    return check(s, round);
  }

  plait_status call(const Shape& s, const void* in, void* out) {
    const plait_op op = s.is_max ? PLAIT_MAX : PLAIT_SUM;
    switch (s.kind) {
      case Kind::allreduce:
        return plait_allreduce(comm_, in, out, s.count, PLAIT_INT32, op, nullptr, nullptr);
      case Kind::reduce_scatter:
        return plait_reduce_scatter(comm_, in, out, s.count, PLAIT_INT32, op, nullptr, nullptr);
      case Kind::allgather:
        return plait_allgather(comm_, in, out, s.count, PLAIT_INT32, nullptr, nullptr);
      case Kind::broadcast:
        return plait_broadcast(comm_, in, out, s.count, PLAIT_INT32, s.root, nullptr, nullptr);
      case Kind::alltoall:
        return plait_alltoall(comm_, in, out, s.count, PLAIT_INT32, nullptr, nullptr);
      case Kind::reduce:
        return plait_reduce(comm_, in, out, s.count, PLAIT_INT32, op, s.root, nullptr, nullptr);
      case Kind::gather:
        return plait_gather(comm_, in, out, s.count, PLAIT_INT32, s.root, nullptr, nullptr);
      case Kind::scatter:
        return plait_scatter(comm_, in, out, s.count, PLAIT_INT32, s.root, nullptr, nullptr);
      case Kind::barrier:
        return plait_barrier(comm_, nullptr, nullptr);
    }
    return PLAIT_ERR_INTERNAL;
  }

 private:
  // In place: of those calls where it means the same as out of place.
  static bool may_be_in_place(Kind kind) {
    return kind == Kind::allreduce || kind == Kind::broadcast || kind == Kind::reduce;
  }
  int32_t* place_input(const Shape& s) { return s.in_place && may_be_in_place(s.kind) ? out_ : in_; }

  int32_t reduced(const Shape& s, size_t i, int round) const {
    int32_t all = value(0, i, round);
    for (int r = 1; r < size_; r++)
      all = s.is_max ? std::max(all, value(r, i, round)) : all + value(r, i, round);
    return all;
  }

  // The right element `i` of the output, where there is one.
  int32_t wanted(const Shape& s, size_t i, int round) const {
    const size_t block = s.count == 0 ? 0 : i / s.count, within = s.count == 0 ? 0 : i % s.count;
    const size_t mine = size_t(rank_) * s.count;
    switch (s.kind) {
      case Kind::allreduce:
      case Kind::reduce:
        return reduced(s, i, round);
      case Kind::reduce_scatter:
        return reduced(s, mine + i, round);
      case Kind::allgather:
      case Kind::gather:
        return value(int(block), within, round);
      case Kind::broadcast:
        return value(s.root, i, round);
      case Kind::alltoall:
        return value(int(block), mine + within, round);
      case Kind::scatter:
        return value(s.root, mine + i, round);
      case Kind::barrier:
        return -1;
    }
    return -1;
  }

  size_t outputs(const Shape& s) const {
    const bool rooted = s.kind == Kind::reduce || s.kind == Kind::gather;
    if (s.kind == Kind::barrier || (rooted && rank_ != s.root)) return 0;
    const bool many = s.kind == Kind::allgather || s.kind == Kind::alltoall || s.kind == Kind::gather;
    return many ? size_t(size_) * s.count : s.count;
  }

  std::string check(const Shape& s, int round) const {
    for (size_t i = 0; i < outputs(s); i++) {
      if (out_[i] != wanted(s, i, round)) {
        return "kind " + std::to_string(int(s.kind)) + ", count " + std::to_string(s.count) + ", root " +
               std::to_string(s.root) + ", round " + std::to_string(round) + ": element " +
               std::to_string(i) + " is " + std::to_string(out_[i]) + ", not " +
               std::to_string(wanted(s, i, round));
      }
    }
    return {};
  }

  plait_comm* comm_;
  int rank_, size_;
  std::vector<int32_t> plain_ = std::vector<int32_t>(2 * kMost * kMostRanks);
  int32_t *in_ = plain_.data(), *out_ = in_ + kMost * kMostRanks;
};

}  // namespace plait::test
