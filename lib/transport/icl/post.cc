// Taking transfers: each is checked whole before any of it moves; up to 16 leave with one doorbell.
#include <algorithm>
#include <array>
#include <typeinfo>

#include "transport/icl/domain.h"
#include "transport/transfers.h"

namespace plait::transport::icl {
namespace {

constexpr size_t kTogether = 16;

const PeerRegion& region_of(const Transfer& transfer) noexcept {
  return *static_cast<const PeerRegion*>(transfer.remote.region);
}

uint64_t offset_in(const Region& region, const std::byte* at) noexcept {
  return uint64_t(at - static_cast<const std::byte*>(region.memory().base));
}

}  // namespace

size_t IclEndpoint::post(std::span<const Transfer> transfers) noexcept {
  std::array<icl_descriptor, kTogether> some;
  size_t taken = 0;
  while (state_ == State::ready && taken < transfers.size()) {
    const char* why = nullptr;
    size_t count = 0, took = 0;
    for (; count < std::min(kTogether, transfers.size() - taken); count++) {
      why = refusal(transfers[taken + count]);
      if (why != nullptr) break;
      some[count] = descriptor_of(transfers[taken + count]);
    }
    const icl_status status = icl_post(queue_->handle, some.data(), count, &took);
    taken += took;
    if (status == ICL_ERR_INVALID || status == ICL_ERR_DENIED)
      why = icl_last_error();
    else if (status != ICL_OK || took < count)
      break;  // it failed, which poll() tells; or it is full
    if (why != nullptr) refuse(ours() + ": a transfer to " + peer_name() + " was refused: " + why);
  }
  return taken;
}

// What carries no bytes is a signal, or nothing but an acknowledgement: a write of nothing.
icl_descriptor IclEndpoint::descriptor_of(const Transfer& transfer) const noexcept {
  icl_descriptor d{};
  d.verb = ICL_VERB_WRITE;
  d.flags = transfer.when != When::never ? unsigned(ICL_WANT_COMPLETION) : 0;
  d.cookie = transfer.cookie;
  if (transfer.verb == Verb::flush) return d;  // host memory: it is there
  if (transfer.signal.add != 0) {
    d.signal = peer_words_;
    d.signal_offset = transfer.signal.counter * sizeof(uint64_t);
    d.add = transfer.signal.add;
  }
  d.bytes = transfer.remote.bytes;
  if (d.bytes == 0) {
    if (d.signal != nullptr) d.verb = ICL_VERB_SIGNAL;
    return d;
  }
  d.remote = region_of(transfer).remote();
  d.remote_offset = transfer.remote.offset;
  if (transfer.verb == Verb::get) {
    d.verb = ICL_VERB_READ;
    d.flags |= ICL_WANT_COMPLETION;
  }
  if (transfer.verb == Verb::put && d.bytes <= domain_->capabilities().inline_bytes) {
    d.flags |= ICL_INLINE;
    d.inline_data = transfer.local.data;
  } else {
    const auto& region = *static_cast<const IclRegion*>(transfer.local.region);
    d.local = region.known();
    d.local_offset = offset_in(region, transfer.local.data);
  }
  return d;
}

// Null when it keeps to the contract.
const char* IclEndpoint::refusal(const Transfer& transfer) const noexcept {
  if (const char* why = refusal_of(transfer, theirs_.counters)) return why;
  if (transfer.verb == Verb::flush || transfer.remote.bytes == 0) return nullptr;
  const RemoteRegion& remote = *transfer.remote.region;
  if (typeid(remote) != typeid(PeerRegion)) return "no remote region of inter-chip links";
  if (region_of(transfer).queue() != queue_.get())
    return "the remote region was imported by another endpoint";
  const Capabilities& able = domain_->capabilities();
  if (transfer.remote.bytes > able.max_transfer) return "it is longer than max_transfer";
  const Region* local = transfer.local.region;
  if (transfer.verb == Verb::put && transfer.local.bytes <= able.inline_bytes) return nullptr;
  if (local == nullptr || typeid(*local) != typeid(IclRegion))
    return "local memory is in no region of inter-chip links";
  if (static_cast<const IclRegion*>(local)->device() != &domain_->device())
    return "the local region is of another chip";
  return nullptr;
}

}  // namespace plait::transport::icl
