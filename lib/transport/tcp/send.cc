// Frames out: stage.cc makes them. The kernel gets headers and payloads of many transfers with one call,
// payloads from where they lie.
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "transport/tcp/connection.h"
#include "transport/tcp/endpoint.h"
#include "transport/tcp/socket.h"

namespace plait::transport::tcp {

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
  staged_bytes_ = front_sent_ = acks_ = 0;
  tls_.reset();
  return std::move(socket_);
}

ssize_t Connection::give(std::span<iovec> parts) noexcept {
  return tls_ ? tls_->send(parts) : send_some(socket_.get(), parts);
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

namespace {

// Of `ready` bytes what one call gives the kernel, about `most`: whole packets, or all.
size_t portion(size_t ready, size_t most) noexcept {
  const size_t packets = std::clamp(most / kPacket, size_t{1}, kCallPackets);
  return ready <= packets * kPacket + kRunt ? ready : packets * kPacket;
}

}  // namespace

// What is short goes along with what is long before it.
size_t Connection::stage_call() noexcept {
  while (!frames_full() && staged_bytes_ - front_sent_ < kCallPackets * kPacket + kRunt && stage_next()) {
  }
  return staged_bytes_ - front_sent_;
}

bool Connection::offer(Outgoing& out, size_t most) noexcept {
  if (most == 0 || !up() || broken_ != 0) return false;
  const size_t ready = stage_call();
  if (ready == 0) return false;
  if (gather(out, portion(ready, most))) return true;
  endpoint_.refuse(Refusal::region);
  return false;
}

// Something did, and takes the acknowledgement along.
void Connection::left() noexcept {
  unanswered_ = 0;
  if (seen_ != 0) drop_seen();
}

bool Connection::accepted(size_t offered, ssize_t result) noexcept {
  if (result >= 0) {
    advance(size_t(result));
    left();
    return size_t(result) == offered;
  }
  if (would_block(int(-result))) return false;
  broken_ = int(-result);  // what the peer said before may still be there to read, and tells more
  engine_.stirred(*this);
  return false;
}

void Connection::flush(size_t& budget, int calls) noexcept {
  for (; calls > 0 && budget != 0; --calls) {
    Outgoing out;
    if (!offer(out, budget)) {
      if (tls_ && tls_->owes() && broken_ == 0 && !tls_->push() && !would_block(errno))
        accepted(out.bytes, -errno);
      return;
    }
    ++engine_.counts.sends;
    const ssize_t took = give(out.span());
    if (took > 0) budget -= std::min(budget, size_t(took));
    if (!accepted(out.bytes, took < 0 ? -errno : took)) return;
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
  if (frame.ack) --acks_;
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
