// The endpoints that a domain has: opening them, finding them, and what is left of them when they have gone.
#include <algorithm>

#include "transport/verbs/domain.h"

namespace plait::transport::verbs {

namespace {

constexpr size_t kFirstEndpoints = 8;  // that the first queues are for
constexpr uint8_t kReads = 16;         // gets under way at a queue pair, at most
constexpr uint64_t kSlotMask = kSlots - 1, kSlotBits = kIndexBits - kNumbersBits;

}  // namespace

// Queues with room for one endpoint more.
Result<rdma::Queues*> VerbsDomain::room() {
  const auto found = std::ranges::find_if(queues_, [](const auto& queues) { return queues->take(); });
  if (found != queues_.end()) return found->get();
  PLAIT_TRY(grow());
  queues_.back()->take();
  return queues_.back().get();
}

Status VerbsDomain::grow() {
  const size_t receives = options_.signals + kControls;
  const size_t endpoints = queues_.empty() ? kFirstEndpoints : 2 * queues_.back()->users();
  auto made =
      rdma::Queues::make(*device_, *channel_, {receives, receives + options_.depth + kControls}, endpoints);
  if (made.ok()) queues_.push_back(std::move(*made));
  return made.status();
}

Ticket VerbsDomain::ticket_of(uint64_t endpoint, uint16_t counters) const {
  const ibv_device_attr& limits = device_->attributes().orig_attr;
  Ticket t;
  t.link = port_.gid.entry.link;
  t.mtu = uint8_t(port_.attributes.active_mtu);
  while (options_.mtu != 0 && rdma::bytes_of_mtu(ibv_mtu(t.mtu)) > options_.mtu) --t.mtu;
  t.gid = port_.gid.entry.gid;
  t.packet = uint32_t(random_word()) & 0xffffff;
  t.slot = uint32_t(endpoint & kSlotMask);
  t.lid = port_.attributes.lid;
  t.counters = counters;
  t.signals = options_.signals;
  t.cm_port = manager_ == nullptr ? uint16_t(0) : manager_->port();
  t.reads = uint8_t(std::clamp(std::min(limits.max_qp_rd_atom, limits.max_qp_init_rd_atom), 1, int(kReads)));
  t.domain = nonce_;
  t.endpoint = random_word();
  return t;
}

Result<std::unique_ptr<Endpoint>> VerbsDomain::open(uint16_t counters, uint64_t cookie) {
  if (!device_->is_this_process())
    return Status(Code::state, "verbs: a domain cannot be used in a forked child");
  if (counters > kCounters) {
    return Status(Code::invalid, options_.label + ": " + std::to_string(counters) +
                                     " counters asked for, an endpoint has at most " +
                                     std::to_string(kCounters));
  }
  if (free_slots_.empty() && slots_.size() == kSlots)
    return Status(Code::memory, options_.label + ": it has " + std::to_string(kSlots) + " endpoints already");
  if (!pools_.ops.reserve(options_.depth + kControls) || !pools_.dones.reserve(options_.depth + 1U))
    return Status(Code::memory, options_.label + ": no address space for an endpoint's transfers");
  ++gone_;  // until it is there
  auto queues = room();
  if (!queues.ok()) return queues.status();
  if (free_slots_.empty()) {
    free_slots_.push_back(uint32_t(slots_.size()));
    slots_.push_back(nullptr);
    connecting_.reserve(slots_.size());
  }
  const uint32_t slot = free_slots_.back();
  serial_ = serial_ == UINT32_MAX ? 1 : serial_ + 1;
  auto endpoint = std::make_unique<VerbsEndpoint>(*this, **queues, uint64_t{serial_} << kSlotBits | slot,
                                                  counters, cookie);
  --gone_;
  free_slots_.pop_back();
  slots_[slot] = endpoint.get();
  PLAIT_TRY(endpoint->start());
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

void VerbsDomain::quieten(VerbsEndpoint& endpoint) noexcept { device_->forget(mail_, endpoint.id()); }

void VerbsDomain::forget(VerbsEndpoint& endpoint) noexcept {
  const auto slot = uint32_t(endpoint.id() & kSlotMask);
  slots_[slot] = nullptr;
  free_slots_.push_back(slot);
  ++gone_;
  free_places();
}

void VerbsDomain::free_places() noexcept {
  if (!dones_.empty()) return;
  for (; gone_ != 0; --gone_) {
    pools_.ops.unreserve(options_.depth + kControls);
    pools_.dones.unreserve(options_.depth + 1U);
  }
}

void VerbsDomain::trim() noexcept {
  pools_.ops.trim();
  pools_.dones.trim();
}

VerbsEndpoint* VerbsDomain::by_id(uint64_t id) noexcept {
  const uint64_t slot = id & kSlotMask;
  VerbsEndpoint* endpoint = slot < slots_.size() ? slots_[slot] : nullptr;
  return endpoint != nullptr && endpoint->id() == id ? endpoint : nullptr;
}

void VerbsDomain::give(const Done& done, uint64_t endpoint, bool own) noexcept {
  DoneItem& item = dones_.push();
  item.done = done;
  item.endpoint = endpoint;
  item.own = own;
}

}  // namespace plait::transport::verbs
