#include "conformance/backends.h"

#include <algorithm>
#include <iterator>

#include "transport/fake/fake.h"
#include "transport/hooks/fault.h"
#include "transport/hooks/trace.h"
#include "transport/paced/paced.h"
#include "transport/shm/shm.h"
#include "transport/tcp/tcp.h"

namespace plait::transport::conformance {
namespace {

using fake::FakeNetwork;
using fake::FakeOptions;

class FakeWorld final : public World {
 public:
  FakeWorld(FakeNetwork network, std::vector<std::unique_ptr<Domain>> domains)
      : World(std::move(domains)), network_(std::move(network)) {}
  void kill(int rank) override { network_.kill(domain(rank).identity()); }

 private:
  FakeNetwork network_;
};

using Wrap = std::function<std::unique_ptr<Domain>(std::unique_ptr<Domain>)>;

Backend fake_backend(std::string name, const FakeOptions& options, const Wrap& wrap = {}) {
  auto make = [options, wrap]() -> Result<std::unique_ptr<World>> {
    FakeNetwork network;
    std::vector<std::unique_ptr<Domain>> domains;
    for (int rank = 0; rank < kRanks; ++rank) {
      FakeOptions own = options;
      own.seed += uint64_t(rank);
      auto domain = network.make_domain("fake:" + std::to_string(rank), own);
      domains.push_back(wrap ? wrap(std::move(domain)) : std::move(domain));
    }
    return std::unique_ptr<World>(std::make_unique<FakeWorld>(network, std::move(domains)));
  };
  return {std::move(name), make};
}

FakeOptions unmapped() {
  FakeOptions o;
  o.mapped = false;
  return o;
}

FakeOptions reordering(uint64_t seed, bool mapped) {
  FakeOptions o;
  o.seed = seed;
  o.reorder = true;
  o.delay_max = 20;
  o.mapped = mapped;
  return o;
}

// As UCX and libfabric's tcp are.
FakeOptions target_polls() {
  FakeOptions o = reordering(5, false);
  o.capabilities.target_must_poll = true;
  return o;
}

// Little of everything.
FakeOptions shallow() {
  FakeOptions o;
  o.mapped = false;
  o.staged_bytes = 0;
  o.capabilities.local_needs_region = true;
  o.capabilities.word_last = false;
  o.capabilities.inline_bytes = 0;
  o.capabilities.max_transfer = 64 * 1024;
  o.capabilities.depth = 2;
  o.capabilities.counters = 4;
  o.capabilities.max_add = 3;
  o.capabilities.signals = 2;
  return o;
}

// No get, and nobody tells of a death.
FakeOptions blind() {
  FakeOptions o = unmapped();
  o.capabilities.get = false;
  o.capabilities.detects_death = false;
  return o;
}

std::unique_ptr<Domain> faultless(std::unique_ptr<Domain> inner) {
  return std::make_unique<hooks::FaultDomain>(std::move(inner), hooks::FaultPlan{});
}

std::unique_ptr<Domain> traced(std::unique_ptr<Domain> inner) {
  return std::make_unique<hooks::TraceDomain>(std::move(inner));
}

// Slower than the tests send, so that tokens run out again and again.
std::unique_ptr<Domain> paced_down(std::unique_ptr<Domain> inner) {
  return paced::make_domain(std::move(inner), {.rate_Bps = 400'000'000, .burst_bytes = 4096}).value();
}

// Memory of the arena, which the others map. Blocks are freed with the world.
class ShmWorld final : public World {
 public:
  explicit ShmWorld(std::vector<std::unique_ptr<Domain>> domains) : World(std::move(domains)) {}
  ~ShmWorld() override {
    for (std::byte* block : blocks_) shm::Arena::process().value()->free(block);
  }
  Memory allocate(int /*rank*/, size_t bytes) override {
    blocks_.push_back(shm::Arena::process().value()->allocate(bytes).value());
    return {blocks_.back(), bytes};
  }

 private:
  std::vector<std::byte*> blocks_;
};

Result<std::unique_ptr<World>> shm_mapped() {
  std::vector<std::unique_ptr<Domain>> domains;
  for (int rank = 0; rank < kRanks; ++rank) {
    auto domain = shm::make_domain();
    if (!domain.ok()) return domain.status();
    domains.push_back(std::move(*domain));
  }
  return std::unique_ptr<World>(std::make_unique<ShmWorld>(std::move(domains)));
}

Result<std::unique_ptr<World>> shm_plain() {
  return world_of([](int) { return shm::make_domain(); });
}

std::shared_ptr<const tcp::TlsKey> tls_key() {
  tcp::TlsKey key;
  for (size_t i = 0; i < key.bytes.size(); ++i) key.bytes[i] = std::byte(uint8_t(i * 7 + 1));
  return std::make_shared<const tcp::TlsKey>(key);
}

// Over a loopback address.
Backend tcp_backend(std::string name, std::string address,
                    const std::function<void(tcp::Options&)>& change = {}, const Wrap& wrap = {}) {
  return {std::move(name), [address, change, wrap] {
            return world_of([&](int rank) -> Result<std::unique_ptr<Domain>> {
              auto ip = parse_ip(address);
              if (!ip.ok()) return ip.status();
              tcp::Options options;
              options.addresses = {*ip};
              options.label = "tcp:" + std::to_string(rank);
              if (change) change(options);
              if (options.engine == tcp::EngineKind::uring) PLAIT_TRY(tcp::uring_status());
              if (options.tls) PLAIT_TRY(tcp::tls_status());
              auto domain = tcp::make_domain(options);
              if (!domain.ok() && ip->family == 6)  // the module is there, the address is not
                return Status(Code::unsupported, std::string(domain.status().text()));
              return domain.ok() && wrap ? wrap(std::move(*domain)) : std::move(domain);
            });
          }};
}

}  // namespace

std::vector<Backend> backends() {
  std::vector<Backend> all = {
      fake_backend("fake", {}),
      fake_backend("fake_unmapped", unmapped()),
      fake_backend("fake_reordering", reordering(7, true)),
      fake_backend("fake_reordering_unmapped", reordering(11, false)),
      fake_backend("fake_target_polls", target_polls()),
      fake_backend("fake_shallow", shallow()),
      fake_backend("fake_blind", blind()),
      // Hooks change nothing that they are not asked to.
      fake_backend("fault", {}, faultless),
      fake_backend("trace", unmapped(), traced),
      fake_backend("trace_fault_reordering", reordering(13, true),
                   [](auto d) { return traced(faultless(std::move(d))); }),
      fake_backend("paced", reordering(17, false), paced_down),
      {"shm_mapped", shm_mapped},
      {"shm_plain", shm_plain},
      tcp_backend("tcp", "127.0.0.1"),
      tcp_backend("tcp6", "::1"),
      tcp_backend("tcp_bulk2", "127.0.0.1", [](auto& o) { o.bulk_connections = 2; }),
      tcp_backend("tcp_tls", "127.0.0.1", [](auto& o) { o.tls = tls_key(); }),
      tcp_backend("tcp_tls_bulk2", "127.0.0.1",
                  [](auto& o) {
                    o.tls = tls_key();
                    o.bulk_connections = 2;
                  }),
      tcp_backend("tcp_paced", "127.0.0.1", {}, paced_down),
      tcp_backend("tcp_uring", "127.0.0.1", [](auto& o) { o.engine = tcp::EngineKind::uring; }),
  };
  std::ranges::move(rails_backends(), std::back_inserter(all));
#ifdef PLAIT_HAVE_ICL
  std::ranges::move(icl_backends(), std::back_inserter(all));
#endif
#ifdef PLAIT_HAVE_OFI
  std::ranges::move(ofi_backends(), std::back_inserter(all));
#endif
#ifdef PLAIT_HAVE_UCX
  std::ranges::move(ucx_backends(), std::back_inserter(all));
#endif
#ifdef PLAIT_HAVE_VERBS
  std::ranges::move(verbs_backends(), std::back_inserter(all));
#endif
  return all;
}

}  // namespace plait::transport::conformance
