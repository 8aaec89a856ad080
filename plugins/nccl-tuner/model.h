// What NCCL's algorithms take over the network: plait's programs of the same shape in the cost machine
// (docs/cost.md), in a room of hosts whose GPUs are near each other.
#pragma once

#include <array>
#include <cstdint>

#include "base/status.h"
#include "collectives/collective.h"
#include "nccl-tuner/abi.h"
#include "nccl-tuner/network.h"

namespace plait::nccl::tuner {

// Those of NCCL's algorithms that there are programs of, in the order of `Times`.
enum class Way : uint8_t { tree, ring, pat };
constexpr int kWays = 3;
constexpr TunerAlgorithm kRows[kWays] = {TunerAlgorithm::tree, TunerAlgorithm::ring, TunerAlgorithm::pat};

// What a GPU adds by protocol, in seconds: to a call, to a step inside a host, to one between hosts.
struct Overheads {
  using Table = std::array<std::array<double, tuner_protocols>, kWays>;
  Table call, inside, between;
};
// Those of NCCL's own model: as it passes them (version 5), where they are times, else its defaults.
Overheads overheads(const TunerConstantsV5* constants);

struct Hosts {
  int32_t hosts = 1, ranks = 1;  // in all; a host has as many as another, the last ones maybe fewer
  int32_t per_host() const noexcept { return (ranks + hosts - 1) / hosts; }
};

// Seconds of each way and protocol; negative: there is no program for it.
using Times = std::array<std::array<double, tuner_protocols>, kWays>;

// Immutable. Any thread.
class Model {
 public:
  Model(const Network& network, const Overheads& overheads, Hosts hosts)
      : network_(network), overheads_(overheads), hosts_(hosts) {}

  // Of a vector of so many bytes. Takes milliseconds, whatever the number of ranks.
  Result<Times> times(collectives::Collective collective, uint64_t bytes) const;
  const Hosts& hosts() const noexcept { return hosts_; }

 private:
  Result<double> time(collectives::Collective collective, Way way, Protocol protocol, uint64_t bytes) const;

  const Network network_;
  const Overheads overheads_;
  const Hosts hosts_;
};

}  // namespace plait::nccl::tuner
