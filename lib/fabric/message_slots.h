// Memory of an endpoint's messages: some are received into, others sent from. Messages are taken in the order
// of the receives that they met, which is that of the sends, whichever were complete first. One thread at a
// time.
#pragma once

#include <array>

#include "base/pages.h"
#include "fabric/completions.h"
#include "fabric/endpoint.h"

namespace plait::fabric {

// Memory of one message, and the context of its operation (Step::sent or received).
struct MessageSlot : Context {
  MessageSlot* next = nullptr;
  std::byte* data = nullptr;
  size_t bytes = 0;
  bool full = false;
};

class MessageSlots {
 public:
  // Of messages of up to `bytes` bytes. Posts the receives. The endpoint is closed before this ends.
  Status open(const Device& device, Endpoint& endpoint, size_t bytes);

  // Where the next message to be sent is written; null: there is no room until a completion comes.
  std::byte* room() noexcept { return free_ != nullptr ? free_->data : nullptr; }
  // Sends what was written to room(): 0, or an error, as -FI_EAGAIN; then it may be tried again.
  ssize_t send(size_t bytes) noexcept;

  // Of a completion whose context is a slot. `bytes`: that were received.
  void completed(Context& context, size_t bytes) noexcept;
  // The next message that came, or null. It stays until take().
  const MessageSlot* front() const noexcept { return slots_[next_].full ? &slots_[next_] : nullptr; }
  // Receives into the front one's memory again: 0, or an error.
  ssize_t take() noexcept;

 private:
  static constexpr size_t kSlots = 32, kReceives = kSlots / 2;
  ssize_t receive(MessageSlot& slot) noexcept;

  Endpoint* endpoint_ = nullptr;
  Mapping memory_;
  Registration registration_;
  std::array<MessageSlot, kSlots> slots_;
  MessageSlot* free_ = nullptr;  // to send from
  size_t bytes_ = 0, inject_ = 0, next_ = 0;
};

}  // namespace plait::fabric
