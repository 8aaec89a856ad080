// Messages out. Each is one packet of UCX's: a header, and the bytes of a transfer that fit.
#include <algorithm>
#include <cstring>

#include "transport/ucx/domain.h"
#include "transport/ucx/endpoint.h"

namespace plait::transport::ucx {

size_t UcxEndpoint::post(std::span<const Transfer> transfers) noexcept {
  size_t taken = 0;
  for (const Transfer& transfer : transfers) {
    if (state_ != State::ready || ops_.used() + dones_.size() >= kDepth) break;
    if (const char* why = refusal_of(transfer, this, theirs_.counters)) {
      fail(Code::invalid, std::string("a transfer was refused: ") + why);
      break;
    }
    begin(transfer);
    ++taken;
  }
  // The first piece goes at once, all others are poll()'s.
  if (can_send()) {
    size_t budget = 1;
    send_next(budget);
    if (can_send()) domain_->has_work(*this);
  }
  return taken;
}

void UcxEndpoint::begin(const Transfer& transfer) noexcept {
  if (transfer.verb == Verb::flush) {
    if (transfer.when != When::never) add_done(transfer.cookie, Code::ok);
    return;
  }
  OpQueue& queue = waiting_[transfer.signal.counter % 2];
  const bool small = transfer.verb == Verb::put && transfer.remote.bytes <= kInline;
  const size_t bytes = transfer.remote.bytes;
  const bool now = small && queue.empty() && room();
  if (!now || transfer.when == When::delivered) {
    Op& op = ops_.take();
    op.fill(transfer);
    if (!now) {
      if (small && bytes != 0) std::memcpy(op.small.data(), op.local, bytes);
      return queue.push(op);
    }
    unacked_.push(op);
  }
  Flight& flight = take(Kind::put);
  Header& h = flight.header;
  const Place place = place_of(transfer);
  h.flags = uint8_t(kLast | (transfer.when == When::delivered ? kAsked : 0));
  if (transfer.signal.add != 0) h.counter = transfer.signal.counter;
  h.add = transfer.signal.add;
  h.slot = place.slot;
  h.nonce = place.nonce;
  h.offset = place.offset;
  flight.bytes = bytes;
  if (bytes != 0) std::memcpy(flight.small.data(), transfer.local.data, bytes);
  send(flight);
  if (transfer.when == When::reusable) add_done(transfer.cookie, Code::ok);
}

bool UcxEndpoint::can_send() const noexcept {
  return state_ == State::ready && room() &&
         (landed_ != told_ || !waiting_[0].empty() || !waiting_[1].empty() || !served_.empty());
}

// What is on even counters, on odd ones and asked for by the peer take turns.
void UcxEndpoint::send_next(size_t& budget) noexcept {
  if (landed_ != told_) {
    told_ = landed_;
    return tell(Kind::ack, landed_);
  }
  do {
    turn_ = (turn_ + 1) % 3;
  } while (turn_ == 2 ? served_.empty() : waiting_[turn_].empty());
  if (turn_ == 2) return answer(served_.front(), budget);
  send_part(waiting_[turn_].front(), waiting_[turn_], budget);
}

void UcxEndpoint::send_part(Op& op, OpQueue& queue, size_t& budget) noexcept {
  Flight& flight = take(op.verb == Verb::get ? Kind::get : Kind::put);
  Header& h = flight.header;
  h.slot = op.place.slot;
  h.nonce = op.place.nonce;
  h.offset = op.place.offset + (op.verb == Verb::get ? 0 : op.moved);
  if (op.verb == Verb::get) {
    h.value = op.bytes;
    queue.pop();
    gets_.push(op);
    return send(flight);
  }
  flight.bytes = std::min(op.bytes - op.moved, domain_->library().piece());
  if (op.bytes <= kInline) {
    std::memcpy(flight.small.data(), op.small.data(), op.bytes);
  } else {
    flight.from = op.local + op.moved;
  }
  op.moved += flight.bytes;
  budget -= std::min(budget, flight.bytes);
  if (op.moved == op.bytes) {
    h.flags = uint8_t(kLast | (op.when == When::delivered ? kAsked : 0));
    if (op.signal.add != 0) h.counter = op.signal.counter;
    h.add = op.signal.add;
    queue.pop();
    if (op.when == When::delivered) {
      unacked_.push(op);
    } else {
      flight.op = &op;
    }
  }
  send(flight);
}

void UcxEndpoint::answer(Served& get, size_t& budget) noexcept {
  Flight& flight = take(Kind::data);
  const size_t bytes = std::min<uint64_t>(get.left, domain_->library().piece());
  flight.bytes = bytes + sizeof kIntact;
  flight.place = get.place;
  if (bytes == 0) std::memcpy(flight.small.data(), &kIntact, sizeof kIntact);
  budget -= std::min(budget, bytes);
  get.place.offset += bytes;
  get.left -= bytes;
  if (get.left == 0) {
    flight.header.flags = kLast;
    served_.pop();
  }
  send(flight);
}

void UcxEndpoint::tell(Kind kind, uint64_t value, uint8_t flags) noexcept {
  if (!room()) return;
  Flight& flight = take(kind);
  flight.header.value = value;
  flight.header.flags = flags;
  send(flight);
}

Flight& UcxEndpoint::take(Kind kind) noexcept {
  Flight& flight = domain_->take_flight();
  flight.owner = this;
  flight.header.kind = uint8_t(kind);
  flight.header.to = theirs_.endpoint;
  flight.next = flights_;
  flights_ = &flight;
  ++flying_;
  return flight;
}

void UcxEndpoint::send(Flight& flight) noexcept {
  Header& h = flight.header;
  if (counted(Kind(h.kind))) h.number = out_number_++;
  if ((h.flags & kAsked) != 0) ++asked_;
  flying_bytes_ += flight.bytes;
  ucx::send(*peer_, flight);
}

void UcxEndpoint::sent(Flight& flight) noexcept {
  Flight** at = &flights_;
  while (*at != &flight) at = &(*at)->next;
  *at = flight.next;
  --flying_;
  flying_bytes_ -= flight.bytes;
  if (flight.op != nullptr) finished(*flight.op, Code::ok);
  if (can_send()) domain_->has_work(*this);
}

void UcxEndpoint::add_done(uint64_t cookie, Code code) noexcept {
  dones_.push().done = Done{cookie, code};
  domain_->has_work(*this);
}

void UcxEndpoint::finished(Op& op, Code code) noexcept {
  if (op.when != When::never || op.verb == Verb::get) add_done(op.cookie, code);
  ops_.give(op);
}

}  // namespace plait::transport::ucx
