// The domains of a communicator: shared memory for ranks of this host, networks for the others. Polled and
// slept on as one.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/rail_spec.h"
#include "transport/shm/arena.h"
#include "transport/transport.h"

namespace plait::runtime {

// What joins two ranks. `network` is the first one of PLAIT_NETWORK, further ones follow.
enum class Way : uint8_t { shm = 0, network = 1 };
constexpr size_t kWays = 1 + kMostAlternatives;
constexpr Way way_of(size_t alternative) noexcept { return Way(uint8_t(Way::network) + alternative); }

// Tests: what domains of communicators made from now on are wrapped in; null: nothing. Returns what it was
// before.
using WrapDomain =
    std::function<std::unique_ptr<transport::Domain>(int32_t rank, Way, std::unique_ptr<transport::Domain>)>;
WrapDomain wrap_domains(WrapDomain wrap);

class Fabric {
 public:
  explicit Fabric(int32_t rank) noexcept : rank_(rank) {}
  // Shared memory, with the whole arena exposed.
  Status open_shm(const std::string& host_id, transport::shm::Arena& arena);
  // What joins this rank to others (runtime/network.h); another way than shared memory.
  void take_network(Way way, std::unique_ptr<transport::Domain> domain) { set(way, std::move(domain)); }
  void close() noexcept;

  // Null before it was opened.
  transport::Domain* domain(Way way) const noexcept { return domains_[size_t(way)].get(); }
  // The arena's, for peers of this host.
  const transport::Region* arena_region() const noexcept { return arena_region_.get(); }

  // Takes Dones of shared memory, and with `network` those of networks, too: that costs system calls.
  size_t poll(bool network, std::span<transport::Done> done) noexcept;
  void trim() noexcept;  // Domain::trim() of all
  // True: nothing is pending, and sleep() ends when something is.
  bool arm() noexcept;
  // Until something happens, on `other` (a descriptor, or -1) too; `most_ms` at most. After arm().
  void sleep(int other, int most_ms) noexcept;

 private:
  void set(Way way, std::unique_ptr<transport::Domain> domain);

  const int32_t rank_;
  std::array<std::unique_ptr<transport::Domain>, kWays> domains_;
  std::unique_ptr<transport::Region> arena_region_;
};

}  // namespace plait::runtime
