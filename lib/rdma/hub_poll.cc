// Polling and sleeping: completions of all queues, and events of the device.
#include <arpa/inet.h>

#include <array>

#include "base/clock.h"
#include "base/log.h"
#include "rdma/explain.h"
#include "rdma/hub.h"

namespace plait::rdma {

namespace {

constexpr int kCompletions = 32;             // asked for at once
constexpr int kRounds = 16;                  // of that, a poll
constexpr uint64_t kClockEvery = 64;         // polls until the clock is looked at
constexpr int64_t kHearEveryNs = 1'000'000;  // what the device and the connection manager have to tell; ...

}  // namespace

bool Hub::progress() noexcept {
  if (++polls_ % kClockEvery == 0 && hear_is_due()) hear();
  for (size_t i = connecting_.size(); i-- > 0;) {
    if (i < connecting_.size()) connecting_[i]->greet();
  }
  bool any = false;
  for (const auto& queues : queues_) any |= reap(*queues);
  if (mail_.waiting.load(std::memory_order_acquire)) {
    for (const DeviceEvent& event : device_->take(mail_)) heed(event);
    any = true;
  }
  return any;
}

bool Hub::reap(Queues& queues) noexcept {
  std::array<ibv_wc, kCompletions> completions;
  bool any = false;
  for (int round = 0, count = kCompletions; round < kRounds && count == kCompletions; ++round) {
    count = ibv_poll_cq(&queues.completions(), kCompletions, completions.data());
    size_t receives = 0;
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = completions[size_t(i)];
      if (completion.wr_id == kReceive) {
        ++receives;
        receive(completion);
      } else if (Channel* channel = by_id(completion.wr_id >> kSequenceBits); channel != nullptr) {
        channel->sent(completion);
      }
    }
    if (receives != 0) queues.refill(receives);
    if (count < 0)
      fail_all(Code::system, place_ + ": its completion queue is broken; look at the kernel's log (dmesg)");
    any |= count != 0;
  }
  return any;
}

void Hub::reap_all() noexcept {
  for (const auto& queues : queues_) {
    for (int round = 0; round < 256 && reap(*queues); ++round) {
    }
  }
}

// What names another channel than its queue pair's is the work of a peer that means ill, or of one that has
// gone.
void Hub::receive(const ibv_wc& completion) noexcept {
  const bool good = completion.status == IBV_WC_SUCCESS && (completion.wc_flags & IBV_WC_WITH_IMM) != 0;
  const Immediate what = good ? unpack(ntohl(completion.imm_data)) : Immediate{};
  if (good && what.slot < slots_.size() && slots_[what.slot] != nullptr &&
      slots_[what.slot]->number() == completion.qp_num)
    return slots_[what.slot]->received(completion, what);
  for (Channel* channel : slots_) {
    if (channel == nullptr || channel->number() != completion.qp_num) continue;
    return completion.status != IBV_WC_SUCCESS ? channel->received(completion, what) : channel->misdirected();
  }
}

// ... at once while something connects.
bool Hub::hear_is_due() noexcept {
  return (manager_ != nullptr && !connecting_.empty()) || now_ns() - heard_ns_ >= kHearEveryNs;
}

// True when there was something new.
bool Hub::hear() noexcept {
  heard_ns_ = now_ns();
  device_->look();
  return manager_ != nullptr && manager_->look();
}

void Hub::heed(const DeviceEvent& event) noexcept {
  const std::string what = place_ + ": " + ibv_event_type_str(event.type);
  const auto [scope, code, cause] = explain(event.type);
  const std::string why = what + ": " + std::string(cause);
  Channel* channel = scope == Scope::queue_pair ? by_id(event.user) : nullptr;
  if (channel != nullptr)
    channel->fail(code, what + ": " + channel->peer_name() + " " + std::string(cause));
  else if (scope == Scope::device || (scope == Scope::port && event.port == port_.port.port && !port_is_up()))
    fail_all(code, why);
  else if (scope == Scope::warning)
    log::warn("{}", why);
  else
    log::debug("{}", what);
}

// Events are read late where polls are seldom: queue pairs outlive a port that is up again.
bool Hub::port_is_up() noexcept {
  ibv_port_attr now{};
  return ibv_query_port(&device_->context(), port_.port.port, &now) == 0 && now.state == IBV_PORT_ACTIVE;
}

void Hub::fail_all(Code code, const std::string& why) noexcept {
  for (Channel* channel : slots_) {
    if (channel != nullptr) channel->fail(code, why);
  }
}

// Completions that came before the queues were armed are found by the second look; those that come later
// ring.
bool Hub::arm() noexcept {
  Queues::hush(*channel_);
  const bool heard = hear();
  for (const auto& queues : queues_) queues->arm();
  return !progress() && !heard;
}

}  // namespace plait::rdma
