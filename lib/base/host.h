// What this host is called, and by what others know whether it is the same one.
#pragma once

#include <cstdint>
#include <string>

namespace plait {

// Printable and without spaces; "unknown" where there is none.
std::string host_name();

// Equal for processes that share a running kernel and its network namespace, in which loopback addresses and
// abstract sockets live.
std::string host_and_network();
uint64_t host_id();  // the same as a number

}  // namespace plait
