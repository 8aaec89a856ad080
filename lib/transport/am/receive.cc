// Messages in: every field is checked before anything moves.
#include <cstring>

#include "base/copy.h"
#include "transport/am/domain.h"
#include "transport/am/endpoint.h"

namespace plait::transport::am {

void MessageEndpoint::receive(const Header& h, ByteView body) noexcept {
  const Kind kind = Kind(h.kind);
  unanswered_ = 0;
  domain_->lookout().saw(body.size());
  if (kind == Kind::hello && (state_ == State::opened || h.value == theirs_.endpoint)) {
    heard_ = h.value;
    become_ready();
    if (busy()) domain_->has_work(*this);
    return;
  }
  if (kind == Kind::hello || (state_ != State::ready && state_ != State::connecting)) return;
  if (kind == Kind::goodbye) return fail(Code::peer, peer_name() + " closed this endpoint");
  if (kind == Kind::error) return fail(Code::invalid, peer_name() + " refused " + describe(Refusal(h.value)));
  if (state_ != State::ready || h.number != in_number_++) return refuse(Refusal::order);
  if (const auto refusal = land(h, body)) return refuse(*refusal);
  if (busy()) domain_->has_work(*this);
}

std::optional<Refusal> MessageEndpoint::land(const Header& h, ByteView body) noexcept {
  switch (Kind(h.kind)) {
    case Kind::put:
      return land_put(h, body);
    case Kind::data:
      return land_data(h, body);
    case Kind::ack:
      return acknowledged(h.value) ? std::nullopt : std::optional(Refusal::nonsense);
    default:
      break;
  }
  RegionTable::Pin pin;
  const Place place{h.slot, h.nonce, h.offset};
  if (served_.size() >= kDepth) return Refusal::too_many;
  if (h.value != 0) {
    if (const auto refusal = admit(domain_->regions(), place, h.value, false, pin)) return refusal;
  }
  Served& get = served_.push();
  get.place = place;
  get.left = h.value;
  return std::nullopt;
}

std::optional<Refusal> MessageEndpoint::land_put(const Header& h, ByteView body) noexcept {
  if (h.add != 0 && h.counter >= mine_.counters) return Refusal::counter;
  if (!body.empty()) {
    RegionTable::Pin pin;
    const Place place{h.slot, h.nonce, h.offset};
    if (const auto refusal = admit(domain_->regions(), place, body.size(), true, pin)) return refusal;
    copy_bytes(pin.base() + h.offset, body.data(), body.size());
  }
  if (h.add != 0) signal(h.counter, h.add);
  if ((h.flags & kAsked) != 0) ++landed_;
  return std::nullopt;
}

// An answer must be the next one of the oldest get, and its bytes must have been there when they were read.
std::optional<Refusal> MessageEndpoint::land_data(const Header& h, ByteView body) noexcept {
  if (gets_.empty()) return Refusal::nonsense;
  Op& op = gets_.front();
  const ByteView bytes = body.first(body.size() - sizeof kIntact);
  ByteView end = body.last(sizeof kIntact);
  uint64_t intact = 0;
  const size_t left = op.bytes - op.moved;
  const bool last = (h.flags & kLast) != 0;
  if (bytes.size() > left || last != (bytes.size() == left)) return Refusal::nonsense;
  if (!plait::take(end, intact) || intact != kIntact) return Refusal::region;
  if (!bytes.empty()) copy_bytes(op.local + op.moved, bytes.data(), bytes.size());
  op.moved += bytes.size();
  if (!last) return std::nullopt;
  gets_.pop();
  gets_under_way_[op.signal.counter % kCounters]--;
  finished(op, Code::ok);
  return std::nullopt;
}

// The peer says that `count` transfers, of those that asked, have landed. False: that cannot be.
bool MessageEndpoint::acknowledged(uint64_t count) noexcept {
  if (count > asked_ || count < acked_) return false;
  for (; acked_ != count; ++acked_) {
    if (pacer_.answered(acked_)) continue;
    Op& op = unacked_.front();
    unacked_.pop();
    finished(op, Code::ok);
  }
  return true;
}

}  // namespace plait::transport::am
