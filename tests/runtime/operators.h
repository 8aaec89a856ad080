// Reductions by every algorithm, called and checked in one way, for tests of types and operators. Ranks are
// threads; PLAIT_TEST_RANKS_PER_HOST puts a network between them.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "collectives/algorithms.h"
#include "support/ranks.h"
#include "unit/reduce/reference.h"

namespace plait::test {

using collectives::Algorithm;
using collectives::Collective;

// Two buffers that peers map, or none.
class Memory {
 public:
  Memory(size_t bytes, bool shared) : shared_(shared) {
    for (void*& p : data) {
      if (shared) {
        plait_mem_alloc(bytes, &p);
      } else {
        p = std::malloc(bytes);
      }
    }
  }
  ~Memory() {
    for (void* p : data) shared_ ? (void)plait_mem_free(p) : std::free(p);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* data[2] = {};

 private:
  bool shared_;
};

// A reduction, on a rank of a communicator.
struct Call {
  plait_comm* comm;
  int rank, size;
  Collective collective = Collective::allreduce;
  const char* algorithm = nullptr;
  bool in_place = false, shared = true;
  plait_dtype dtype = PLAIT_FLOAT32;
  plait_op op = PLAIT_SUM;
};

inline std::string name(const Call& c) {
  return std::string(collectives::name_of(c.collective)) + " by " +
         (c.algorithm != nullptr ? c.algorithm : "choice") + (c.in_place ? " in place" : "") +
         (c.shared ? "" : " of plain memory") + ", dtype " + std::to_string(c.dtype);
}

struct SameBits {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return std::memcmp(&a, &b, sizeof(T)) == 0;
  }
};
// Runs it. give(r, i): element i of rank r; want(i): of the result. `count` elements of the whole vector, or
// of each rank's share.
template <class T, class Give, class Want, class Same = SameBits>
std::string run(const Call& c, size_t count, const Give& give, const Want& want, const Same& same = {}) {
  const bool scattered = c.collective == Collective::reduce_scatter;
  const size_t ins = scattered ? count * size_t(c.size) : count,
               first = scattered ? size_t(c.rank) * count : 0;
  Memory memory((ins + 1) * sizeof(T), c.shared);
  T* in = static_cast<T*>(memory.data[0]);
  T* out = c.in_place ? in + first : static_cast<T*>(memory.data[1]);
  for (size_t i = 0; i < ins; i++) in[i] = give(c.rank, i);
  const std::vector<T> before(in, in + ins);
  plait_call_config config{};
  config.struct_size = sizeof config;
  config.algorithm = c.algorithm;
  const auto call = scattered ? plait_reduce_scatter : plait_allreduce;
  if (call(c.comm, in, out, count, c.dtype, c.op, &config, nullptr) != PLAIT_OK)
    return name(c) + ": " + plait_last_error(c.comm);
  for (size_t i = 0; i < count; i++) {
    if (!same(out[i], want(first + i)))
      return name(c) + ": element " + std::to_string(i) + " of " + std::to_string(count) + " is wrong";
  }
  // Nothing else was written to.
  for (size_t i = 0; i < ins; i++) {
    const bool result = c.in_place && i >= first && i < first + count;
    if (!result && std::memcmp(&in[i], &before[i], sizeof(T)) != 0)
      return name(c) + ": element " + std::to_string(i) + " of the input changed";
  }
  return {};
}

// `body` on each of n ranks that are threads of one process.
inline void on_ranks(int n, const std::function<std::string(Call)>& body) {
  const std::string job = fresh_job();
  run_ranks({n}, [&](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    return c.status != PLAIT_OK ? c.error : body({.comm = c.comm, .rank = rank, .size = size});
  });
}

// Calls body for each algorithm that folds and fits, in place and out of place, until it says something.
inline std::string each_algorithm(Call c,
                                  const std::function<std::string(const Call&, const Algorithm&)>& body) {
  int turn = 0;
  for (const Algorithm& algorithm : collectives::algorithms()) {
    const bool folds =
        algorithm.collective == Collective::allreduce || algorithm.collective == Collective::reduce_scatter;
    if (!folds || !algorithm.accepts(c.size)) continue;
    for (bool in_place : {false, true}) {
      c.collective = algorithm.collective;
      c.algorithm = algorithm.name.data();
      c.in_place = in_place;
      c.shared = turn++ % 3 != 2;
      if (std::string words = body(c, algorithm); !words.empty()) return words;
    }
  }
  return {};
}

template <class T>
T of(double v) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(v);
  else
    return collectives::reference::narrow<T>(v);
}

inline constexpr size_t kCounts[] = {1, 300, 20011};

}  // namespace plait::test
