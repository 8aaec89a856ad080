// What PLAIT_NETWORK may say of a rail behind a question mark: "tcp:eth1?tls=1+connections=2".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "transport/tcp/tcp.h"

namespace plait::runtime {

// A token bucket on a rail of any fabric (transport/paced).
struct RailRate {
  uint64_t rate = 0;   // bytes a second; 0: no limit
  uint64_t burst = 0;  // bytes; 0: as transport/paced has it
  bool operator==(const RailRate&) const = default;
};

// Of a rail over TCP.
struct RailOptions {
  bool tls = false;
  int connections = 1;                           // for bulk to one peer
  uint64_t send_buffer = 0, receive_buffer = 0;  // bytes; 0: the kernel's choice
  uint64_t pacing = 0;                           // bytes a second; 0: none
  transport::tcp::EngineKind engine = transport::tcp::EngineKind::automatic;
  bool operator==(const RailOptions&) const = default;
};

// Takes the pairs that RailRate has out of `text`, pairs KEY=VALUE with a plus between, and returns the
// others, if there are any. Code::invalid says what is wrong.
Result<std::optional<std::string>> take_rail_rate(std::string_view text, RailRate* to);
// Empty where there is no limit.
std::string to_string(const RailRate& rate);

// Pairs KEY=VALUE with a plus between, each key once. Code::invalid says what is wrong, and which keys there
// are.
Result<RailOptions> parse_rail_options(std::string_view text);
// What parse_rail_options() reads alike; empty where nothing but defaults is asked for.
std::string to_string(const RailOptions& options);

}  // namespace plait::runtime
