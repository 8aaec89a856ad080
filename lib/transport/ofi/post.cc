// Taking transfers: each is checked whole before any of it moves.
#include <typeinfo>

#include "transport/ofi/domain.h"
#include "transport/ofi/endpoint.h"

namespace plait::transport::ofi {

size_t OfiEndpoint::post(std::span<const Transfer> transfers) noexcept {
  size_t taken = 0;
  for (const Transfer& t : transfers) {
    if (state_ != State::ready || !has_ops(1)) break;
    if (const char* why = refusal(t)) {
      fail(Code::invalid, std::string("a transfer was refused: ") + why);
      break;
    }
    if (t.verb == Verb::flush || (t.verb == Verb::get && t.remote.bytes == 0)) {
      done(t.when, t.cookie, Code::ok);
    } else if (!take(t)) {
      if (domain_ != nullptr) domain_->starved();
      break;
    }
    ++taken;
  }
  size_t budget = kPollBytes / 4;
  if (taken != 0 && state_ == State::ready) push(budget);
  return taken;
}

// Null when it keeps to the contract.
const char* OfiEndpoint::refusal(const Transfer& t) const noexcept {
  if (t.verb == Verb::flush) return nullptr;
  if (t.verb != Verb::put && t.verb != Verb::get) return "no such verb";
  if (t.verb == Verb::get && t.signal.add != 0) return "a get carries no signal";
  if (t.signal.counter >= (t.signal.add != 0 ? theirs_.counters : kCounters))
    return "the peer has no such counter";
  if (t.signal.add > domain_->capabilities().max_add) return "it adds more than max_add";
  if (t.remote.bytes == 0) return t.local.bytes == 0 ? nullptr : "the slices differ in length";
  return slice_refusal(t);
}

const char* OfiEndpoint::slice_refusal(const Transfer& t) const noexcept {
  const auto& [data, bytes, region] = t.local;
  if (bytes != t.remote.bytes) return "the slices differ in length";
  if (data == nullptr) return "no local memory";
  if (region != nullptr) {
    const auto at = reinterpret_cast<uintptr_t>(data) - reinterpret_cast<uintptr_t>(region->memory().base);
    if (!in_bounds(at, bytes, region->memory().bytes)) return "the local slice is out of bounds";
  }
  if (domain_->capabilities().local_needs_region && t.verb == Verb::put && bytes > kInline) {
    if (region == nullptr || typeid(*region) != typeid(OfiRegion) ||
        static_cast<const OfiRegion*>(region)->device() != &device())
      return "the local memory is not exposed by this domain, which moves from exposed memory only";
  }
  const RemoteRegion* remote = t.remote.region;
  if (remote == nullptr || typeid(*remote) != typeid(PeerRegion)) return "no remote region of libfabric's";
  if (static_cast<const PeerRegion*>(remote)->endpoint() != this)
    return "the remote region was imported by another endpoint";
  if (bytes > domain_->capabilities().max_transfer || !in_bounds(t.remote.offset, bytes, remote->bytes()))
    return "the remote slice is out of bounds";
  if (t.verb == Verb::put && !may_write(remote->access())) return "the peer's region may not be written";
  if (t.verb == Verb::get && !may_read(remote->access())) return "the peer's region may not be read";
  return nullptr;
}

bool OfiEndpoint::has_ops(size_t count) const noexcept {
  return used_ + dones_.size() + count <= domain_->capabilities().depth;
}

Op& OfiEndpoint::take_op(const Transfer& t) noexcept {
  Op& op = *free_op_;
  free_op_ = op.next;
  ++used_;
  op.used = true;
  op.verb = t.verb;
  op.when = t.when;
  op.signal = t.signal;
  op.cookie = t.cookie;
  op.key = t.remote.bytes == 0 ? nullptr : &static_cast<const PeerRegion*>(t.remote.region)->key();
  op.offset = t.remote.offset;
  op.local = t.local.data;
  op.bytes = t.remote.bytes;
  op.moved = 0;
  return op;
}

void OfiEndpoint::done(When when, uint64_t cookie, Code code) noexcept {
  if (when != When::never) dones_.push().done = Done{cookie, code};
}

void OfiEndpoint::finish(Op& op, Code code) noexcept {
  op.used = false;
  op.next = std::exchange(free_op_, &op);
  --used_;
  done(op.when, op.cookie, code);
}

}  // namespace plait::transport::ofi
