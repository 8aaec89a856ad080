#include "transport/transfers.h"

#include <typeinfo>

namespace plait::transport {

namespace {

const PeerRegion& region_of(const Transfer& transfer) noexcept {
  return *static_cast<const PeerRegion*>(transfer.remote.region);
}

const char* slices_refusal(const Transfer& transfer) noexcept {
  const auto& [data, bytes, region] = transfer.local;
  if (bytes != transfer.remote.bytes) return "the slices differ in length";
  if (data == nullptr) return "no local memory";
  if (region != nullptr) {
    const Memory& whole = region->memory();
    const auto at = reinterpret_cast<uintptr_t>(data) - reinterpret_cast<uintptr_t>(whole.base);
    if (!in_bounds(at, bytes, whole.bytes)) return "the local slice is out of bounds";
  }
  const RemoteRegion* remote = transfer.remote.region;
  if (remote == nullptr) return "no remote region";
  if (bytes > kMaxTransfer || !in_bounds(transfer.remote.offset, bytes, remote->bytes()))
    return "the remote slice is out of bounds";
  if (transfer.verb == Verb::put && !may_write(remote->access()))
    return "the peer's region may not be written";
  if (transfer.verb == Verb::get && !may_read(remote->access())) return "the peer's region may not be read";
  return nullptr;
}

size_t take_from(SlabQueue<DoneItem>& queue, std::span<Done> done) noexcept {
  size_t count = 0;
  for (; count < done.size() && !queue.empty(); queue.pop()) done[count++] = queue.front().done;
  return count;
}

}  // namespace

Place place_of(const Transfer& transfer) noexcept {
  if (transfer.remote.bytes == 0) return {};
  return {region_of(transfer).slot(), region_of(transfer).nonce(), transfer.remote.offset};
}

void Op::fill(const Transfer& transfer) noexcept {
  verb = transfer.verb;
  when = transfer.when;
  signal = transfer.signal;
  cookie = transfer.cookie;
  place = place_of(transfer);
  local = transfer.local.data;
  bytes = transfer.remote.bytes;
}

size_t OwnedDones::take(std::span<Done> done) noexcept { return take_from(queue_, done); }

size_t OrphanedDones::take(std::span<Done> done) noexcept { return take_from(queue_, done); }

void OwnedDones::leave(SlabQueue<DoneItem>& to) noexcept {
  while (queue_.size() > (own_ ? 1U : 0U)) {
    const Done done = queue_.front().done;
    queue_.pop();
    to.push().done = done;
  }
  queue_.clear();
}

const char* refusal_of(const Transfer& transfer, uint32_t counters) noexcept {
  if (transfer.verb == Verb::flush) return nullptr;
  if (transfer.verb != Verb::put && transfer.verb != Verb::get) return "no such verb";
  if (transfer.verb == Verb::get && transfer.signal.add != 0) return "a get carries no signal";
  if (transfer.signal.add != 0 && transfer.signal.counter >= counters) return "the peer has no such counter";
  if (transfer.remote.bytes == 0) return transfer.local.bytes == 0 ? nullptr : "the slices differ in length";
  return slices_refusal(transfer);
}

const char* refusal_of(const Transfer& transfer, const Endpoint* endpoint, uint32_t counters) noexcept {
  if (const char* why = refusal_of(transfer, counters)) return why;
  if (transfer.verb == Verb::flush || transfer.remote.bytes == 0) return nullptr;
  const RemoteRegion& remote = *transfer.remote.region;
  if (typeid(remote) != typeid(PeerRegion) && dynamic_cast<const PeerRegion*>(&remote) == nullptr)
    return "no remote region of this fabric";
  if (region_of(transfer).endpoint() != endpoint) return "the remote region was imported by another endpoint";
  return nullptr;
}

const char* describe(Refusal refusal) noexcept {
  switch (refusal) {
    case Refusal::nonsense:
      return "a message that makes no sense";
    case Refusal::region:
      return "a transfer to or from a region that is not exposed, or was destroyed";
    case Refusal::bounds:
      return "a transfer out of the bounds of its region";
    case Refusal::rights:
      return "a transfer that its region's rights do not allow";
    case Refusal::counter:
      return "a signal to a counter that is not there";
    case Refusal::too_many:
      return "more transfers than may be outstanding";
    case Refusal::order:
      return "a message out of turn";
  }
  return "an unknown refusal";
}

std::optional<Refusal> admit(RegionTable& regions, const Place& place, uint64_t bytes, bool write,
                             RegionTable::Pin& pin) noexcept {
  pin = regions.pin(place.slot, place.nonce);
  if (!pin) return Refusal::region;
  if (!in_bounds(place.offset, bytes, pin.bytes())) return Refusal::bounds;
  if (!(write ? may_write(pin.access()) : may_read(pin.access()))) return Refusal::rights;
  return std::nullopt;
}

}  // namespace plait::transport
