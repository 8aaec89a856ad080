// What is to be sent becomes frames: transfers, answers to gets, acknowledgements.
#include <algorithm>
#include <cstring>

#include "transport/tcp/connection.h"
#include "transport/tcp/endpoint.h"

namespace plait::transport::tcp {

namespace {

Header header_of(FrameKind kind, const Place& place) noexcept {
  Header h;
  h.kind = uint8_t(kind);
  h.slot = place.slot;
  h.nonce = place.nonce;
  h.offset = place.offset;
  return h;
}

// Of the last frame of a put.
void set_signal(Header& h, const Signal& signal, When when) noexcept {
  h.flags = uint8_t(kLast | (when == When::delivered ? kAsked : 0));
  h.counter = signal.add == 0 ? uint16_t(0) : signal.counter;
  h.add = signal.add;
}

Header small_put(const Transfer& transfer, const Place& place) noexcept {
  Header h = header_of(FrameKind::put, place);
  set_signal(h, transfer.signal, transfer.when);
  h.length = uint32_t(transfer.remote.bytes);
  return h;
}

}  // namespace

// Appends a frame that is a header so far.
void Connection::stage(const Header& header) noexcept {
  OutFrame& frame = frames_.push();
  std::memcpy(frame.head.data(), &header, sizeof header);
  frame.head_bytes = sizeof header;
  frame.payload_bytes = 0;
  frame.payload = nullptr;
  frame.op = nullptr;
  frame.asked = (header.flags & kAsked) != 0;
  frame.ack = FrameKind(header.kind) == FrameKind::ack;
  acks_ += frame.ack ? 1 : 0;
  staged_bytes_ += sizeof header;
}

void Connection::send_small(const Transfer& transfer, const Place& place, Op* op) noexcept {
  const Header h = small_put(transfer, place);
  stage(h);
  OutFrame& frame = frames_.back();
  frame.op = op;
  if (h.length != 0) std::memcpy(frame.head.data() + sizeof h, transfer.local.data, h.length);
  frame.head_bytes += h.length;
  staged_bytes_ += h.length;
  if (op != nullptr) unacked_.push(*op);
}

void Connection::send_now(const Transfer& transfer, const Place& place) noexcept {
  const Header h = small_put(transfer, place);
  std::array<std::byte, sizeof h + kInline> bytes;
  std::memcpy(bytes.data(), &h, sizeof h);
  if (h.length != 0) std::memcpy(bytes.data() + sizeof h, transfer.local.data, h.length);
  iovec part{bytes.data(), sizeof h + h.length};
  ++engine_.counts.sends;
  const ssize_t took = give(std::span(&part, 1));
  if (took == ssize_t(part.iov_len)) return left();
  const ssize_t result = took < 0 ? -errno : took;
  send_small(transfer, place, nullptr);
  (void)accepted(part.iov_len, result);
}

bool Connection::stage_next() noexcept {
  if (lane_ == Lane::mailbox && endpoint_.stage_acks()) return true;
  const bool answer = !served_.empty() && (waiting_.empty() || !answered_last_);
  answered_last_ = answer;
  if (answer) {
    stage_answer();
  } else if (!waiting_.empty()) {
    stage_op();
  } else {
    return false;
  }
  return true;
}

// Tells on the mailbox what landed here.
bool Connection::stage_ack(Connection& about) noexcept {
  if (!about.owes_ack() || frames_full()) return false;
  Header h = header_of(FrameKind::ack, {});
  h.value = uint64_t(about.lane_) << kLaneShift | about.landed_;
  about.told_ = about.landed_;
  stage(h);
  return true;
}

void Connection::stage_op() noexcept {
  Op& op = waiting_.front();
  Header h = header_of(op.verb == Verb::get ? FrameKind::get : FrameKind::put, op.place);
  if (op.verb == Verb::get) {
    h.value = op.bytes;
    stage(h);
  } else {
    h.offset += op.moved;
    h.length = uint32_t(std::min(op.bytes - op.moved, kPiece));
    const std::byte* from = op.local + op.moved;
    op.moved += h.length;
    if (op.moved == op.bytes) set_signal(h, op.signal, op.when);
    stage(h);
    OutFrame& frame = frames_.back();
    staged_bytes_ += h.length;
    if (op.bytes <= kInline) {
      std::memcpy(frame.head.data() + sizeof h, op.small.data(), h.length);
      frame.head_bytes += h.length;
    } else {
      frame.payload = from;
      frame.payload_bytes = h.length;
    }
    if (op.moved != op.bytes) return;
  }
  waiting_.pop();
  if (op.verb == Verb::get) {
    gets_.push(op);
  } else if (op.when == When::delivered) {
    unacked_.push(op);
  }
  frames_.back().op = &op;
}

void Connection::stage_answer() noexcept {
  Served& get = served_.front();
  Header h = header_of(FrameKind::data, {});
  h.length = uint32_t(std::min<uint64_t>(get.left, kPiece));
  h.flags = h.length == get.left ? kLast : 0;
  stage(h);
  OutFrame& frame = frames_.back();
  frame.place = get.place;
  frame.payload_bytes = h.length;
  staged_bytes_ += h.length;
  get.place.offset += h.length;
  get.left -= h.length;
  if (get.left == 0) served_.pop();
}

}  // namespace plait::transport::tcp
