// What joins ranks of different hosts: the rails that PLAIT_NETWORK names, as a domain.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/status.h"
#include "runtime/near.h"
#include "runtime/rail_spec.h"
#include "transport/module.h"
#include "transport/rails/rails.h"
#include "transport/tcp/tcp.h"
#include "transport/transport.h"

namespace plait::runtime {

// Where this rank is.
struct Place {
  std::string interfaces;      // PLAIT_IFACE
  std::vector<Address> known;  // own addresses that reached others already
  uint16_t port_min = 0, port_max = 0;
  uint32_t link_mbps = 0;                             // 0: as the interface says
  std::shared_ptr<const transport::tcp::TlsKey> tls;  // where a rail wants TLS; null: there is no secret
  int rank = -1;
  HostRanks here{};  // who shares this host's NICs; none: nobody else
  std::string sysfs = "/sys";
  int64_t settle_ms = 0;         // transport::rails::Options::settle_ms
  bool for_communicator = true;  // what a communicator needs of a network is asked; tools need less
};

// Who wants to know what becomes of rails, where there are several.
struct RailWatch {
  std::function<void(const transport::rails::RailEvent&)> told;  // transport::rails::Options::told
  std::shared_ptr<const transport::rails::AllCounts> counts;     // filled in; null: there are not several
};

// The chips that a domain of open_network() and links of theirs are of; nothing where there are none.
// `domain` is not wrapped.
Result<std::optional<transport::ChipMap>> chips_of(const std::vector<RailSpec>& rails,
                                                   const transport::Domain& domain);

// Code::unsupported and Code::system say which rail, and why it cannot be had. `watch` may be null.
Result<std::unique_ptr<transport::Domain>> open_network(const std::vector<RailSpec>& rails,
                                                        const Place& place, RailWatch* watch = nullptr);

bool wants_tls(const std::vector<RailSpec>& rails) noexcept;
// The choices of a rail over TCP, without what depends on the host. `tls`: the key, where it wants TLS.
transport::tcp::Options options_of(const RailSpec& rail, std::shared_ptr<const transport::tcp::TlsKey> tls);

}  // namespace plait::runtime
