// Messages out: what to say next, and how far a transfer has come.
#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "transport/am/domain.h"
#include "transport/am/endpoint.h"

namespace plait::transport::am {
namespace {

constexpr size_t kLead = size_t{1} << 10;        // what goes alone where all in one message would be slow
constexpr size_t kPostBytes = size_t{64} << 10;  // sent in a post(); all else is poll()'s

// The part of a put from `at`, of `bytes` bytes.
Message put_message(const Place& place, uint64_t at, const std::byte* from, size_t bytes) noexcept {
  Message m;
  m.header.kind = uint8_t(Kind::put);
  if (bytes != 0) {
    m.header.slot = place.slot;
    m.header.nonce = place.nonce;
    m.header.offset = place.offset + at;
    m.from = from;
  }
  m.bytes = bytes;
  return m;
}

void end_put(Header& h, When when, const Signal& signal) noexcept {
  h.flags = uint8_t(kLast | (when == When::delivered ? kAsked : 0));
  h.add = signal.add;
  if (signal.add != 0) h.counter = signal.counter;
}

}  // namespace

// In one piece with what calls it: send() is often a system call, after which every return is dear.
[[gnu::always_inline]] inline Sent MessageEndpoint::deliver(Message& m) noexcept {
  Header& h = m.header;
  h.to = theirs_.endpoint;
  if (counted(Kind(h.kind))) h.number = out_number_;
  const bool put = Kind(h.kind) == Kind::put, marks = put && pacer_.due(m.bytes),
             asks_alone = marks && (h.flags & kAsked) == 0;
  if (asks_alone) h.flags |= kAsked;
  const Sent sent = send(m);
  if (sent == Sent::no_room) {
    blocked_ = true;
    return sent;
  }
  if (counted(Kind(h.kind))) ++out_number_;
  unanswered_ += manners_.before + sizeof(Header) + m.bytes;
  if (put) {
    pacer_.sent(m.bytes);
    domain_->lookout().sent(m.bytes);
  }
  if (marks) pacer_.mark(asked_, asks_alone);
  if ((h.flags & kAsked) != 0) ++asked_;
  return sent;
}

inline Op& MessageEndpoint::new_op(const Transfer& transfer) noexcept {
  Op& op = ops_.take();
  op.fill(transfer);
  return op;
}

inline void MessageEndpoint::sent_at_once(const Transfer& transfer, Op* op, Sent sent) noexcept {
  if (transfer.when == When::delivered) {
    unacked_.push(new_op(transfer));
  } else if (op == nullptr) {
    if (transfer.when == When::reusable) add_done(transfer.cookie, Code::ok);
  } else if (sent == Sent::done) {
    finished(*op, Code::ok);
  }
}

size_t MessageEndpoint::post(std::span<const Transfer> transfers) noexcept {
  size_t taken = 0;
  budget_ = kPostBytes;
  for (const Transfer& transfer : transfers) {
    if (state_ != State::ready || !has_ops(1)) break;
    if (const char* why = refusal(transfer)) {
      fail(Code::invalid, "a transfer to " + peer_name() + " was refused: " + why);
      break;
    }
    if (transfer.verb == Verb::flush) {
      if (transfer.when != When::never) add_done(transfer.cookie, Code::ok);
    } else if (!take(transfer)) {
      break;
    }
    ++taken;
  }
  move(budget_);
  if (can_send()) domain_->has_work(*this);
  return taken;
}

bool MessageEndpoint::take(const Transfer& transfer) noexcept {
  const size_t bytes = transfer.remote.bytes;
  const bool put = transfer.verb == Verb::put, small = put && bytes <= kInline;
  Op* op = nullptr;
  if (put && bytes <= std::min(manners_.piece, budget_) && !blocked_ && !waits(transfer.signal.counter) &&
      pacer_.may_send() && !better_parted(transfer.local.data, bytes)) {
    Message m = put_message(place_of(transfer), 0, transfer.local.data, bytes);
    end_put(m.header, transfer.when, transfer.signal);
    if (!small && transfer.when != When::delivered) m.op = op = &new_op(transfer);  // it may be kept
    const Sent sent = deliver(m);
    if (sent != Sent::no_room) {
      budget_ -= bytes;
      sent_at_once(transfer, op, sent);
      return true;
    }
    if (state_ != State::ready) return op != nullptr;  // which ended with the endpoint
  }
  if (op == nullptr) op = &new_op(transfer);
  if (small && bytes != 0) {
    std::memcpy(op->small.data(), op->local, bytes);
    op->local = op->small.data();
  }
  waiting_[transfer.signal.counter % 2].push(*op);
  return true;
}

bool MessageEndpoint::has_last_or_first_word() const noexcept {
  return (state_ == State::connecting && may_greet()) || (state_ == State::failed && refused_ != Refusal{});
}

void MessageEndpoint::has_room() noexcept {
  blocked_ = false;
  if (can_send()) domain_->has_work(*this);
}

// What is on even counters, on odd ones and asked for by the peer take turns. False: there is no room.
bool MessageEndpoint::send_next(size_t& budget) noexcept {
  if (state_ == State::connecting) {
    greeted_ = tell(Kind::hello, nonce_);
    become_ready();
    return greeted_;
  }
  if (state_ == State::failed) {
    if (!tell(Kind::error, uint64_t(refused_))) return false;
    refused_ = {};
    return true;
  }
  if (landed_ != told_) {
    const uint64_t count = landed_;
    if (!tell(Kind::ack, count)) return false;
    told_ = count;
    return true;
  }
  do {
    turn_ = (turn_ + 1) % 3;
  } while (turn_ == 2 ? served_.empty() : !can_go(waiting_[turn_]));
  if (turn_ == 2) return answer(budget);
  OpQueue& queue = waiting_[turn_];
  return queue.front().verb == Verb::get ? ask(queue) : send_part(queue, budget);
}

// The kernel copies a stream into pages, and begins with a new one when the stream was read up, as it is when
// the peer has answered. What is a few bytes farther behind in its page than it was where it lay, is copied
// very slowly (base/copy.h): with 13 bytes before it, all that lies at the beginning of a page, which is
// where most of what is long lies.
bool MessageEndpoint::better_parted(const std::byte* from, size_t bytes) const noexcept {
  constexpr size_t kWorthAMessage = size_t{8} << 10;
  return manners_.before != 0 && bytes >= kWorthAMessage &&
         copies_slowly(unanswered_ + manners_.before - reinterpret_cast<uintptr_t>(from));
}

bool MessageEndpoint::send_part(OpQueue& queue, size_t& budget) noexcept {
  Op& op = queue.front();
  size_t bytes = std::min(op.bytes - op.moved, manners_.piece);
  if (better_parted(op.local + op.moved, bytes)) bytes = kLead;
  Message m = put_message(op.place, op.moved, op.local + op.moved, bytes);
  const bool last = op.moved + bytes == op.bytes, asks = op.when == When::delivered;
  if (last) end_put(m.header, op.when, op.signal);
  if (last && !asks) m.op = &op;
  const Sent sent = deliver(m);
  if (sent == Sent::no_room) return false;
  op.moved += bytes;
  budget -= std::min(budget, bytes + sizeof(Header));
  if (!last) return true;
  queue.pop();
  if (asks) {
    unacked_.push(op);
  } else if (sent == Sent::done) {
    finished(op, Code::ok);
  }
  return true;
}

bool MessageEndpoint::ask(OpQueue& queue) noexcept {
  Op& op = queue.front();
  Message m;
  m.header.kind = uint8_t(Kind::get);
  m.header.slot = op.place.slot;
  m.header.nonce = op.place.nonce;
  m.header.offset = op.place.offset;
  m.header.value = op.bytes;
  if (deliver(m) == Sent::no_room) return false;
  gets_under_way_[op.signal.counter % kCounters]++;
  queue.pop();
  gets_.push(op);
  return true;
}

bool MessageEndpoint::answer(size_t& budget) noexcept {
  Served& get = served_.front();
  const size_t bytes = std::min<uint64_t>(get.left, manners_.piece);
  Message m;
  m.header.kind = uint8_t(Kind::data);
  m.header.flags = bytes == get.left ? kLast : 0;
  m.bytes = bytes + sizeof kIntact;
  m.place = get.place;
  if (deliver(m) == Sent::no_room) return false;
  budget -= std::min(budget, bytes + sizeof(Header));
  get.place.offset += bytes;
  get.left -= bytes;
  if (get.left == 0) served_.pop();
  return true;
}

bool MessageEndpoint::tell(Kind kind, uint64_t value) noexcept {
  Message m;
  m.header.kind = uint8_t(kind);
  m.header.value = value;
  return deliver(m) != Sent::no_room;
}

void MessageEndpoint::add_done(uint64_t cookie, Code code) noexcept {
  dones_.push({cookie, code});
  domain_->has_work(*this);
}

void MessageEndpoint::finished(Op& op, Code code) noexcept {
  if (op.when != When::never || op.verb == Verb::get) add_done(op.cookie, code);
  ops_.give(op);
}

}  // namespace plait::transport::am
