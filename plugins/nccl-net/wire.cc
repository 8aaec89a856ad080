#include "wire.h"

#include "devices.h"

namespace plait::nccl {

using transport::MessageMemory;

namespace {

constexpr uint64_t kEndpointCookie = UINT64_MAX;  // never a message's

Status suits(const transport::Domain& domain) {
  const auto& caps = domain.capabilities();
  if (caps.counters >= transport::kMessageCounters && caps.max_transfer >= transport::kStreamPartBytes)
    return {};
  return {Code::unsupported, std::string(domain.name()) + " has " + std::to_string(caps.counters) +
                                 " counters an endpoint and moves " + std::to_string(caps.max_transfer) +
                                 " bytes at once, which is too little for messages"};
}

}  // namespace

Result<std::unique_ptr<Wire>> Wire::open(std::unique_ptr<transport::Domain> domain) {
  PLAIT_TRY(suits(*domain));
  std::unique_ptr<Wire> wire(new Wire(std::move(domain)));
  PLAIT_TRY(wire->make_room());
  auto endpoint = wire->domain_->open(transport::kMessageCounters, kEndpointCookie);
  if (!endpoint.ok()) return endpoint.status();
  wire->endpoint_ = std::move(*endpoint);
  return wire;
}

// In the order that the transport asks for: remote regions before their endpoint, that before the regions.
Wire::~Wire() {
  link_.reset();
  remote_.reset();
  endpoint_.reset();
  own_region_.reset();
  shadow_region_.reset();
}

Status Wire::make_room() {
  auto own = Room::make(sizeof(MessageMemory), domain_->name() == kShm);
  if (!own.ok()) return own.status();
  own_ = std::move(*own);
  auto shadow = Room::make(sizeof(MessageMemory), false);
  if (!shadow.ok()) return shadow.status();
  shadow_ = std::move(*shadow);
  auto region = domain_->expose({.base = own_.data(), .bytes = own_.size()}, transport::Access::write);
  if (!region.ok()) return region.status();
  own_region_ = std::move(*region);
  if (!domain_->capabilities().local_needs_region) return {};
  region = domain_->expose({.base = shadow_.data(), .bytes = shadow_.size()}, transport::Access::none);
  if (!region.ok()) return region.status();
  shadow_region_ = std::move(*region);
  return {};
}

Status Wire::link_up(ByteView key, std::string_view peer) {
  auto remote = endpoint_->import(key);
  if (!remote.ok()) return remote.status();
  remote_ = std::move(*remote);
  if (remote_->bytes() < sizeof(MessageMemory) || !transport::may_write(remote_->access()))
    return {Code::version, "the memory that it exposed has no room for messages of this version"};
  transport::MessageWiring wiring;
  wiring.endpoint = endpoint_.get();
  wiring.capabilities = &domain_->capabilities();
  wiring.remote = remote_.get();
  wiring.mapped = reinterpret_cast<MessageMemory*>(remote_->mapped());
  wiring.own = reinterpret_cast<MessageMemory*>(own_.data());
  wiring.shadow = reinterpret_cast<MessageMemory*>(shadow_.data());
  wiring.shadow_region = shadow_region_.get();
  link_ = std::make_unique<transport::MessageLink>(wiring, peer);
  return {};
}

}  // namespace plait::nccl
