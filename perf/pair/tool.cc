#include "perf/pair/tool.h"

#include <array>

namespace plait::perf::pair {
namespace {

constexpr std::array<const char*, 3> kNames = {"write", "read", "send"};
constexpr std::array<const char*, 3> kTitles = {"Write", "Read", "Send"};

}  // namespace

std::string name_of(Tool tool) {
  return std::string("plait_") + kNames[size_t(tool.operation)] + (tool.bandwidth() ? "_bw" : "_lat");
}

std::string title_of(Tool tool) {
  return std::string(kTitles[size_t(tool.operation)]) + (tool.bandwidth() ? " BW" : " Latency");
}

}  // namespace plait::perf::pair
