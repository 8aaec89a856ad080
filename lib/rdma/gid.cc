#include "rdma/gid.h"

#include <arpa/inet.h>

#include <algorithm>

namespace plait::rdma {

bool is_ip4(const Gid& gid) noexcept {
  constexpr std::array<uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kMapped.begin(), kMapped.end(), gid.begin());
}

std::string to_string(const Gid& gid) {
  char text[INET6_ADDRSTRLEN] = "";
  const bool ip4 = is_ip4(gid);
  inet_ntop(ip4 ? AF_INET : AF_INET6, gid.data() + (ip4 ? 12 : 0), text, sizeof text);
  return text;
}

}  // namespace plait::rdma
