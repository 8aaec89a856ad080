// Puts and gets as messages, for providers without what direct.cc takes. Each message is copied at both
// sides: so a source is free once its last piece is sent, and nothing that a peer or a provider does writes
// to memory but the copy here, after its checks. Pieces of all transfers go in post order.
#include <algorithm>
#include <cstring>

#include "transport/ofi/domain.h"

namespace plait::transport::ofi {

constexpr size_t kSlots = 32, kMostBytes = 8192;

// What is injected is the provider's own copy. Of processes of one host it may else read memory later, when
// this endpoint is closed, and its memory is somebody else's.
size_t MessageEndpoint::slot_bytes(const Choice& choice) noexcept {
  return choice.network ? kMostBytes : std::min(kMostBytes, choice.info->tx_attr->inject_size);
}

MessageEndpoint::MessageEndpoint(OfiDomain& domain, uint16_t counters, uint64_t cookie)
    : OfiEndpoint(domain, counters, cookie, kSlots, slot_bytes(domain.device().choice)),
      piece_(slot_bytes(domain.device().choice) - sizeof(Header)) {}

bool MessageEndpoint::take(const Transfer& t) noexcept {
  Op& op = take_op(t);
  if (t.verb == Verb::get) op.when = When::delivered;
  if (op.verb == Verb::put && op.bytes != 0 && op.bytes <= kInline) {
    std::memcpy(op.small.data(), op.local, op.bytes);
    op.local = op.small.data();
  }
  queue_.push(op);
  return true;
}

bool MessageEndpoint::pushing() const noexcept {
  return queue_.front() != nullptr || served_count_ != 0 || told_ != landed_ || refused_ != 0;
}

bool MessageEndpoint::say(Header header, ByteView body) noexcept {
  header.length = uint32_t(body.size());
  header.sequence = sent_ + 1;
  if (!send(bytes_of(header), body)) return false;
  ++sent_;
  return true;
}

void MessageEndpoint::push(size_t& budget) noexcept {
  if (refused_ != 0) {
    Header last;
    last.kind = Kind::refuse;
    last.value = refused_;
    if (ep_ && say(last, {})) refused_ = 0;
  }
  if (state_ != State::ready) return;
  Header ack;
  ack.kind = Kind::ack;
  ack.value = landed_;
  if (told_ != landed_ && say(ack, {})) told_ = ack.value;
  while (budget != 0 && state_ == State::ready && serve(budget)) {
  }
  while (budget != 0 && state_ == State::ready && queue_.front() != nullptr) {
    Op& op = *queue_.front();
    const size_t before = op.moved;
    if (!(op.verb == Verb::get ? ask(op) : put_piece(op))) return;
    budget -= std::min(budget, op.moved - before + sizeof(Header));
    if (op.verb == Verb::put && op.moved != op.bytes) continue;
    queue_.pop();
    if (op.verb == Verb::get) {
      asked_.push(op);
    } else if (op.when == When::delivered) {
      unconfirmed_.push(op);
    } else {
      finish(op, Code::ok);
    }
  }
}

bool MessageEndpoint::put_piece(Op& op) noexcept {
  if (gets_[op.signal.counter] != 0) return false;  // gets are read when there is room to answer
  const size_t n = std::min(piece_, op.bytes - op.moved);
  Header h;
  h.kind = Kind::put;
  h.counter = op.signal.counter;
  if (op.moved + n == op.bytes) {
    h.add = op.signal.add;
    h.wants_ack = op.when == When::delivered ? 1 : 0;
  }
  if (n != 0) {
    h.slot = op.key->slot;
    h.nonce = op.key->nonce;
    h.offset = op.offset + op.moved;
  }
  if (!say(h, n == 0 ? ByteView() : ByteView(op.local + op.moved, n))) return false;
  op.moved += n;
  return true;
}

bool MessageEndpoint::ask(Op& op) noexcept {
  Header h;
  h.kind = Kind::get;
  h.slot = op.key->slot;
  h.nonce = op.key->nonce;
  h.offset = op.offset;
  h.value = op.bytes;
  if (!say(h, {})) return false;
  gets_[op.signal.counter]++;
  return true;
}

// A piece of the oldest get. False: there is none, or no room.
bool MessageEndpoint::serve(size_t& budget) noexcept {
  if (served_count_ == 0) return false;
  Served& served = served_[first_served_];
  const auto pin = domain_->device().regions.pin(served.get.slot, served.get.nonce);
  if (!pin) return refuse(Refusal::region), false;
  if (!in_bounds(served.get.offset, served.get.value, pin.bytes())) return refuse(Refusal::bounds), false;
  if (!may_read(pin.access())) return refuse(Refusal::rights), false;
  const size_t n = std::min<uint64_t>(piece_, served.get.value - served.moved);
  Header h;
  h.kind = Kind::data;
  if (!say(h, ByteView(pin.base() + served.get.offset + served.moved, n))) return false;
  budget -= std::min(budget, n);
  served.moved += n;
  if (served.moved == served.get.value) {
    first_served_ = (first_served_ + 1) % served_.size();
    --served_count_;
  }
  return true;
}

void MessageEndpoint::heard(ByteView message) noexcept {
  const auto header = parse_header(message);
  if (!header || header->sequence != seen_ + 1) return refuse(Refusal::order);
  ++seen_;
  switch (header->kind) {
    case Kind::put:
      return put(*header, message.subspan(sizeof(Header)));
    case Kind::get:
      if (served_count_ == served_.size()) return refuse(Refusal::order);
      served_[(first_served_ + served_count_++) % served_.size()] = {*header, 0};
      return;
    case Kind::data:
      return data(message.subspan(sizeof(Header)));
    case Kind::ack:
      return acknowledged(header->value);
    case Kind::refuse:
      return fail(Code::invalid, std::string("it refused ") + describe(header->value));
  }
}

void MessageEndpoint::put(const Header& h, ByteView body) noexcept {
  if (h.add != 0 && h.counter >= counter_count_) return refuse(Refusal::counter);
  if (!body.empty()) {
    const auto pin = domain_->device().regions.pin(h.slot, h.nonce);
    if (!pin) return refuse(Refusal::region);
    if (!in_bounds(h.offset, body.size(), pin.bytes())) return refuse(Refusal::bounds);
    if (!may_write(pin.access())) return refuse(Refusal::rights);
    std::memcpy(pin.base() + h.offset, body.data(), body.size());
  }
  if (h.add != 0) add(h.counter, h.add);
  landed_ += h.wants_ack;
}

void MessageEndpoint::data(ByteView body) noexcept {
  Op* op = asked_.front();
  if (op == nullptr || body.size() > op->bytes - op->moved) return refuse(Refusal::order);
  std::memcpy(op->local + op->moved, body.data(), body.size());
  op->moved += body.size();
  if (op->moved != op->bytes) return;
  asked_.pop();
  gets_[op->signal.counter]--;
  finish(*op, Code::ok);
}

void MessageEndpoint::acknowledged(uint64_t count) noexcept {
  for (; confirmed_ != count; ++confirmed_) {
    if (unconfirmed_.front() == nullptr) return refuse(Refusal::order);
    finish(unconfirmed_.pop(), Code::ok);
  }
}

// The endpoint is over; the peer is told why when there is room.
void MessageEndpoint::refuse(Refusal why) noexcept {
  refused_ = uint64_t(why);
  fail(Code::auth, std::string("it sent ") + describe(refused_));
}

}  // namespace plait::transport::ofi
