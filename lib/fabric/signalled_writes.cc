#include "fabric/signalled_writes.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <cstring>
#include <utility>

#include "fabric/bell_message.h"

namespace plait::fabric {

Status SignalledWrites::open(const Device& device, Endpoint& endpoint, size_t depth) {
  endpoint_ = &endpoint;
  rings_ = device.choice().rings();
  depth_ = depth;
  slots_ = std::make_unique<Slot[]>(depth);
  for (size_t i = depth; i-- > 0;) {
    slots_[i].step = Step::written;
    slots_[i].next = std::exchange(free_, &slots_[i]);
  }
  auto registration = device.enroll(slots_.get(), depth * sizeof(Slot), 0);
  if (!registration.ok()) return registration.status();
  registration_ = std::move(*registration);
  return bells_.open(device);
}

// It is never injected: the tcp provider of libfabric 1.17 crashes where a connection ends before an injected
// write has gone.
ssize_t SignalledWrites::write(const Write& w) noexcept {
  if (free_ == nullptr) return -FI_EAGAIN;
  Slot& slot = *free_;
  const bool small = w.bytes <= kSmall;
  if (small && w.bytes != 0) std::memcpy(slot.small.data(), w.from, w.bytes);
  slot.bell = bells_.next(w.word, w.bytes);
  const size_t bell_bytes = rings_ ? sizeof slot.bell : 0;
  const iovec from[2] = {{small ? slot.small.data() : const_cast<void*>(w.from), w.bytes},
                         {&slot.bell, bell_bytes}};
  const fi_rma_iov to[2] = {{w.to, w.bytes, w.key}, {their_ring_ + bells_.place(), bell_bytes, their_key_}};
  void* descriptors[2] = {small ? registration_.descriptor() : w.descriptor, registration_.descriptor()};
  // A write of nothing is one to the ring, too: some providers look at the key.
  const size_t first = w.bytes == 0 ? 1 : 0, count = rings_ ? 2 - first : 1;
  fi_msg_rma message{};
  message.msg_iov = from + first;
  message.desc = descriptors + first;
  message.iov_count = message.rma_iov_count = count;
  message.rma_iov = to + first;
  message.addr = endpoint_->peer();
  message.context = static_cast<Context*>(&slot);
  message.data = w.word;
  const uint64_t flags =
      FI_COMPLETION | (rings_ ? 0 : FI_REMOTE_CQ_DATA) | (w.delivered ? FI_DELIVERY_COMPLETE : 0);
  if (const ssize_t rc = fi_writemsg(endpoint_->ep(), &message, flags); rc != 0) return rc;
  free_ = slot.next;
  latest_ = &slot;
  bells_.went();
  return 0;
}

ssize_t SignalledWrites::ring(uint64_t to, uint32_t word) noexcept {
  const BellMessage message{to, bells_.sent(), bells_.next(word, 0)};
  const ssize_t rc = fi_inject(endpoint_->ep(), &message, sizeof message, endpoint_->peer());
  if (rc == 0) bells_.went();
  return rc;
}

void* SignalledWrites::completed(Context& context) noexcept {
  auto& slot = static_cast<Slot&>(context);
  slot.next = std::exchange(free_, &slot);
  return std::exchange(slot.user, nullptr);
}

void SignalledWrites::forget_users() noexcept {
  for (size_t i = 0; i < depth_; ++i) slots_[i].user = nullptr;
}

}  // namespace plait::fabric
