#include "transport/ofi/domain.h"

#include <algorithm>

#include "base/hash.h"
#include "base/host.h"
#include "transport/ofi/direct.h"

namespace plait::transport::ofi {
namespace {

constexpr int64_t kSoonNs = 200'000;  // until a send that found no room is tried again by a sleeper
// An endpoint quiet for so many polls is looked at in every kNap-th.
constexpr uint32_t kDrowsy = 256, kNap = 8;

}  // namespace

Result<std::unique_ptr<Domain>> make_domain(const Options& options) {
  if (options.provider.empty()) return Status(Code::invalid, "ofi: no provider is named");
  auto choice = fabric::choose(options);
  if (!choice.ok()) return choice.status();
  auto device = fabric::Device::open(std::move(*choice));
  if (!device.ok()) return device.status();
  auto domain = std::make_unique<OfiDomain>(options, std::move(*device));
  PLAIT_TRY(domain->start());
  return std::unique_ptr<Domain>(std::move(domain));
}

OfiDomain::OfiDomain(const Options& options, std::shared_ptr<const fabric::Device> device)
    : MessageDomain(kMaker, options.label), device_(std::move(device)) {
  const fabric::Choice& choice = device_->choice();
  const fi_ep_attr& ep = *choice.info->ep_attr;
  const uint64_t protocol =
      fnv1a(choice.provider()) + ep.protocol * 31 + ep.protocol_version + choice.rings();
  identity_.use = uint8_t(choice.mode);
  identity_.protocol = uint32_t(protocol ^ protocol >> 32);
  if (!choice.network || choice.loopback()) identity_.host = host_id();
  Capabilities& c = capabilities_;
  c.ticket_bytes += sizeof(Where) + kMostAddress;
  c.depth = uint16_t(std::clamp<size_t>(choice.info->tx_attr->size, 2, kDepth));
  c.cost = {10e-6, 2e-6, options.bandwidth_Bps != 0 ? options.bandwidth_Bps : choice.bandwidth_Bps()};
  if (choice.mode != Mode::direct) return;
  c.local_needs_region = choice.needs(FI_MR_LOCAL);
  c.holds_pages = choice.needs(FI_MR_ALLOCATED);
  c.max_transfer = std::min(ep.max_msg_size, ep.max_order_waw_size);
  c.key_bytes = sizeof(Key);
  c.max_add = kMaxAdd;
  if (choice.rings()) c.signals = fabric::Bells::kRing - fabric::Bells::kSpare;
}

bool OfiDomain::reaches(ByteView peer) const noexcept {
  const auto other = am::parse_identity(peer, kMaker);
  return other && other->use == identity_.use && other->protocol == identity_.protocol &&
         other->host == identity_.host;
}

Result<std::unique_ptr<Region>> OfiDomain::expose(const Memory& memory, Access access) {
  auto plain = MessageDomain::expose(memory, access);
  if (!plain.ok() || device_->choice().mode != Mode::direct) return plain;
  auto registration = device_->enroll(memory.base, memory.bytes, may_write(access) ? FI_REMOTE_WRITE : 0);
  if (!registration.ok()) return registration.status();
  return std::unique_ptr<Region>(
      std::make_unique<DirectRegion>(device_, std::move(*plain), std::move(*registration)));
}

Result<std::unique_ptr<am::MessageEndpoint>> OfiDomain::make(const am::TicketHead& mine, uint64_t cookie) {
  std::unique_ptr<OfiEndpoint> endpoint = device_->choice().mode == Mode::direct
                                              ? std::make_unique<DirectEndpoint>(*this, mine, cookie)
                                              : std::make_unique<OfiEndpoint>(*this, mine, cookie);
  PLAIT_TRY(endpoint->start());
  return std::unique_ptr<am::MessageEndpoint>(std::move(endpoint));
}

size_t OfiDomain::poll(std::span<Done> done) noexcept {
  sleep_.stop_timer();
  starved_ = false;
  ++polls_;
  size_t budget = kPollBytes;
  const size_t many = endpoints().size();
  for (size_t i = 0; i < many; ++i) {
    const size_t turn = (i + polls_) % many;
    auto* const endpoint = static_cast<OfiEndpoint*>(endpoints()[turn]);
    if (endpoint == nullptr) continue;
    if (endpoint->quiet < kDrowsy || (polls_ + turn) % kNap == 0 || many == 1) endpoint->progress(budget);
  }
  return work(done, budget);
}

// The wait set may take what has come, and bells ring without a completion: so they are looked at after it.
bool OfiDomain::arm() noexcept {
  if (!idle() || !sleep_.arm()) return false;
  bool soon = starved_;
  for (am::MessageEndpoint* each : endpoints()) {
    auto* const endpoint = static_cast<OfiEndpoint*>(each);
    if (endpoint == nullptr) continue;
    endpoint->quiet = 0;
    const auto rest = endpoint->rest();
    if (rest == OfiEndpoint::Rest::now) return false;
    soon |= rest == OfiEndpoint::Rest::soon;
  }
  if (soon) sleep_.wake_in(kSoonNs);
  return true;
}

}  // namespace plait::transport::ofi
