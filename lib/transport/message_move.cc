// How the bytes of long messages leave: in pieces, straight to where they go, a few at a time; or, where
// there is no such way, through the peer's parts. One message after the other, in the order of their lines.
#include <cstring>

#include "base/copy.h"
#include "transport/message_send.h"

namespace plait::transport {

bool MessageSends::move() noexcept {
  bool moved = false;
  while (!moving_.empty()) {
    Send& send = sends_[moving_.front()];
    while (send.moved < send.data.bytes && (send.streamed ? move_part(send) : move_piece(send))) moved = true;
    if (send.moved < send.data.bytes) return moved;
    moving_.pop();
    moved = true;
    if (send.under_way != 0) continue;  // its last Done ends it
    if (!send.streamed) regions_[send.region].uses--;
    leave(send);
  }
  return moved;
}

bool MessageSends::move_piece(Send& send) noexcept {
  if (under_way_ == kMostPieces) return false;
  const size_t bytes = std::min<size_t>(piece_bytes_, send.data.bytes - send.moved);
  Transfer t;
  t.when = When::reusable;
  t.signal = {uint16_t(wiring_.first_counter + 1), 1};
  t.local = {send.data.data + send.moved, bytes, send.data.region};
  t.remote = {regions_[send.region].remote.get(), send.offset + send.moved, bytes};
  t.cookie = wiring_.first_cookie + send.request.index_;
  if (wiring_.endpoint->post({&t, 1}) != 1) return false;
  send.moved += bytes;
  send.under_way++;
  under_way_++;
  return true;
}

void MessageSends::left(uint32_t index) noexcept {
  Send& send = sends_[index];
  if (send.phase != Phase::moving || send.under_way == 0) return;  // it failed meanwhile
  under_way_--;
  if (--send.under_way != 0 || send.moved < send.data.bytes) return;
  regions_[send.region].uses--;
  leave(send);
}

// The part's bytes stay in the shadow until the peer has consumed them.
bool MessageSends::move_part(Send& send) noexcept {
  if (!lines_.room_for_part()) return false;
  const size_t bytes = std::min<size_t>(kStreamPartBytes, send.data.bytes - send.moved);
  MessageMemory* target = wiring_.mapped != nullptr ? wiring_.mapped : wiring_.shadow;
  std::byte* part = target->parts[lines_.parts() % kStreamParts];
  if (!part_ready_) copy_bytes(part, send.data.data + send.moved, bytes);
  part_ready_ = true;
  Transfer t;
  t.signal = {uint16_t(wiring_.first_counter + 1), 1};
  if (wiring_.mapped == nullptr) {
    const auto at = uint64_t(part - reinterpret_cast<std::byte*>(target));
    t.local = {part, bytes, wiring_.shadow_region};
    t.remote = {wiring_.remote, wiring_.remote_offset + at, bytes};
  }
  if (wiring_.endpoint->post({&t, 1}) != 1) return false;
  part_ready_ = false;
  lines_.part_sent();
  send.moved += bytes;
  return true;
}

}  // namespace plait::transport
