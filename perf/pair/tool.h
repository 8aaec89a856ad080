// The six tools that measure one pair of processes: what moves the bytes, and what is measured.
#pragma once

#include <cstdint>
#include <string>

namespace plait::perf::pair {

enum class Operation : uint8_t { write, read, send };
enum class Measure : uint8_t { bandwidth, latency };

struct Tool {
  Operation operation = Operation::write;
  Measure measure = Measure::bandwidth;
  bool bandwidth() const noexcept { return measure == Measure::bandwidth; }
  bool operator==(const Tool&) const = default;
};

// "plait_write_bw"
std::string name_of(Tool tool);
// "Write BW", as the banner and the JSON have it
std::string title_of(Tool tool);

}  // namespace plait::perf::pair
