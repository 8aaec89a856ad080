#include "runtime/config.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace plait::runtime {
namespace {

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0 ? value : nullptr;
}

// Reads a whole number of `name` into *to, if it is set.
Status read_number(const char* name, int64_t least, int64_t most, int64_t* to) {
  const char* text = variable(name);
  if (text == nullptr) return {};
  int64_t value = 0;
  const char* end = text + std::strlen(text);
  auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end || value < least || value > most) {
    return {Code::invalid, std::string(name) + "=" + text + " is not a whole number from " +
                               std::to_string(least) + " to " + std::to_string(most)};
  }
  *to = value;
  return {};
}

constexpr int64_t kMostRanks = 1 << 20;
constexpr int64_t kMostSeconds = 365 * 24 * 3600;

Status read_identity(Config& c) {
  int64_t rank = -1, size = 0;
  PLAIT_TRY(read_number("RANK", 0, kMostRanks - 1, &rank));
  PLAIT_TRY(read_number("WORLD_SIZE", 1, kMostRanks, &size));
  if (rank >= 0 && size == 0) return {Code::invalid, "RANK is set, WORLD_SIZE is not: a launcher sets both"};
  if (size > 0 && rank < 0) return {Code::invalid, "WORLD_SIZE is set, RANK is not: a launcher sets both"};
  if (size == 0) return {};
  if (rank >= size) {
    return {Code::invalid,
            "RANK=" + std::to_string(rank) + " is not below WORLD_SIZE=" + std::to_string(size)};
  }
  c.rank = int32_t(rank);
  c.size = int32_t(size);
  return {};
}

Status read_timeouts(Config& c) {
  int64_t seconds = c.bootstrap_timeout_ms / 1000;
  PLAIT_TRY(read_number("PLAIT_BOOTSTRAP_TIMEOUT", 1, kMostSeconds, &seconds));
  c.bootstrap_timeout_ms = seconds * 1000;
  seconds = c.timeout_ms / 1000;
  PLAIT_TRY(read_number("PLAIT_TIMEOUT", 1, kMostSeconds, &seconds));
  c.timeout_ms = seconds * 1000;
  return {};
}

Status apply(const plait_comm_config& from, Config& c) {
  if (from.parent != nullptr)
    return {Code::unsupported, "plait_comm_config.parent is reserved and must be NULL"};
  if (from.size < 0 || from.size > kMostRanks || from.bootstrap_timeout_ms < 0 || from.timeout_ms < 0) {
    return {Code::invalid,
            "plait_comm_config: size and timeouts must not be negative, size not above 1048576"};
  }
  if (from.size > 0) {
    if (from.rank < 0 || from.rank >= from.size) {
      return {Code::invalid, "plait_comm_config: rank " + std::to_string(from.rank) + " is not in 0.." +
                                 std::to_string(from.size - 1)};
    }
    c.rank = from.rank;
    c.size = from.size;
  }
  if (from.job != nullptr) c.job = from.job;
  if (from.host_id != nullptr) c.host_id = from.host_id;
  if (from.bootstrap_timeout_ms > 0) c.bootstrap_timeout_ms = from.bootstrap_timeout_ms;
  if (from.timeout_ms > 0) c.timeout_ms = from.timeout_ms;
  return {};
}

}  // namespace

Status check_struct(const void* config, size_t struct_size, size_t known, const char* name) {
  if (struct_size < sizeof(size_t)) {
    return {Code::invalid, std::string(name) + ": struct_size is " + std::to_string(struct_size) +
                               "; set it to sizeof(" + name + ")"};
  }
  const auto* bytes = static_cast<const unsigned char*>(config);
  for (size_t i = known; i < struct_size && struct_size <= 4096; i++) {
    if (bytes[i] == 0) continue;
    return {Code::invalid, std::string(name) +
                               ": a field that this version of plait does not know is set; the program " +
                               "was built for a newer one"};
  }
  if (struct_size > 4096) {
    return {Code::invalid, std::string(name) + ": struct_size " + std::to_string(struct_size) + " is absurd"};
  }
  return {};
}

Result<Config> resolve(const plait_comm_config* config) {
  plait_comm_config given{};
  if (config != nullptr) {
    PLAIT_TRY(check_struct(config, config->struct_size, sizeof given, "plait_comm_config"));
    std::memcpy(&given, config, std::min(config->struct_size, sizeof given));
  }
  Config c;
  if (given.size == 0) PLAIT_TRY(read_identity(c));
  PLAIT_TRY(read_timeouts(c));
  if (const char* job = variable("PLAIT_JOB")) c.job = job;
  if (const char* host = variable("PLAIT_HOST_ID")) c.host_id = host;
  PLAIT_TRY(apply(given, c));
  if (c.size > 1 && c.job.empty()) {
    return Status(Code::invalid,
                  "no job name: start the ranks with plait-run, or give all of them the same PLAIT_JOB "
                  "(plait_comm_config.job)");
  }
  if (c.job.size() > 80) return Status(Code::invalid, "the job name is longer than 80 bytes");
  if (c.host_id.size() > 200) return Status(Code::invalid, "PLAIT_HOST_ID is longer than 200 bytes");
  return c;
}

}  // namespace plait::runtime
