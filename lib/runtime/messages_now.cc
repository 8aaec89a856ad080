// Short messages of a host that need no request of their own: blocking ones, and others, of groups too, that
// are done when they were begun.
#include "runtime/communicator.h"

namespace plait::runtime {

// The link to a rank that may be stored to or read from as it is: null where anything is to be found out, or
// looked after, first.
transport::MessageLink* Communicator::link_now(int32_t rank) noexcept {
  if (rank == config_.rank || ++short_.count % kOrderlyEvery == 0) return nullptr;
  Peer* const p = peer(rank);
  if (p == nullptr || !p->ready() || !p->mapped() || p->gone || !p->has_messages()) return nullptr;
  return abort_.load(std::memory_order_relaxed) ? nullptr : &p->messages();
}

bool Communicator::send_now(int32_t rank, int32_t tag, const std::byte* data, size_t bytes,
                            bool blocking) noexcept {
  if (bytes > transport::kEagerBytes) return false;
  transport::MessageLink* const link = link_now(rank);
  if (link == nullptr || !messages_.may_send_now(rank) || !enter_gate()) return false;
  const bool sent = link->send_now(uint32_t(tag), data, bytes, blocking && !policy_.crowded);
  board_->gate.leave();
  return sent;
}

// Nothing is stored to the peer's memory, and what a peer that gives up lends is not used: it needs no gate.
// What may be longer is to be known to the sender soon.
bool Communicator::receive_now(int32_t rank, int32_t tag, std::byte* data, size_t bytes) noexcept {
  transport::MessageLink* const link = may_receive_now(bytes) && !messages_.busy() ? link_now(rank) : nullptr;
  if (link == nullptr) return false;
  for (uint32_t look = 0; !link->has_landed(); look++) {
    if (look == kLooksForMessage) return false;
    if (look >= Waiter::kEager) cpu_relax();
  }
  size_t moved = 0;
  return take_landed(*link, tag, data, bytes, moved);
}

bool Communicator::receive_landed(int32_t rank, int32_t tag, std::byte* data, size_t bytes,
                                  size_t& moved) noexcept {
  transport::MessageLink* const link = may_receive_now(bytes) ? link_now(rank) : nullptr;
  const bool taken = link != nullptr &&
                     (messages_.idle(rank) || (link->has_landed() && messages_.settle(rank, *link))) &&
                     take_landed(*link, tag, data, bytes, moved);
  short_.landed_in_a_row = taken ? short_.landed_in_a_row + 1 : 0;
  if (short_.landed_in_a_row >= Messages::kMany) link->fetch_ahead();
  return taken;
}

bool Communicator::may_receive_now(size_t bytes) const noexcept {
  return bytes <= transport::kEagerBytes && head_ == nullptr && !policy_.crowded;
}

bool Communicator::take_landed(transport::MessageLink& link, int32_t tag, std::byte* data, size_t bytes,
                               size_t& moved) noexcept {
  if (!link.receive_now(uint32_t(tag), data, bytes, moved)) return false;
  if (link.owes_credit()) (void)drive_messages();
  return true;
}

plait_request* Communicator::brief(size_t moved) {
  if (short_.brief != nullptr && short_.brief->letter.moved == moved) {
    short_.brief->holders++;
    return short_.brief;
  }
  plait_request* const request = make_message(Letter::Kind::send, config_.rank, 0, nullptr, moved);
  request->letter.moved = moved;
  request->result = Status();
  request->state = plait_request::State::done;
  return short_.brief = request;
}

}  // namespace plait::runtime
