#include "perf/nccl/checks.h"

#include <algorithm>

namespace plait::nccl_drive {

const char* title(int point) {
  static constexpr const char* kTitles[kPoints] = {
      "begin and end", "properties",       "handles",
      "handshake",     "listen and close", "device handles",
      "threads",       "32 requests",      "null requests",
      "matching",      "sizes of test",    "short, long and empty",
      "failures",      "close in flight",  "flush and traffic class"};
  return point >= 1 && point <= kPoints ? kTitles[point - 1] : "";
}

std::vector<Named> all_checks() {
  std::vector<Named> all;
  for (const auto& part :
       {setup_checks(), handshake_checks(), ring_checks(), request_checks(), matching_checks(), size_checks(),
        failure_checks(), close_checks(), device_checks()})
    all.insert(all.end(), part.begin(), part.end());
  std::stable_sort(all.begin(), all.end(), [](const Named& a, const Named& b) {
    const bool first = a.gives > Needs::nothing, second = b.gives > Needs::nothing;
    return first != second ? first : a.point < b.point;
  });
  return all;
}

}  // namespace plait::nccl_drive
