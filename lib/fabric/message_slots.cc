#include "fabric/message_slots.h"

#include <algorithm>
#include <utility>

#include "fabric/explain.h"

namespace plait::fabric {

Status MessageSlots::open(const Device& device, Endpoint& endpoint, size_t bytes) {
  endpoint_ = &endpoint;
  bytes_ = bytes;
  inject_ = device.choice().info->tx_attr->inject_size;
  memory_ = map_pages(kSlots * bytes);
  if (!memory_) return Status(Code::memory, "libfabric: no address space for messages");
  auto registration = device.enroll(memory_.data(), memory_.size(), 0);
  if (!registration.ok()) return registration.status();
  registration_ = std::move(*registration);
  for (size_t i = 0; i < kSlots; ++i) {
    slots_[i].data = memory_.data() + i * bytes;
    slots_[i].step = i < kReceives ? Step::received : Step::sent;
    if (i >= kReceives) slots_[i].next = std::exchange(free_, &slots_[i]);
  }
  for (size_t i = 0; i < kReceives; ++i) {
    if (const ssize_t rc = receive(slots_[i]); rc != 0)
      return Status(Code::system, "libfabric: a receive is not taken: " + reason(rc));
  }
  return {};
}

ssize_t MessageSlots::send(size_t bytes) noexcept {
  MessageSlot* slot = free_;
  return endpoint_->to_peer([&] {
    if (bytes <= inject_) return fi_inject(endpoint_->ep(), slot->data, bytes, endpoint_->peer());
    const ssize_t rc = fi_send(endpoint_->ep(), slot->data, bytes, registration_.descriptor(),
                               endpoint_->peer(), static_cast<Context*>(slot));
    if (rc == 0) free_ = slot->next;
    return rc;
  });
}

void MessageSlots::completed(Context& context, size_t bytes) noexcept {
  auto& slot = static_cast<MessageSlot&>(context);
  if (context.step == Step::sent) {
    slot.next = std::exchange(free_, &slot);
  } else {
    slot.full = true;
    slot.bytes = std::min(bytes, bytes_);
  }
}

ssize_t MessageSlots::take() noexcept {
  MessageSlot& slot = slots_[std::exchange(next_, (next_ + 1) % kReceives)];
  return receive(slot);
}

ssize_t MessageSlots::receive(MessageSlot& slot) noexcept {
  slot.full = false;
  return fi_recv(endpoint_->ep(), slot.data, bytes_, registration_.descriptor(), FI_ADDR_UNSPEC,
                 static_cast<Context*>(&slot));
}

}  // namespace plait::fabric
