// Several rails as one domain: the same contract, whatever order the rails have among themselves.
#include "conformance/backends.h"
#include "transport/fake/fake.h"
#include "transport/rails/rails.h"
#include "transport/tcp/tcp.h"

namespace plait::transport::conformance {
namespace {

using fake::FakeNetwork;
using fake::FakeOptions;
using Domains = std::vector<std::unique_ptr<Domain>>;

// A network a rail.
class RailsWorld final : public World {
 public:
  RailsWorld(std::vector<FakeNetwork> networks, std::vector<std::vector<Bytes>> identities, Domains domains)
      : World(std::move(domains)), networks_(std::move(networks)), identities_(std::move(identities)) {}
  void kill(int rank) override {
    for (size_t i = 0; i < networks_.size(); ++i) networks_[i].kill(identities_[size_t(rank)][i]);
  }

 private:
  std::vector<FakeNetwork> networks_;
  std::vector<std::vector<Bytes>> identities_;  // by rank and rail
};

Result<std::unique_ptr<World>> over_fakes(const std::vector<FakeOptions>& rails) {
  std::vector<FakeNetwork> networks(rails.size());
  std::vector<std::vector<Bytes>> identities;
  Domains all;
  for (int rank = 0; rank < kRanks; ++rank) {
    Domains own;
    identities.emplace_back();
    for (size_t i = 0; i < rails.size(); ++i) {
      FakeOptions options = rails[i];
      options.seed += uint64_t(rank);
      own.push_back(
          networks[i].make_domain("fake" + std::to_string(i) + ":" + std::to_string(rank), options));
      const ByteView identity = own.back()->identity();
      identities.back().emplace_back(identity.begin(), identity.end());
    }
    auto domain = rails::make_domain(std::move(own));
    if (!domain.ok()) return domain.status();
    all.push_back(std::move(*domain));
  }
  return std::unique_ptr<World>(
      std::make_unique<RailsWorld>(std::move(networks), std::move(identities), std::move(all)));
}

FakeOptions reordering(uint64_t seed, uint32_t delay, bool mapped) {
  FakeOptions o;
  o.seed = seed;
  o.reorder = true;
  o.delay_max = delay;
  o.mapped = mapped;
  return o;
}

// As libfabric's tcp is, and nothing inline.
FakeOptions target_polls() {
  FakeOptions o = reordering(5, 10, false);
  o.capabilities.target_must_poll = true;
  o.capabilities.inline_bytes = 0;
  o.capabilities.local_needs_region = true;
  o.capabilities.max_transfer = 64 * 1024;
  return o;
}

Result<std::unique_ptr<World>> over_tcp(const std::vector<std::string>& addresses) {
  return world_of([&](int rank) -> Result<std::unique_ptr<Domain>> {
    Domains own;
    for (const std::string& address : addresses) {
      auto ip = parse_ip(address);
      if (!ip.ok()) return ip.status();
      tcp::Options options;
      options.addresses = {*ip};
      options.label = "tcp:" + address + ":" + std::to_string(rank);
      auto rail = tcp::make_domain(options);
      if (!rail.ok()) return rail.status();
      own.push_back(std::move(*rail));
    }
    auto domain = rails::make_domain(std::move(own));
    if (!domain.ok()) return domain.status();
    return std::unique_ptr<Domain>(std::move(*domain));
  });
}

}  // namespace

std::vector<Backend> rails_backends() {
  return {
      {"rails_fake",
       [] {
         return over_fakes({FakeOptions(), FakeOptions()});
       }},
      {"rails_fake_reordering",
       [] {
         return over_fakes({reordering(1, 3, false), reordering(2, 40, true), reordering(3, 12, false)});
       }},
      {"rails_fake_target_polls",
       [] {
         return over_fakes({target_polls(), target_polls()});
       }},
      {"rails_one_fake", [] { return over_fakes({FakeOptions()}); }},
      {"rails_tcp",
       [] {
         return over_tcp({"127.0.0.1", "127.0.0.2"});
       }},
  };
}

}  // namespace plait::transport::conformance
