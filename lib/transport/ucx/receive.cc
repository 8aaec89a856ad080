// Messages in: every field is checked before anything moves.
#include <cstring>

#include "base/log.h"
#include "transport/ucx/domain.h"
#include "transport/ucx/endpoint.h"

namespace plait::transport::ucx {

void UcxEndpoint::receive(const Header& h, ByteView payload) noexcept {
  const Kind kind = Kind(h.kind);
  if (kind == Kind::hello) return greeted(h);
  if (state_ != State::ready && state_ != State::connecting) return;
  if (kind == Kind::goodbye) return fail(Code::peer, peer_name() + " closed this endpoint");
  if (kind == Kind::error) return fail(Code::invalid, peer_name() + " refused " + describe(Refusal(h.value)));
  if (state_ != State::ready || h.number != in_number_++) return refuse(Refusal::order);
  if (const auto refusal = land(h, payload)) return refuse(*refusal);
  if (busy()) domain_->has_work(*this);
}

// Who connects first says hello to one that does not know it yet, and hears of it by the other's hello.
void UcxEndpoint::greeted(const Header& h) noexcept {
  if ((state_ != State::connecting && state_ != State::ready) || h.value != theirs_.endpoint) return;
  if (state_ == State::connecting) {
    state_ = State::ready;
    log::info("{}: connected to {}", domain_->name(), peer_name());
  }
  if ((h.flags & kLast) != 0) tell(Kind::hello, nonce_);
}

std::optional<Refusal> UcxEndpoint::land(const Header& h, ByteView payload) noexcept {
  RegionTable::Pin pin;
  const Place place{h.slot, h.nonce, h.offset};
  if (Kind(h.kind) == Kind::data) return land_data(h, payload);
  if (Kind(h.kind) == Kind::ack)
    return acknowledged(h.value) ? std::nullopt : std::optional(Refusal::nonsense);
  if (Kind(h.kind) == Kind::get) {
    if (served_.size() >= kDepth) return Refusal::too_many;
    if (h.value != 0) {
      if (const auto refusal = admit(domain_->regions(), place, h.value, false, pin)) return refusal;
    }
    Served& get = served_.push();
    get.place = place;
    get.left = h.value;
    return std::nullopt;
  }
  if (h.add != 0 && h.counter >= counter_count_) return Refusal::counter;
  if (!payload.empty()) {
    if (const auto refusal = admit(domain_->regions(), place, payload.size(), true, pin)) return refusal;
    std::memcpy(pin.base() + h.offset, payload.data(), payload.size());
  }
  if (h.add != 0) counters_[h.counter].fetch_add(h.add, std::memory_order_release);
  if ((h.flags & kAsked) != 0) ++landed_;
  return std::nullopt;
}

// An answer must be the next one of the oldest get, and its bytes must have been there when they were read.
std::optional<Refusal> UcxEndpoint::land_data(const Header& h, ByteView payload) noexcept {
  if (gets_.empty()) return Refusal::nonsense;
  Op& op = gets_.front();
  const ByteView bytes = payload.first(payload.size() - sizeof kIntact);
  ByteView end = payload.last(sizeof kIntact);
  uint64_t intact = 0;
  const bool last = (h.flags & kLast) != 0;
  if (bytes.size() > op.bytes - op.moved || last != (bytes.size() == op.bytes - op.moved))
    return Refusal::nonsense;
  if (!plait::take(end, intact) || intact != kIntact) return Refusal::region;
  if (!bytes.empty()) std::memcpy(op.local + op.moved, bytes.data(), bytes.size());
  op.moved += bytes.size();
  if (!last) return std::nullopt;
  gets_.pop();
  finished(op, Code::ok);
  return std::nullopt;
}

// The peer says that `count` transfers, of those that asked, have landed. False: that cannot be.
bool UcxEndpoint::acknowledged(uint64_t count) noexcept {
  if (count > asked_ || count < acked_) return false;
  for (; acked_ != count; ++acked_) {
    Op& op = unacked_.front();
    unacked_.pop();
    finished(op, Code::ok);
  }
  return true;
}

}  // namespace plait::transport::ucx
