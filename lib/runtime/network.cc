#include "runtime/network.h"

#include <algorithm>

#include "bootstrap/interfaces.h"
#include "runtime/modules.h"
#include "runtime/peer.h"
#include "runtime/signals.h"
#include "transport/paced/paced.h"
#include "transport/tcp/tcp.h"

namespace plait::runtime {
namespace {

using transport::Domain;

static_assert(kMostRails == transport::rails::kRails);

struct Addresses {
  std::vector<Address> all;  // best first
  std::string interface;     // that of the first, if it is known
};

// Those of the interfaces that are wanted; first what reached the others already.
Result<Addresses> addresses_of(const std::string& interfaces, const std::vector<Address>& known) {
  auto all = bootstrap::list_interfaces();
  if (!all.ok()) return all.status();
  auto chosen = bootstrap::choose(*all, interfaces);
  if (!chosen.ok()) return chosen.status();
  std::vector<Address> addresses = known;
  for (const bootstrap::Interface& i : *chosen) {
    if (std::ranges::find(addresses, i.address) == addresses.end()) addresses.push_back(i.address);
  }
  // A link-local address works on its own link only, and not before the kernel has found it to be the only
  // one.
  auto link_local = [](const Address& a) { return a.link_local(); };
  if (!std::ranges::all_of(addresses, link_local)) std::erase_if(addresses, link_local);
  if (addresses.empty()) return Status(Code::unsupported, "this host has no network interface that is up");
  auto first = std::ranges::find(*chosen, addresses.front(), &bootstrap::Interface::address);
  return Addresses{std::move(addresses), first == chosen->end() ? std::string() : first->name};
}

// The detail is an interface, or what else PLAIT_IFACE takes.
Result<std::unique_ptr<Domain>> open_tcp(const RailSpec& rail, const Place& place) {
  const bool own = rail.detail.empty();
  auto addresses =
      addresses_of(own ? place.interfaces : rail.detail, own ? place.known : std::vector<Address>());
  if (!addresses.ok()) return addresses.status();
  const std::string& interface = addresses->interface;
  const std::string label = interface.empty() ? to_string(addresses->all.front()) : interface;
  const uint32_t mbps = place.link_mbps > 0 ? place.link_mbps
                        : interface.empty() ? 0
                                            : bootstrap::speed_mbps(interface);
  if (rail.options.tls && !place.tls)
    return Status(Code::auth,
                  "TLS needs a secret of the job to prove with, and there is none: set PLAIT_SECRET_FILE "
                  "(plait_comm_config.secret_file)");
  transport::tcp::Options options = options_of(rail, place.tls);
  options.addresses = addresses->all;
  options.port_min = place.port_min;
  options.port_max = place.port_max;
  options.label = "tcp:" + label;
  options.bandwidth_Bps = mbps * 125e3;
  return transport::tcp::make_domain(options);
}

// What a communicator asks of any network.
Status suits(const Domain& domain, const Place& place) {
  if (!place.for_communicator) return {};
  const transport::Capabilities& caps = domain.capabilities();
  auto lacks = [&](const std::string& what) {
    return Status(Code::unsupported, std::string(domain.name()) + " " + what);
  };
  if (caps.counters < kPeerCounters)
    return lacks("has " + std::to_string(caps.counters) + " counters an endpoint, " +
                 std::to_string(kPeerCounters) + " are needed");
  if (caps.inline_bytes < sizeof(CallRecord))
    return lacks("takes " + std::to_string(caps.inline_bytes) + " bytes inline, " +
                 std::to_string(sizeof(CallRecord)) + " are needed");
  if (caps.max_transfer < transport::kPartBytes * transport::Wire().together)
    return lacks("moves " + std::to_string(caps.max_transfer) + " bytes at once, which is too little");
  return {};
}

Result<std::unique_ptr<Domain>> open_module(const RailSpec& rail, const Place& place) {
  auto module = load_module(rail.fabric);
  if (!module.ok()) return module.status();
  auto addresses = addresses_of(place.interfaces, place.known);
  if (!addresses.ok()) return addresses.status();
  const KeptSignals signals;
  auto domain = (*module)->open({.detail = rail.detail,
                                 .options = rail.how,
                                 .addresses = addresses->all,
                                 .port_min = place.port_min,
                                 .port_max = place.port_max,
                                 .bandwidth_Bps = place.link_mbps * 125e3,
                                 .rank = place.rank});
  if (!domain.ok()) return domain;
  PLAIT_TRY(suits(**domain, place));
  return domain;
}

Result<std::unique_ptr<Domain>> paced(std::unique_ptr<Domain> domain, const RailRate& rate) {
  transport::paced::Options options{.rate_Bps = rate.rate};
  if (rate.burst != 0) options.burst_bytes = rate.burst;
  return transport::paced::make_domain(std::move(domain), options);
}

// `name`: as PLAIT_NETWORK has it.
Result<std::unique_ptr<Domain>> open_rail(const RailSpec& rail, const std::string& name, const Place& place) {
  auto domain = rail.fabric == kTcp ? open_tcp(rail, place) : open_module(rail, place);
  if (domain.ok()) return rail.pace.rate == 0 ? std::move(domain) : paced(std::move(*domain), rail.pace);
  return Status(domain.status().code(),
                "the network \"" + name + "\": " + std::string(domain.status().text()));
}

}  // namespace

bool wants_tls(const std::vector<RailSpec>& rails) noexcept {
  return std::ranges::any_of(rails, [](const RailSpec& rail) { return rail.options.tls; });
}

transport::tcp::Options options_of(const RailSpec& rail, std::shared_ptr<const transport::tcp::TlsKey> tls) {
  transport::tcp::Options options;
  options.send_buffer = rail.options.send_buffer;
  options.receive_buffer = rail.options.receive_buffer;
  options.pacing_Bps = double(rail.options.pacing);
  options.bulk_connections = rail.options.connections;
  options.engine = rail.options.engine;
  if (rail.options.tls) options.tls = std::move(tls);
  return options;
}

Result<std::optional<transport::ChipMap>> chips_of(const std::vector<RailSpec>& rails, const Domain& domain) {
  if (rails.size() != 1 || rails.front().fabric == kTcp) return std::optional<transport::ChipMap>();
  auto module = load_module(rails.front().fabric);
  if (!module.ok()) return module.status();
  if ((*module)->chips == nullptr) return std::optional<transport::ChipMap>();
  auto map = (*module)->chips(domain);
  if (!map.ok()) return map.status();
  return std::optional<transport::ChipMap>(std::move(*map));
}

Result<std::unique_ptr<Domain>> open_network(const std::vector<RailSpec>& rails, const Place& place,
                                             RailWatch* watch) {
  const auto settled = settle_near(rails, place);
  if (!settled.ok())
    return Status(settled.status().code(),
                  "the network \"" + to_string(rails) + "\": " + std::string(settled.status().text()));
  if (rails.size() == 1) return open_rail(settled->front(), to_string(rails.front()), place);
  std::vector<std::unique_ptr<Domain>> domains;
  for (size_t i = 0; i < rails.size(); i++) {
    auto domain = open_rail((*settled)[i], to_string(rails[i]), place);
    if (!domain.ok()) return domain;
    domains.push_back(std::move(domain).value());
  }
  transport::rails::Options options;
  options.label = to_string(rails);
  options.settle_ms = place.settle_ms;
  if (watch != nullptr) options.told = watch->told;
  auto bound = transport::rails::make_domain(std::move(domains), options);
  if (!bound.ok()) return bound.status();
  if (watch != nullptr) watch->counts = (*bound)->counts();
  std::unique_ptr<Domain> domain = std::move(bound).value();
  PLAIT_TRY(suits(*domain, place));
  return domain;
}

}  // namespace plait::runtime
