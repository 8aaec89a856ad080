// "host:port" lists, and names to addresses within a deadline.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/status.h"
#include "transport/exchange.h"

namespace plait::bootstrap {

struct HostPort {
  std::string host;  // a name or a numeric address, without brackets
  uint16_t port = 0;
};

// "host:port", "10.0.0.1:2000", "[fd00::1]:2000". Code::invalid says what is missing.
Result<HostPort> parse_host_port(std::string_view text);
// A comma list, of 1 to 8.
Result<std::vector<HostPort>> parse_host_ports(std::string_view text);

// At most 8 addresses. Numeric ones cost no look-up. Code::invalid: the name is not known (now);
// Code::timeout, Code::aborted. A look-up that outlives its deadline ends on a thread of its own.
Result<std::vector<Address>> resolve(const std::string& host, uint16_t port, const transport::Bounds& bounds);

}  // namespace plait::bootstrap
