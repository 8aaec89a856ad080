#include "transport/fake/network.h"

namespace plait::transport::fake {
namespace {

class FakeRegion final : public Region {
 public:
  FakeRegion(std::shared_ptr<Network> network, const Memory& memory, const Key& key, bool steers)
      : Region(memory), network_(std::move(network)), key_(key), steers_(steers) {}
  // Where the target's own thread moves bytes.
  bool steer(Landings& landings) noexcept override {
    std::lock_guard lock(network_->mutex);
    const auto it = network_->regions.find(key_.nonce);
    if (it == network_->regions.end() || !steers_) return false;
    it->second.landings = &landings;
    return true;
  }
  ~FakeRegion() override {
    std::lock_guard lock(network_->mutex);
    network_->regions.erase(key_.nonce);
  }
  ByteView key() const noexcept override { return bytes_of(key_); }
  uint64_t nonce() const noexcept { return key_.nonce; }

 private:
  std::shared_ptr<Network> network_;
  Key key_;
  const bool steers_;
};

class FakeRemoteRegion final : public RemoteRegion {
 public:
  FakeRemoteRegion(const Key& key, std::byte* mapped)
      : RemoteRegion(key.bytes, Access(key.access)), nonce_(key.nonce), mapped_(mapped) {}
  std::byte* mapped() const noexcept override { return mapped_; }
  uint64_t nonce() const noexcept { return nonce_; }

 private:
  uint64_t nonce_;
  std::byte* mapped_;
};

}  // namespace

uint64_t nonce_of(const RemoteRegion& region) noexcept {
  return static_cast<const FakeRemoteRegion&>(region).nonce();
}
uint64_t nonce_of(const Region& region) noexcept { return static_cast<const FakeRegion&>(region).nonce(); }

Result<std::unique_ptr<Region>> make_region(std::shared_ptr<Network> network, const DomainState& domain,
                                            const Memory& memory, Access access) {
  if (memory.kind != MemoryKind::host) {
    return Status(Code::unsupported, domain.name + ": only host memory can be exposed");
  }
  if (memory.base == nullptr || memory.bytes == 0) {
    return Status(Code::invalid, domain.name + ": cannot expose a region without bytes");
  }
  Network& net = *network;
  std::lock_guard lock(net.mutex);
  Key key;
  key.owner = domain.identity;
  do {
    key.nonce = net.nonces();
  } while (key.nonce == 0 || net.regions.contains(key.nonce));
  key.bytes = memory.bytes;
  key.access = uint64_t(access);
  seal(key);
  if (!domain.dead) net.regions.emplace(key.nonce, RegionState{domain.id, memory, access, nullptr});
  return std::unique_ptr<Region>(
      std::make_unique<FakeRegion>(std::move(network), memory, key, domain.caps().target_must_poll));
}

Result<std::unique_ptr<RemoteRegion>> import_key(Network& network, const EndpointState& endpoint,
                                                 ByteView bytes) {
  std::lock_guard lock(network.mutex);
  const std::string& name = endpoint.domain->name;
  if (endpoint.state != State::connecting && endpoint.state != State::ready) {
    return Status(Code::state, name + ": importing a key needs a connected endpoint");
  }
  Key key;
  if (!unseal(bytes, key))
    return Status(Code::invalid, name + ": this key is damaged or of another transport");
  if (key.owner.network != network.id || key.owner.domain != endpoint.peer_domain) {
    return Status(Code::auth, name + ": this key is not of " + endpoint.peer_name);
  }
  auto it = network.regions.find(key.nonce);
  if (it == network.regions.end() || it->second.domain != key.owner.domain ||
      it->second.memory.bytes != key.bytes || uint64_t(it->second.access) != key.access) {
    return Status(Code::auth, name + ": " + endpoint.peer_name + " exposes no such region");
  }
  bool mapped = endpoint.domain->options.mapped && it->second.access != Access::none;
  std::byte* base = mapped ? static_cast<std::byte*>(it->second.memory.base) : nullptr;
  return std::unique_ptr<RemoteRegion>(std::make_unique<FakeRemoteRegion>(key, base));
}

}  // namespace plait::transport::fake
