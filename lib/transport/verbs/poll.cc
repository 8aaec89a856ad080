// Polling and sleeping: completions of all queues, events of the device, Dones.
#include <arpa/inet.h>

#include <algorithm>

#include "base/log.h"
#include "rdma/explain.h"
#include "transport/verbs/domain.h"

namespace plait::transport::verbs {

namespace {

constexpr int kCompletions = 32;       // asked for at once
constexpr int kRounds = 16;            // of that, a poll
constexpr uint64_t kLookEvery = 4096;  // polls until the device and the connection manager are asked, ...
constexpr uint64_t kLookOften = 64;    // ... while something connects

}  // namespace

size_t VerbsDomain::poll(std::span<Done> done) noexcept {
  if (++polls_ % (manager_ != nullptr && !connecting_.empty() ? kLookOften : kLookEvery) == 0) hear();
  progress();
  size_t count = 0;
  while (count < done.size() && !dones_.empty()) {
    const DoneItem item = dones_.front();
    dones_.pop();
    VerbsEndpoint* endpoint = by_id(item.endpoint);
    if (item.own && endpoint == nullptr) continue;
    if (!item.own && endpoint != nullptr) endpoint->taken();
    done[count++] = item.done;
  }
  if (gone_ != 0) free_places();
  return count;
}

bool VerbsDomain::progress() noexcept {
  for (size_t i = connecting_.size(); i-- > 0;) {
    if (i < connecting_.size()) connecting_[i]->greet();
  }
  bool any = false;
  for (const auto& queues : queues_) any |= reap(*queues);
  if (mail_.waiting.load(std::memory_order_acquire)) {
    for (const rdma::DeviceEvent& event : device_->take(mail_)) heed(event);
    any = true;
  }
  return any;
}

bool VerbsDomain::reap(rdma::Queues& queues) noexcept {
  std::array<ibv_wc, kCompletions> completions;
  bool any = false;
  for (int round = 0, count = kCompletions; round < kRounds && count == kCompletions; ++round) {
    count = ibv_poll_cq(&queues.completions(), kCompletions, completions.data());
    size_t receives = 0;
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = completions[size_t(i)];
      if (completion.wr_id == rdma::kReceive) {
        ++receives;
        receive(completion);
      } else if (VerbsEndpoint* endpoint = by_id(completion.wr_id >> kSequenceBits); endpoint != nullptr) {
        endpoint->sent(completion);
      }
    }
    if (receives != 0) queues.refill(receives);
    if (count < 0)
      fail_all(Code::system, place_ + ": its completion queue is broken; look at the kernel's log (dmesg)");
    any |= count != 0;
  }
  return any;
}

// Until nothing is left, which is soon: what is being closed brings no more.
void VerbsDomain::reap_all() noexcept {
  for (const auto& queues : queues_) {
    for (int round = 0; round < 256 && reap(*queues); ++round) {
    }
  }
}

// What names another endpoint than its queue pair's is the work of a peer that means ill, or of one that has
// gone.
void VerbsDomain::receive(const ibv_wc& completion) noexcept {
  const bool good = completion.status == IBV_WC_SUCCESS && (completion.wc_flags & IBV_WC_WITH_IMM) != 0;
  const Immediate what = good ? unpack(ntohl(completion.imm_data)) : Immediate{};
  if (good && what.slot < slots_.size() && slots_[what.slot] != nullptr &&
      slots_[what.slot]->number() == completion.qp_num)
    return slots_[what.slot]->received(completion, what);
  for (VerbsEndpoint* endpoint : slots_) {
    if (endpoint == nullptr || endpoint->number() != completion.qp_num) continue;
    return completion.status != IBV_WC_SUCCESS ? endpoint->received(completion, what)
                                               : endpoint->misdirected();
  }
}

// True when there was something new.
bool VerbsDomain::hear() noexcept {
  device_->look();
  return manager_ != nullptr && manager_->look();
}

void VerbsDomain::heed(const rdma::DeviceEvent& event) noexcept {
  const std::string what = place_ + ": " + ibv_event_type_str(event.type);
  const auto [scope, code, cause] = rdma::explain(event.type);
  const std::string why = what + ": " + std::string(cause);
  VerbsEndpoint* endpoint = scope == rdma::Scope::queue_pair ? by_id(event.user) : nullptr;
  if (endpoint != nullptr)
    endpoint->fail(code, what + ": " + endpoint->peer_name() + " " + std::string(cause));
  else if (scope == rdma::Scope::device || (scope == rdma::Scope::port && event.port == port_.port.port))
    fail_all(code, why);
  else if (scope == rdma::Scope::warning)
    log::warn("{}", why);
  else
    log::debug("{}", what);
}

void VerbsDomain::fail_all(Code code, const std::string& why) noexcept {
  for (VerbsEndpoint* endpoint : slots_) {
    if (endpoint != nullptr) endpoint->fail(code, why);
  }
}

// Completions that came before the queues were armed are found by the second look; those that come later
// ring.
bool VerbsDomain::arm() noexcept {
  if (!dones_.empty()) return false;
  rdma::Queues::hush(*channel_);
  const bool heard = hear();
  for (const auto& queues : queues_) queues->arm();
  return !progress() && !heard && dones_.empty();
}

void force_error(Endpoint& endpoint) noexcept { static_cast<VerbsEndpoint&>(endpoint).force_error(); }

}  // namespace plait::transport::verbs
