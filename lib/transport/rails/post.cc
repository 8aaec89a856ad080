// Taking transfers: each is checked whole before any of it moves. A short put goes at once or is not taken;
// longer ones wait to be cut.
#include <algorithm>
#include <cstring>
#include <typeinfo>

#include "transport/rails/domain.h"
#include "transport/rails/endpoint.h"

namespace plait::transport::rails {

namespace {

const RailsRemote& remote_of(const Transfer& t) noexcept {
  return *static_cast<const RailsRemote*>(t.remote.region);
}

const char* region_refusal(const Transfer& t, const RailsEndpoint* endpoint) noexcept {
  const auto& [data, bytes, region] = t.local;
  if (bytes != t.remote.bytes) return "the slices differ in length";
  if (data == nullptr) return "no local memory";
  if (region != nullptr) {
    if (typeid(*region) != typeid(RailsRegion)) return "no local region of rails";
    const Memory& whole = region->memory();
    const auto at = reinterpret_cast<uintptr_t>(data) - reinterpret_cast<uintptr_t>(whole.base);
    if (!in_bounds(at, bytes, whole.bytes)) return "the local slice is out of bounds";
  }
  const RemoteRegion* remote = t.remote.region;
  if (remote == nullptr || typeid(*remote) != typeid(RailsRemote)) return "no remote region of rails";
  if (remote_of(t).endpoint() != endpoint) return "the remote region was imported by another endpoint";
  if (!in_bounds(t.remote.offset, bytes, remote->bytes())) return "the remote slice is out of bounds";
  if (t.verb == Verb::put && !may_write(remote->access())) return "the peer's region may not be written";
  if (t.verb == Verb::get && !may_read(remote->access())) return "the peer's region may not be read";
  return nullptr;
}

}  // namespace

size_t RailsEndpoint::post(std::span<const Transfer> transfers) noexcept {
  may_talk_ = true;
  size_t taken = 0;
  for (const Transfer& transfer : transfers) {
    if (state_ != State::ready) break;
    if (const char* why = refusal(transfer)) {
      fail(Code::invalid, std::string("a transfer was refused: ") + why);
      break;
    }
    if (!take(transfer)) break;
    ++taken;
  }
  return taken;
}

// Null when it keeps to the contract.
const char* RailsEndpoint::refusal(const Transfer& t) const noexcept {
  const Capabilities& caps = domain_->capabilities();
  if (t.verb != Verb::put && t.verb != Verb::get && t.verb != Verb::flush) return "no such verb";
  if (t.signal.counter >= theirs_.counters) return "the peer has no such counter";
  if (t.verb != Verb::put && t.signal.add != 0) return "only a put carries a signal";
  if (t.signal.add > caps.max_add) return "it adds more than max_add";
  if (t.verb == Verb::get && !caps.get) return "these rails have no get";
  if (t.verb == Verb::flush) return nullptr;
  if (t.remote.bytes == 0) return t.local.bytes == 0 ? nullptr : "the slices differ in length";
  if (t.remote.bytes > caps.max_transfer) return "it is longer than max_transfer";
  const bool short_put = t.verb == Verb::put && t.local.bytes <= caps.inline_bytes;
  if (caps.local_needs_region && t.local.region == nullptr && !short_put)
    return "these rails need an exposed local region";
  return region_refusal(t, this);
}

bool RailsEndpoint::has_depth() const noexcept { return ops_ + owed_ < domain_->capabilities().depth; }

bool RailsEndpoint::take(const Transfer& t) noexcept {
  if (t.verb == Verb::flush && !domain_->capabilities().needs_flush) {
    if (!has_depth()) return false;
    if (t.when != When::never) give_done(t.cookie, Code::ok);
    return true;
  }
  const bool mark = t.remote.bytes == 0 && t.signal.add == 0 && t.when == When::delivered;
  const bool small = t.verb == Verb::put && t.remote.bytes <= domain_->capabilities().inline_bytes;
  return small && !mark ? take_short(t) : take_long(t);
}

// Its copy lives until the peer has it.
bool RailsEndpoint::take_short(const Transfer& t) noexcept {
  const size_t counter = t.signal.counter;
  Out& out = out_[counter];
  if (out.first != nullptr || out.gets != 0 || !has_slot(counter) || (t.when != When::never && !has_depth()))
    return false;
  if (t.remote.bytes != 0 && must_wait(counter, &remote_of(t).import(), t.remote.offset, t.remote.bytes))
    return false;
  Part& p = part(counter, out.sent);
  p = Part();
  p.used = true;
  p.bytes = uint32_t(t.remote.bytes);
  const uint64_t credits = std::min(in_[counter].next - in_[counter].told, kCreditsMost);
  p.value = part_value(t.signal.add, credits);
  if (p.bytes != 0) {
    p.copy = &domain_->pools().copies.take();
    std::memcpy(p.copy->bytes.data(), t.local.data, p.bytes);
    p.import = &remote_of(t).import();
    p.import->uses++;
    p.offset = t.remote.offset;
  }
  if (t.when == When::delivered) {
    p.op = &make_op(t);
    p.op->whole = true;
    p.op->left = 1;
  }
  if (!send(counter, size_t(&p - parts_.data()))) {
    if (p.op != nullptr) p.op->when = When::never, finish(*p.op, Code::ok);
    if (p.copy != nullptr) domain_->pools().copies.give(*p.copy);
    unuse(p.import);
    p = Part();
    return false;
  }
  out.sent++;
  out.unlanded++;
  in_[counter].told += credits;
  if (t.when != When::reusable) return true;
  if (!behind_others(newest_, counter)) {
    give_done(t.cookie, Code::ok);
  } else {
    make_op(t).held = true;
  }
  return true;
}

// Not where nothing of it could go: what was taken and waits would keep sent() from being told.
bool RailsEndpoint::take_long(const Transfer& t) noexcept {
  Out& out = out_[t.signal.counter];
  if (!has_depth() || (t.verb == Verb::put && out.first == nullptr && !has_slot(t.signal.counter)))
    return false;
  Op& op = make_op(t);
  const size_t live = size_t(std::ranges::count_if(rails_, [](const Rail& r) { return r.live(); }));
  const size_t share = round_up(op.bytes / std::max<size_t>(live, 1), 4096);
  op.piece =
      std::min(op.bytes <= kWhole ? kWhole : std::clamp(share, kWhole, kPiece), domain_->piece_limit());
  (out.first == nullptr ? out.first : out.last->next) = &op;
  out.last = &op;
  ++queued_;
  pump(t.signal.counter);
  return true;
}

Op& RailsEndpoint::make_op(const Transfer& t) noexcept {
  Op& op = domain_->pools().ops.take();
  op.older = newest_;
  if (newest_ != nullptr) newest_->newer = &op;
  newest_ = &op;
  ++ops_;
  op.verb = t.verb;
  op.when = t.when;
  op.signal = t.signal;
  op.cookie = t.cookie;
  op.bytes = t.verb == Verb::flush ? 0 : t.remote.bytes;
  if (op.bytes == 0) return op;
  op.data = t.local.data;
  op.region = static_cast<const RailsRegion*>(t.local.region);
  op.offset = t.remote.offset;
  op.import = &remote_of(t).import();
  op.import->uses++;
  return op;
}

// Has a transfer of this counter that was taken with `newest`, or before, a source that may be read again?
bool RailsEndpoint::behind_others(const Op* newest, size_t counter) const noexcept {
  while (newest != nullptr && newest->signal.counter != counter) newest = newest->older;
  return newest != nullptr;
}

// All of it has landed. `reusable` is told in the order of posting: who is told of the last of many takes all
// of their sources to be free.
void RailsEndpoint::complete(Op& op) noexcept {
  const size_t counter = op.signal.counter;
  if (op.verb == Verb::put && op.when == When::reusable && behind_others(op.older, counter)) {
    op.held = true;
    return;
  }
  Op* next = op.newer;
  finish(op, Code::ok);
  while (next != nullptr) {
    Op& after = *next;
    next = after.newer;
    if (after.signal.counter != counter) continue;
    if (!after.held || behind_others(after.older, counter)) return;
    finish(after, Code::ok);
  }
}

void RailsEndpoint::finish(Op& op, Code code) noexcept {
  (op.newer != nullptr ? op.newer->older : newest_) = op.older;
  if (op.older != nullptr) op.older->newer = op.newer;
  --ops_;
  unuse(op.import);
  if (op.when != When::never) give_done(op.cookie, code);
  domain_->pools().ops.give(op);
}

void RailsEndpoint::give_done(uint64_t cookie, Code code) noexcept {
  ++owed_;
  domain_->done({cookie, code}, this, false);
}

}  // namespace plait::transport::rails
