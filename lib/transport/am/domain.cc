#include "transport/am/domain.h"

#include <unistd.h>

#include <algorithm>

#include "base/host.h"
#include "transport/misuse.h"

namespace plait::transport::am {

MessageDomain::MessageDomain(const Maker& maker, std::string label)
    : nonce_(random_word()), maker_(maker), label_(std::move(label)), pid_(getpid()) {
  identity_.magic = maker.magic;
  identity_.version = maker.version;
  Capabilities& c = capabilities_;
  c.get = true;
  c.target_must_poll = true;
  c.inline_bytes = kInline;
  c.max_transfer = kMaxTransfer;
  c.key_bytes = sizeof(RegionKey);
  c.ticket_bytes = sizeof(TicketHead);
  c.depth = kDepth;
  c.counters = kCounters;
  c.max_add = UINT16_MAX;
  c.signals = 0;  // the fabric's own buffers are the bound
}

bool MessageDomain::is_this_process() const noexcept { return getpid() == pid_; }

Result<std::unique_ptr<Endpoint>> MessageDomain::open(uint16_t counters, uint64_t cookie) {
  const std::string who(maker_.name);
  if (!is_this_process()) return in_forked_child(who);
  if (counters > kCounters) return too_many_counters(who, counters, kCounters);
  const size_t place = size_t(std::ranges::find(endpoints_, nullptr) - endpoints_.begin());
  if (place == kEndpoints || !pools_.ops.reserve(kDepth) || !pools_.dones.reserve(kDepth + 1) ||
      !pools_.served.reserve(kDepth))
    return Status(Code::memory, who + ": no room for another endpoint");
  TicketHead head;
  head.magic = maker_.magic;
  head.version = maker_.version;
  head.counters = counters;
  head.pid = uint32_t(pid_);
  head.domain = nonce_;
  head.endpoint = (random_word() & ~(kEndpoints - 1)) | place;
  host_name().copy(head.host.data(), head.host.size() - 1);
  if (place == endpoints_.size()) endpoints_.push_back(nullptr);
  busy_.reserve(endpoints_.size());
  auto endpoint = make(head, cookie);
  if (!endpoint.ok()) return endpoint.status();
  endpoints_[place] = endpoint->get();
  return std::unique_ptr<Endpoint>(std::move(*endpoint));
}

void MessageDomain::forget(MessageEndpoint& endpoint) noexcept {
  endpoint.leave_dones(orphans_);
  free_places();
  endpoints_[endpoint.nonce() % kEndpoints] = nullptr;
  std::erase(busy_, &endpoint);
}

void MessageDomain::free_places() noexcept {
  const size_t endpoints = orphans_.settled();
  pools_.ops.unreserve(endpoints * kDepth);
  pools_.dones.unreserve(endpoints * (kDepth + 1));
  pools_.served.unreserve(endpoints * kDepth);
}

MessageEndpoint* MessageDomain::find(uint64_t nonce) const noexcept {
  const size_t place = nonce % kEndpoints;
  MessageEndpoint* const found = place < endpoints_.size() ? endpoints_[place] : nullptr;
  return found != nullptr && found->nonce() == nonce ? found : nullptr;
}

void MessageDomain::orphan_all() noexcept {
  for (MessageEndpoint* endpoint : endpoints_) {
    if (endpoint != nullptr) endpoint->orphan();
  }
}

size_t MessageDomain::work_on(std::span<Done> done, size_t budget) noexcept {
  size_t count = orphans_.take(done);
  free_places();
  for (size_t i = 0; i < busy_.size(); ++i) {
    busy_[i]->move(budget);
    count += busy_[i]->harvest(done.subspan(count));
  }
  std::erase_if(busy_, [](MessageEndpoint* endpoint) { return !(endpoint->listed = endpoint->busy()); });
  return count;
}

void MessageDomain::trim() noexcept {
  pools_.ops.trim();
  pools_.dones.trim();
  pools_.served.trim();
}

}  // namespace plait::transport::am
