// What a queue is made of: explicit config, then defaults.
#pragma once

#include <array>
#include <string>

#include "base/status.h"
#include "plait/plait.h"
#include "runtime/queue/tuner.h"

namespace plait::runtime::queue {

struct QueueConfig {
  Sizes sizes{size_t(1) << 20, size_t(512) << 10, size_t(1) << 20};
  bool autotune = false;
  TunerBounds bounds{size_t(64) << 10, size_t(8) << 20, size_t(256) << 10, size_t(32) << 20};
  size_t max_keys = 65'536;
  std::string algorithm;
  int64_t fuse_ns = 300'000;
  uint64_t pace_rate = 0, pace_burst = 0;
  bool thread = false;
  int64_t stall_ns = 60'000'000'000;  // negative: never
  int64_t timeout_ms = 0;             // 0: the communicator's
  std::string trace;
  size_t trace_tensors = 4096;
};

// For a queue of so many ranks. Code::invalid names the field that is wrong.
Result<QueueConfig> resolve_queue(const plait_queue_config* config, int32_t ranks);

// What all ranks must give alike, as numbers, each with its name in plait_queue_config.
constexpr size_t kAlike = 10;
using Alike = std::array<uint64_t, kAlike>;
Alike alike(const QueueConfig& config) noexcept;
const char* alike_name(size_t field) noexcept;

}  // namespace plait::runtime::queue
