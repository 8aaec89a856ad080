// Sends and receives, without a request, of messages that lie in a line (message_inline.h), of ranks that
// share memory: what messages_now.cc does, for these alone and compiled into what plait_send and plait_recv
// end with.
#pragma once

#include "runtime/communicator.h"
#include "transport/message_inline.h"

namespace plait::runtime {

// The link to a rank of the communicator's; null: link_now() finds out more, and has its turn now and then.
[[gnu::always_inline]] inline transport::MessageLink* Communicator::open_link(int32_t rank) noexcept {
  transport::MessageLink* const* const links = short_.open.load(std::memory_order_relaxed);
  if (links == nullptr || (short_.count + 1) % kOrderlyEvery == 0) return nullptr;
  short_.count++;
  return links[rank];
}

inline bool Communicator::send_inline(int32_t rank, int32_t tag, const std::byte* data,
                                      size_t bytes) noexcept {
  transport::MessageLink* const link = open_link(rank);
  if (link == nullptr || !messages_.may_send_now(rank)) [[unlikely]]
    return false;
  const bool sent = board_->gate.enter(fences_) && link->send_inline(uint32_t(tag), data, uint32_t(bytes));
  board_->gate.leave();
  return sent;
}

inline bool Communicator::receive_inline(int32_t rank, int32_t tag, std::byte* data, size_t bytes) noexcept {
  if (head_ != nullptr || policy_.crowded || messages_.busy()) [[unlikely]]
    return false;
  transport::MessageLink* const link = open_link(rank);
  size_t moved = 0;
  return link != nullptr && link->receive_inline(uint32_t(tag), data, bytes, kLooksForMessage, moved);
}

inline bool Communicator::receive_landed_inline(int32_t rank, int32_t tag, std::byte* data,
                                                size_t bytes) noexcept {
  if (head_ != nullptr || policy_.crowded || !messages_.idle(rank)) [[unlikely]]
    return false;
  transport::MessageLink* const link = open_link(rank);
  size_t moved = 0;
  if (link == nullptr || !link->receive_inline(uint32_t(tag), data, bytes, 0, moved)) return false;
  if (++short_.landed_in_a_row >= Messages::kMany) link->fetch_ahead();
  return true;
}

}  // namespace plait::runtime
