#include "network.h"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <cstdlib>

#include "collectives/choice/rooms.h"
#include "documents/text_file.h"
#include "runtime/config.h"
#include "runtime/rail_spec.h"
#include "sim/parameters.h"

namespace plait::nccl::tuner {
namespace {

using collectives::Delivery;

constexpr size_t kMostFile = 64 * 1024;
constexpr double kBitsPerMega = 1e6, kBitsPerByte = 8;

// What fabrics other than TCP say of themselves (Capabilities::cost of their domains).
struct Fabric {
  std::string_view name;
  double latency, overhead;
};
constexpr std::array<Fabric, 3> kFabrics{
    {{"verbs", 2e-6, .3e-6}, {"ucx", 1e-6, .2e-6}, {"ofi", 10e-6, 2e-6}}};

Result<runtime::Config> read_config() {
  plait_comm_config given{};
  given.struct_size = sizeof given;
  given.size = 1;  // which rank this is matters nothing here
  return runtime::resolve(&given);
}

// Of the first network that is named: which one a host ends with is its own affair.
Result<std::string> fabric_of(const std::string& network) {
  if (network == "shm") return Status(Code::unsupported, "PLAIT_NETWORK=shm joins no hosts");
  const auto all = runtime::parse_alternatives(network);
  if (!all.ok()) return all.status();
  for (const auto& rails : *all)
    if (!rails.empty() && rails.front().fabric != runtime::kIcl) return rails.front().fabric;
  return Status(Code::unsupported, "PLAIT_NETWORK=" + network + " is none that NCCL can use");
}

// TCP as the cost model has it; other fabrics move bytes without the cores.
Delivery delivery_of(const std::string& fabric, double link_Bps) {
  collectives::Seating seating;
  seating.link_Bps = link_Bps;
  Delivery d = collectives::room_of(seating).between.deliveries.back();
  d.fused = false;
  for (const Fabric& f : kFabrics) {
    if (f.name != fabric) continue;
    d.latency = f.latency;
    d.send = d.recv = f.overhead;
    d.send_byte = d.recv_byte = 0;
  }
  return d;
}

// What a file may have besides (chips' engines, folds, caches) is nothing of this network's.
Status overlay(const std::string& file, Delivery& d) {
  sim::Parameters p;
  sim::Endpoint& e = p.endpoint;
  e.send = d.send, e.recv = d.recv, e.send_byte = d.send_byte, e.recv_byte = d.recv_byte;
  e.gap = d.gap, e.byte = d.byte, p.latency = d.latency;
  const auto text = documents::read_file(file, kMostFile);
  if (!text.ok()) return text.status();
  PLAIT_TRY(sim::read_parameters(*text, file, p));
  if (e.byte <= 0)
    return {Code::invalid,
            file +
                ": \"byte\" is 0, a network without limit; calibrate with --room 'ideal 2', which puts "
                "the link into this file"};
  d.send = e.send, d.recv = e.recv, d.send_byte = e.send_byte, d.recv_byte = e.recv_byte;
  d.gap = e.gap, d.byte = e.byte, d.latency = p.latency;
  return {};
}

}  // namespace

Result<Network> read_network() {
  const auto config = read_config();
  if (!config.ok()) return config.status();
  const auto fabric = fabric_of(config->network);
  if (!fabric.ok()) return fabric.status();
  Network network;
  network.delivery = delivery_of(*fabric, config->link_mbps * kBitsPerMega / kBitsPerByte);
  const char* file = std::getenv(kParametersVariable);
  const bool given = file != nullptr && *file != '\0';
  if (given) {
    const Status status = overlay(file, network.delivery);
    if (!status.ok())
      return Status(Code::invalid, std::string(kParametersVariable) + ": " + std::string(status.text()));
  }
  const std::string source = given                   ? fmt::format("by {}", file)
                             : config->link_mbps > 0 ? "by PLAIT_LINK_MBPS"
                                                     : "assumed: PLAIT_LINK_MBPS says what there is";
  const Delivery& d = network.delivery;
  network.about = fmt::format("{}, {:.3g} us and {:.3g} GB/s, {}", *fabric,
                              (d.send + d.latency + d.recv) * 1e6, 1e-9 / d.byte, source);
  return network;
}

}  // namespace plait::nccl::tuner
