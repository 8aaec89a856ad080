// Latency and bandwidth of a plugin between two processes, beside plain sockets in the same rounds.
#pragma once

#include <functional>
#include <vector>

#include "perf/nccl/side.h"

namespace plait::nccl_drive {

struct Measure {
  std::vector<size_t> sizes = {8, 64, 512, 4096, 32768, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26};
  std::vector<size_t> windows = {1, 4, 32};  // messages in flight on each comm
  size_t comms = 1;
  int rounds = 5;
  bool plain = false;
};

// Of one size: medians of the rounds. Plain sockets': 0 where they were not asked for.
struct Figures {
  size_t bytes = 0;
  double half_us = 0, plain_half_us = 0;
  double half_ratio = 0;  // the median of the rounds' ratios, plain / plugin: above 1 the plugin is faster
  // By window: GB/s, a plain socket's through as much memory, and the ratio plugin / plain.
  std::vector<double> gbps, plain_gbps, ratios;
};

// Measures size by size, and tells each as soon as it is known. The plugin is loaded in this process.
Status measure(const Job& job, const Measure& what, const std::function<void(const Figures&)>& tell);

}  // namespace plait::nccl_drive
