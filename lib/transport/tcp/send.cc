// Frames out. The kernel gets headers and payloads of many transfers with one call, payloads from where they
// lie.
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/tcp/connection.h"
#include "transport/tcp/endpoint.h"
#include "transport/tcp/socket.h"

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

}  // namespace

bool Connection::pending() const noexcept {
  if (!frames_.empty() || !waiting_.empty() || !served_.empty() || (tls_ && tls_->owes())) return true;
  return lane_ == Lane::mailbox && endpoint_.owes_ack();
}

Fd Connection::stop() noexcept {
  waiting_.clear();
  unacked_.clear();
  gets_.clear();
  served_.clear();
  frames_.clear();
  staged_bytes_ = front_sent_ = 0;
  tls_.reset();
  return std::move(socket_);
}

ssize_t Connection::give(std::span<iovec> parts) noexcept {
  return tls_ ? tls_->send(parts) : send_some(socket_.get(), parts);
}

// Appends a frame that is a header so far.
void Connection::stage(const Header& header) noexcept {
  OutFrame& frame = frames_.push();
  std::memcpy(frame.head.data(), &header, sizeof header);
  frame.head_bytes = sizeof header;
  frame.payload_bytes = 0;
  frame.payload = nullptr;
  frame.op = nullptr;
  frame.asked = (header.flags & kAsked) != 0;
  staged_bytes_ += sizeof header;
}

void Connection::send_small(const Transfer& transfer, const Place& place, Op* op) noexcept {
  Header h = header_of(FrameKind::put, place);
  set_signal(h, transfer.signal, transfer.when);
  h.length = uint32_t(transfer.remote.bytes);
  stage(h);
  OutFrame& frame = frames_.back();
  frame.op = op;
  if (h.length != 0) std::memcpy(frame.head.data() + sizeof h, transfer.local.data, h.length);
  frame.head_bytes += h.length;
  staged_bytes_ += h.length;
  if (op != nullptr) unacked_.push(*op);
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

// Lists what to send, up to `most` bytes of it. False when a region that it lies in is gone.
bool Connection::gather(Outgoing& out, size_t most) noexcept {
  size_t pinned = 0, skip = front_sent_;
  auto add = [&](const std::byte* from, size_t n) {
    n = std::min(n, most - out.bytes);
    if (n == 0) return;
    out.parts[out.count++] = {const_cast<std::byte*>(from), n};
    out.bytes += n;
  };
  OutFrame* next = frames_.empty() ? nullptr : &frames_.front();
  for (; next != nullptr && out.bytes < most && out.count + 2 <= out.parts.size();
       next = next->next, skip = 0) {
    OutFrame& frame = *next;
    const bool own = frame.payload_bytes != 0 && frame.payload == nullptr;
    if (own && pinned == out.pins.size()) break;
    if (skip < frame.head_bytes) add(frame.head.data() + skip, frame.head_bytes - skip);
    if (frame.payload_bytes == 0) continue;
    const size_t from = skip > frame.head_bytes ? skip - frame.head_bytes : 0;
    const std::byte* payload = frame.payload;
    if (own) {
      auto& pin = out.pins[pinned++] = endpoint_.regions().pin(frame.place.slot, frame.place.nonce);
      if (!pin) return false;
      payload = pin.base() + frame.place.offset;
    }
    add(payload + from, frame.payload_bytes - from);
  }
  return true;
}

bool Connection::offer(Outgoing& out, size_t most) noexcept {
  if (most == 0 || !up() || broken_ != 0) return false;
  while (!frames_full() && staged_bytes_ - front_sent_ < kPacket && stage_next()) {
  }
  if (frames_.empty()) return false;
  if (gather(out, std::min(most, kPacket))) return true;
  endpoint_.refuse(Refusal::region);
  return false;
}

bool Connection::accepted(const Outgoing& out, ssize_t result) noexcept {
  if (result >= 0) {
    advance(size_t(result));
    return size_t(result) == out.bytes;
  }
  if (would_block(int(-result))) return false;
  broken_ = int(-result);  // what the peer said before may still be there to read, and tells more
  engine_.stirred(*this);
  return false;
}

void Connection::flush(size_t& budget, int calls) noexcept {
  for (; calls > 0; --calls) {
    Outgoing out;
    if (!offer(out, budget)) {
      if (tls_ && tls_->owes() && broken_ == 0 && !tls_->push() && !would_block(errno)) accepted(out, -errno);
      return;
    }
    ++engine_.counts.sends;
    const ssize_t took = give(out.span());
    if (took > 0) budget -= size_t(took);
    if (!accepted(out, took < 0 ? -errno : took)) return;
  }
}

void Connection::advance(size_t bytes) noexcept {
  front_sent_ += bytes;
  while (!frames_.empty() && front_sent_ >= frames_.front().bytes()) {
    const OutFrame& frame = frames_.front();
    front_sent_ -= frame.bytes();
    staged_bytes_ -= frame.bytes();
    sent(frame);
    frames_.pop();
  }
}

void Connection::sent(const OutFrame& frame) noexcept {
  if (frame.asked) ++asked_;
  if (frame.op == nullptr) return;
  frame.op->sent = true;
  if (frame.op->verb == Verb::put && frame.op->when != When::delivered)
    endpoint_.finished(*frame.op, Code::ok);
}

bool Connection::acknowledged(uint64_t count) noexcept {
  if (count > asked_ || count < acked_) return false;
  for (; acked_ != count; ++acked_) {
    Op& op = unacked_.front();
    unacked_.pop();
    endpoint_.finished(op, Code::ok);
  }
  return true;
}

void Connection::last_word(const Header& header) noexcept {
  if (!up() || broken_ != 0 || front_sent_ != 0) return;
  iovec part{const_cast<Header*>(&header), sizeof header};
  (void)give(std::span(&part, 1));
}

}  // namespace plait::transport::tcp
