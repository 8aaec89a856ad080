#include "runtime/queue/config.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "runtime/config.h"

namespace plait::runtime::queue {

namespace {

// Of a piece, at least: less costs more messages than it is worth.
constexpr uint64_t kShareOfRank = uint64_t(128) << 10;

Status check_range(const char* least_name, uint64_t least, const char* most_name, uint64_t most) {
  if (least <= most) return {};
  return {Code::invalid, std::string("plait_queue_config.") + least_name + " is " + std::to_string(least) +
                             ", more than " + most_name + ", " + std::to_string(most)};
}

template <class T, class U>
void take(T& value, U given) {
  if (given != 0) value = T(given);
}

}  // namespace

Result<QueueConfig> resolve_queue(const plait_queue_config* config, int32_t ranks) {
  QueueConfig c;
  c.sizes.chunk = std::max(c.sizes.chunk, kShareOfRank * uint64_t(ranks));
  plait_queue_config given{};
  if (config != nullptr) {
    PLAIT_TRY(check_struct(config, config->struct_size, sizeof given, "plait_queue_config"));
    std::memcpy(&given, config, std::min(config->struct_size, sizeof given));
  }
  if (given.timeout_ms < 0) return Status(Code::invalid, "plait_queue_config.timeout_ms is negative");
  take(c.sizes.fuse, given.fuse_bytes);
  take(c.sizes.chunk, given.chunk_bytes);
  c.sizes.window = std::max<uint64_t>(c.sizes.window, 2 * c.sizes.chunk);
  take(c.sizes.window, given.window_bytes);
  take(c.bounds.fuse_min, given.fuse_min);
  take(c.bounds.fuse_max, given.fuse_max);
  take(c.bounds.chunk_min, given.chunk_min);
  take(c.bounds.chunk_max, given.chunk_max);
  PLAIT_TRY(check_range("fuse_min", c.bounds.fuse_min, "fuse_max", c.bounds.fuse_max));
  PLAIT_TRY(check_range("chunk_min", c.bounds.chunk_min, "chunk_max", c.bounds.chunk_max));
  c.bounds.fuse_min = std::min(c.bounds.fuse_min, c.sizes.fuse);
  c.bounds.fuse_max = std::max(c.bounds.fuse_max, c.sizes.fuse);
  c.bounds.chunk_min = std::min(c.bounds.chunk_min, c.sizes.chunk);
  c.bounds.chunk_max = std::max(c.bounds.chunk_max, c.sizes.chunk);
  c.autotune = given.autotune != 0;
  take(c.max_keys, given.max_keys);
  if (given.algorithm != nullptr) c.algorithm = given.algorithm;
  if (given.fuse_us != 0) c.fuse_ns = std::max<int64_t>(given.fuse_us, 0) * 1000;
  c.pace_rate = given.pace_bytes_per_s;
  c.pace_burst = given.pace_burst != 0 ? given.pace_burst : c.sizes.chunk;
  c.thread = given.progress_thread != 0;
  if (given.stall_ms != 0) c.stall_ns = given.stall_ms * 1'000'000;
  c.timeout_ms = given.timeout_ms;
  if (given.trace != nullptr) c.trace = given.trace;
  take(c.trace_tensors, given.trace_tensors);
  return c;
}

Alike alike(const QueueConfig& c) noexcept {
  return {c.sizes.fuse,      c.sizes.chunk,      c.sizes.window,     c.autotune, c.bounds.fuse_min,
          c.bounds.fuse_max, c.bounds.chunk_min, c.bounds.chunk_max, c.max_keys, fnv1a(c.algorithm)};
}

const char* alike_name(size_t field) noexcept {
  static constexpr const char* kNames[kAlike] = {"fuse_bytes", "chunk_bytes", "window_bytes", "autotune",
                                                 "fuse_min",   "fuse_max",    "chunk_min",    "chunk_max",
                                                 "max_keys",   "algorithm"};
  return kNames[field];
}

}  // namespace plait::runtime::queue
