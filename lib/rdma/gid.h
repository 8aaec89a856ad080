// Addresses of ports, as RDMA devices have them.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace plait::rdma {

using Gid = std::array<uint8_t, 16>;  // network order
enum class Link : uint8_t { infiniband = 1, roce1 = 2, roce2 = 3 };

constexpr bool known(Link link) noexcept { return link >= Link::infiniband && link <= Link::roce2; }
// An IPv4 address mapped into it.
bool is_ip4(const Gid& gid) noexcept;
// "10.0.0.1" for an IPv4 address mapped into it, else as IPv6.
std::string to_string(const Gid& gid);

}  // namespace plait::rdma
