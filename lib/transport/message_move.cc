// How the bytes of long messages leave: in pieces, straight to where they go, a few at a time; or, where
// there is no such way, through the peer's parts. One message after the other, in the order of their lines.
#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "transport/message_send.h"

namespace plait::transport {

bool MessageSends::move() noexcept {
  bool moved = false;
  for (; !moving_.empty(); moving_.pop(), moved = true) {
    Send& send = sends_[moving_.front()];
    if (!move_all(send, moved)) break;
    if (send.shared) {
      shared_.push() = moving_.front();
      continue;
    }
    if (send.under_way != 0) continue;  // its last Done ends it
    if (!send.streamed) regions_[send.region].uses--;
    leave(send);
  }
  return moved;
}

// False when something of it is left to be moved, later.
bool MessageSends::move_all(Send& send, bool& moved) noexcept {
  if (send.shared) {
    size_t budget = kPieceBytes;
    copy_of(send).copy(budget);
    if (budget != kPieceBytes) {
      moved = true;
      wiring_.endpoint->notify();
    }
    return budget != 0;
  }
  while (send.moved < send.data.bytes && move_some(send)) moved = true;
  return send.moved == send.data.bytes;
}

bool MessageSends::move_some(Send& send) noexcept {
  if (!send.streamed) return move_piece(send);
  return wiring_.mapped != nullptr ? fill_part(send) : move_parts(send);
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

// Where parts are mapped the peer begins with the first one while the next is filled.
bool MessageSends::fill_part(Send& send) noexcept {
  if (!lines_.room_for_parts(1)) return false;
  const size_t bytes = std::min(part_bytes(send.parts, send.data.bytes), send.data.bytes - send.moved);
  copy_bytes(wiring_.their_rings.part(wiring_.mapped, lines_.parts()), send.data.data + send.moved, bytes);
  lines_.parts_sent(1);
  wiring_.mapped->filled.store(lines_.parts(), std::memory_order_release);
  wiring_.endpoint->notify();
  send.moved += bytes;
  return true;
}

// As many parts as there is room for go out together: a call of the endpoint may be one to the kernel. Their
// bytes stay in the shadow until the peer has consumed them.
bool MessageSends::move_parts(Send& send) noexcept {
  std::array<Transfer, kRings.parts> parts;
  uint32_t count = 0;
  for (uint64_t at = send.moved;
       count < kRings.parts && at < send.data.bytes && lines_.room_for_parts(count + 1); count++) {
    const size_t bytes = std::min<size_t>(kStreamPartBytes, send.data.bytes - at);
    parts[count] = part_of(send.data.data + at, bytes, count);
    at += bytes;
  }
  if (count == 0) return false;
  const size_t taken = wiring_.endpoint->post({parts.data(), count});
  parts_ready_ = uint32_t(count - taken);
  lines_.parts_sent(uint32_t(taken));
  send.moved = std::min<uint64_t>(send.moved + taken * kStreamPartBytes, send.data.bytes);
  return taken == count;
}

// The i-th one from now on.
Transfer MessageSends::part_of(const std::byte* from, size_t bytes, uint32_t i) noexcept {
  std::byte* part = wiring_.their_rings.part(wiring_.shadow, lines_.parts() + i);
  if (i >= parts_ready_) copy_bytes(part, from, bytes);
  Transfer t;
  t.signal = {uint16_t(wiring_.first_counter + 1), 1};
  const auto at = uint64_t(part - reinterpret_cast<std::byte*>(wiring_.shadow));
  t.local = {part, bytes, wiring_.shadow_region};
  t.remote = {wiring_.remote, wiring_.remote_offset + at, bytes};
  return t;
}

}  // namespace plait::transport
