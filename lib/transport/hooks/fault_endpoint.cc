#include "transport/hooks/fault_endpoint.h"

#include <algorithm>

namespace plait::transport::hooks {

FaultEndpoint::FaultEndpoint(FaultDomain& domain, std::unique_ptr<Endpoint> inner, uint16_t counters,
                             uint64_t cookie, int id)
    : WrappedEndpoint(std::move(inner), counters), domain_(&domain), cookie_(cookie), id_(id) {
  held_.reserve(domain.capabilities().depth);
  lost_.reserve(domain.capabilities().depth);
}

FaultEndpoint::~FaultEndpoint() {
  close();
  if (domain_ == nullptr) return;
  std::erase(domain_->endpoints_, this);
  for (FaultDomain::Slot& slot : domain_->slots_) {
    if (slot.owner == this) slot.owner = nullptr;
  }
}

State FaultEndpoint::state() const noexcept {
  if (closed_) return State::closed;
  return link_->killed ? State::failed : inner().state();
}

std::string_view FaultEndpoint::error() const noexcept { return link_->killed ? error_ : inner().error(); }

Result<std::unique_ptr<RemoteRegion>> FaultEndpoint::import(ByteView key) {
  if (link_->killed) return Status(Code::state, error_);
  return inner().import(key);
}

size_t FaultEndpoint::post(std::span<const Transfer> transfers) noexcept {
  size_t taken = 0;
  while (taken < transfers.size() && take(transfers[taken])) ++taken;
  return taken;
}

bool FaultEndpoint::take(const Transfer& t) noexcept {
  if (closed_ || link_->killed || domain_ == nullptr || !finish_second()) return false;
  if (inner().state() != State::ready) return inner().post({&t, 1}) == 1;
  if (held_.size() + link_->owed >= domain_->capabilities().depth) return false;
  if (!verdict_) verdict_ = domain_->judge(id_);
  Verdict verdict = *verdict_;
  if (verdict.fault == Fault::fail_on) failed_ |= uint64_t(1) << t.signal.counter % 64;
  if ((failed_ >> t.signal.counter % 64 & 1) != 0) verdict = {Fault::fail, 0};
  bool took = true;
  if (verdict.fault == Fault::kill || (verdict.fault == Fault::fail && t.when == When::never)) {
    kill("the fault plan killed the link");
    took = false;
  } else if (verdict.fault == Fault::fail) {
    domain_->give(t.cookie, Code::peer, link_);
  } else if (verdict.fault == Fault::drop) {
    if (t.when == When::reusable) domain_->give(t.cookie, Code::ok, link_);
    if (t.when == When::delivered) lost_.push_back(t.cookie);
  } else if (verdict.fault == Fault::delay || waits_behind_held(t)) {
    hold(t, verdict);
  } else {
    took = send(t, verdict.fault);
  }
  if (took) {
    ++domain_->hits_[size_t(verdict.fault)];
    if (t.when != When::never) ++link_->owed;
    verdict_.reset();
  }
  return took;
}

bool FaultEndpoint::send(const Transfer& t, Fault fault) noexcept {
  FaultDomain::Slot slot;
  slot.cookie = t.cookie;
  slot.link = link_;
  slot.lose = fault == Fault::lose_ack;
  slot.mute = fault == Fault::mute;
  if (fault == Fault::corrupt && t.remote.bytes != 0) {
    if (t.verb == Verb::put) return send_corrupted(t);
    if (t.verb == Verb::get) slot.flip = t.local.data + domain_->random() % t.local.bytes;
  }
  return send_plain(t, slot);
}

bool FaultEndpoint::send_plain(Transfer t, FaultDomain::Slot slot) noexcept {
  if (t.when == When::never) return inner().post({&t, 1}) == 1;
  const bool mute = slot.mute;
  const uint64_t cookie = slot.cookie;
  t.cookie = domain_->take_slot(std::move(slot));
  bool taken = inner().post({&t, 1}) == 1;
  if (taken && mute) lost_.push_back(cookie);
  if (!taken) domain_->free_.push_back(t.cookie);
  return taken;
}

// The true bytes without the signal, then one wrong byte over them with it: on one counter the second acts
// after the first. It asks for `delivered`, which tells of the first's source too.
bool FaultEndpoint::send_corrupted(const Transfer& t) noexcept {
  Transfer first = t, second = t;
  first.signal.add = 0;
  first.when = When::never;
  size_t at = domain_->random() % t.local.bytes;
  second.local = domain_->scratch_byte(t.local.data[at] ^ std::byte(1 << domain_->random() % 8));
  second.remote.offset += at;
  second.remote.bytes = 1;
  if (t.when == When::reusable) second.when = When::delivered;
  if (inner().post({&first, 1}) != 1) return false;
  second_ = second;
  finish_second();
  return true;
}

bool FaultEndpoint::finish_second() noexcept {
  if (!second_) return true;
  FaultDomain::Slot slot;
  slot.cookie = second_->cookie;
  slot.link = link_;
  if (!send_plain(*second_, std::move(slot))) return false;
  second_.reset();
  return true;
}

void FaultEndpoint::hold(const Transfer& t, Verdict verdict) {
  Held& held = held_.emplace_back(Held{t, verdict, {}});
  if (t.verb != Verb::put || t.local.bytes == 0 || t.local.bytes > domain_->capabilities().inline_bytes)
    return;
  held.bytes.assign(t.local.data, t.local.data + t.local.bytes);
  held.transfer.local = {held.bytes.data(), held.bytes.size(), nullptr};
}

bool FaultEndpoint::waits_behind_held(const Transfer& t) const noexcept {
  return std::any_of(held_.begin(), held_.end(),
                     [&](const Held& h) { return h.transfer.signal.counter == t.signal.counter; });
}

void FaultEndpoint::step() noexcept {
  if (!finish_second()) return;
  for (Held& held : held_) {
    if (held.verdict.polls != 0) --held.verdict.polls;
  }
  for (size_t i = 0; i < held_.size();) {
    auto here = held_.begin() + ptrdiff_t(i);
    bool blocked = here->verdict.polls != 0 || std::any_of(held_.begin(), here, [&](const Held& earlier) {
                     return earlier.transfer.signal.counter == here->transfer.signal.counter;
                   });
    Fault fault = here->verdict.fault == Fault::delay ? Fault::none : here->verdict.fault;
    if (blocked || !finish_second() || !send(here->transfer, fault)) {
      ++i;
      continue;
    }
    held_.erase(here);  // moving a Held keeps the heap bytes its transfer points to
  }
}

// No Done that was wanted stays away.
void FaultEndpoint::end_held(Code code) noexcept {
  if (domain_ == nullptr) return;
  for (const Held& held : held_) {
    if (held.transfer.when != When::never) domain_->give(held.transfer.cookie, code, link_);
  }
  if (second_ && second_->when != When::never) domain_->give(second_->cookie, code, link_);
  for (uint64_t cookie : lost_) domain_->give(cookie, code, link_);
  held_.clear();
  second_.reset();
  lost_.clear();
}

void FaultEndpoint::kill(std::string why) noexcept {
  if (closed_ || link_->killed || domain_ == nullptr || inner().state() == State::failed) return;
  link_->killed = true;
  error_ = std::string(domain_->name()) + ": " + std::move(why);
  ++domain_->hits_[size_t(Fault::kill)];
  inner().close();
  end_held(Code::peer);
  domain_->give(cookie_, Code::peer, nullptr);
}

void FaultEndpoint::close() noexcept {
  if (std::exchange(closed_, true)) return;
  inner().close();
  end_held(Code::aborted);
}

}  // namespace plait::transport::hooks
