// The contract of a network plugin, point by point, as checks that each run in a process of their own.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "perf/nccl/side.h"

namespace plait::nccl_drive {

// Ok: the plugin keeps it. Code::unsupported: not exercised, with the reason. Any other error: it does not.
using Check = Status (*)(const Job& job);

// What a check stands on: where that fails, it shows nothing. In this order, each with what is before it.
enum class Needs { nothing, communicator, link, close };

struct Named {
  int point;  // 1 to 15
  const char* what;
  Check check;
  Needs needs = Needs::close;
  Needs gives = Needs::nothing;  // more than nothing: what others stand on
};

inline constexpr int kPoints = 15;
// What a point of the contract is about, in a few words.
const char* title(int point);

// Beginning and end, properties, what NCCL passes as null (1, 2, 6).
std::span<const Named> setup_checks();
// Handles, handshakes, listening (3, 4, 5).
std::span<const Named> handshake_checks();
// Handshakes of several processes at once (4).
std::span<const Named> ring_checks();
// Threads, requests in flight, requests that are null (7, 8, 9).
std::span<const Named> request_checks();
// Which send goes to which receive (10).
std::span<const Named> matching_checks();
// The size that test gives; short, long and empty messages (11, 12).
std::span<const Named> size_checks();
// Errors and the death of a peer (13).
std::span<const Named> failure_checks();
// Close with requests outstanding (14).
std::span<const Named> close_checks();
// Memory of devices, flush, traffic class (15).
std::span<const Named> device_checks();

// All: first what others stand on, then by point.
std::vector<Named> all_checks();

inline Status not_exercised(std::string why) { return Status(Code::unsupported, std::move(why)); }
inline Status broken(std::string what) { return Status(Code::invalid, std::move(what)); }

}  // namespace plait::nccl_drive
