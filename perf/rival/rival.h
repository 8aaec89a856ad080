// A library that plait-perf --compare measures beside plait: a program of its own, so that nothing of it is
// in plait's processes, with a process for each rank. They sleep while they have no order.
#pragma once

#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "perf/rival/order.h"

namespace plait::perf::rival {

class Rival {
 public:
  virtual ~Rival() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Rank 0's order to all, who sleep until it comes.
  virtual void share(Order& order) = 0;
  virtual void barrier() = 0;
  // The samples of the slowest rank, on rank 0.
  virtual void slowest(std::vector<double>& us) = 0;
  // Makes ready for calls of this; in place: `in` is null. False: the library has no such collective.
  virtual bool prepare(const Order& order, const float* in, float* out) = 0;
  virtual void call() = 0;
};

// Elements of the larger buffer.
inline uint64_t most_count(const Order& o, int ranks) {
  const bool parted = o.kind == Kind::reduce_scatter || o.kind == Kind::allgather || o.kind == Kind::gather ||
                      o.kind == Kind::scatter || o.kind == Kind::alltoall;
  return parted ? o.count * uint64_t(ranks) : o.count;
}

inline std::vector<double> time(Rival& rival, const Order& order) {
  for (int i = 0; i < order.warmup; ++i) rival.call();
  std::vector<double> us(static_cast<size_t>(order.samples));
  rival.barrier();
  int64_t begin = now_ns();
  for (double& one : us) {
    for (int i = 0; i < order.batch; ++i) rival.call();
    const int64_t end = now_ns();
    one = double(end - begin) / 1e3 / order.batch;
    begin = end;
  }
  rival.slowest(us);
  return us;
}

// Serves orders until there are no more.
inline void serve(Rival& rival) {
  std::vector<float> first, second;
  for (;;) {
    Order order;
    std::string line;
    if (rival.rank() == 0 && std::getline(std::cin, line))
      order = read_order(line, rival.size()).value_or(Order());
    rival.share(order);
    if (order.samples == 0) return;
    const size_t most = size_t(most_count(order, rival.size()));
    if (first.size() < most) first.resize(most), second.resize(most);
    const bool can = rival.prepare(order, order.in_place != 0 ? nullptr : first.data(), second.data());
    const std::vector<double> us = can ? time(rival, order) : std::vector<double>();
    if (rival.rank() == 0) std::cout << (can ? write_samples(us) : "none") << std::endl;
  }
}

}  // namespace plait::perf::rival
