// Network addresses: IPv4 and IPv6 alike, in a form that can be compared, copied and sent.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace plait {

// An IP address and a port. Trivially copyable, no padding with a meaning: it may travel as bytes, checked by valid().
struct Address {
  uint8_t family = 0;                // 4, 6, or 0: none
  uint8_t zero = 0;
  uint16_t port = 0;                 // host byte order
  uint32_t scope = 0;                // of a link-local IPv6 address: this host's interface index; 0 on the wire
  std::array<uint8_t, 16> bytes{};   // network order; IPv4: the first four

  // Whether it is an address, and written in the one way that it may be: == compares bytes.
  bool valid() const noexcept;
  bool loopback() const noexcept;    // 127/8 or ::1
  bool link_local() const noexcept;  // 169.254/16 or fe80::/10
  bool any() const noexcept;         // 0.0.0.0 or ::
  Address with_port(uint16_t p) const noexcept;

  friend bool operator==(const Address&, const Address&) = default;
};
static_assert(sizeof(Address) == 24);

// "10.0.0.1:2000", "[fd00::1]:2000", "[fe80::1%2]:2000"; without ":2000" when the port is 0 (and then no brackets).
std::string to_string(const Address& address);

// A numeric IPv4 or IPv6 address without port ("10.0.0.1", "fd00::1", "fe80::1%eth0", brackets allowed). Code::invalid.
Result<Address> parse_ip(std::string_view text);

// For the socket calls.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
};
SocketAddress to_socket(const Address& address) noexcept;
// family 0 for what is neither IPv4 nor IPv6. An IPv4 address mapped into IPv6 becomes the IPv4 address.
Address from_socket(const sockaddr* address, socklen_t length) noexcept;

}  // namespace plait
