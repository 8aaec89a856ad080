// Taking transfers: each is checked whole before any of it moves; what fits leaves with one call to the
// kernel.
#include <cstring>
#include <typeinfo>

#include "transport/tcp/domain.h"
#include "transport/tcp/endpoint.h"

namespace plait::transport::tcp {

namespace {

const PeerRegion& region_of(const Transfer& transfer) noexcept {
  return *static_cast<const PeerRegion*>(transfer.remote.region);
}

Place place_of(const Transfer& transfer) noexcept {
  if (transfer.remote.bytes == 0) return {};
  return {region_of(transfer).slot(), region_of(transfer).nonce(), transfer.remote.offset};
}

void fill(Op& op, const Transfer& transfer) noexcept {
  op.verb = transfer.verb;
  op.when = transfer.when;
  op.signal = transfer.signal;
  op.cookie = transfer.cookie;
  op.place = place_of(transfer);
  op.local = transfer.local.data;
  op.bytes = transfer.remote.bytes;
}

}  // namespace

size_t TcpEndpoint::post(std::span<const Transfer> transfers) noexcept {
  const std::array<bool, 2> queued{lanes_[0].pending(), lanes_[1].pending()};
  size_t taken = 0;
  for (const Transfer& transfer : transfers) {
    if (state_ != State::ready || ending_ || ops_.used() + dones_.size() >= kDepth) break;
    if (const char* why = refusal(transfer)) {
      fail(Code::invalid, std::string("a transfer was refused: ") + why);
      break;
    }
    take(transfer);
    ++taken;
  }
  for (Connection& lane : lanes_) {
    // Behind what waits already it is poll()'s turn.
    size_t budget = kPacket;
    if (!queued[size_t(lane.lane())] && lane.up() && lane.pending()) lane.flush(budget, 1);
    if (lane.up() && lane.pending()) wants_to_send(lane);
  }
  return taken;
}

// Null when it keeps to the contract.
const char* TcpEndpoint::refusal(const Transfer& transfer) const noexcept {
  if (transfer.verb == Verb::flush) return nullptr;
  if (transfer.verb != Verb::put && transfer.verb != Verb::get) return "no such verb";
  if (transfer.verb == Verb::get && transfer.signal.add != 0) return "a get carries no signal";
  if (transfer.signal.add != 0 && transfer.signal.counter >= their_counters_)
    return "the peer has no such counter";
  if (transfer.remote.bytes == 0) return transfer.local.bytes == 0 ? nullptr : "the slices differ in length";
  return remote_refusal(transfer);
}

const char* TcpEndpoint::remote_refusal(const Transfer& transfer) const noexcept {
  const auto& [data, bytes, region] = transfer.local;
  if (bytes != transfer.remote.bytes) return "the slices differ in length";
  if (data == nullptr) return "no local memory";
  if (region != nullptr) {
    const Memory& whole = region->memory();
    const auto at = reinterpret_cast<uintptr_t>(data) - reinterpret_cast<uintptr_t>(whole.base);
    if (!in_bounds(at, bytes, whole.bytes)) return "the local slice is out of bounds";
  }
  const RemoteRegion* remote = transfer.remote.region;
  if (remote == nullptr || typeid(*remote) != typeid(PeerRegion)) return "no remote region of TCP";
  if (region_of(transfer).endpoint() != this) return "the remote region was imported by another endpoint";
  if (bytes > kMaxTransfer || !in_bounds(transfer.remote.offset, bytes, remote->bytes()))
    return "the remote slice is out of bounds";
  if (transfer.verb == Verb::put && !may_write(remote->access()))
    return "the peer's region may not be written";
  if (transfer.verb == Verb::get && !may_read(remote->access())) return "the peer's region may not be read";
  return nullptr;
}

void TcpEndpoint::take(const Transfer& transfer) noexcept {
  if (transfer.verb == Verb::flush) return done(transfer);
  Connection& lane = lanes_[transfer.signal.counter % 2];
  const bool small = transfer.verb == Verb::put && transfer.remote.bytes <= kInline;
  if (small && lane.takes_small()) {
    Op* op = nullptr;
    if (transfer.when == When::delivered) fill(*(op = &ops_.take()), transfer);
    lane.send_small(transfer, place_of(transfer), op);
    if (transfer.when == When::reusable) done(transfer);
    return;
  }
  Op& op = ops_.take();
  fill(op, transfer);
  if (small && op.bytes != 0) std::memcpy(op.small.data(), op.local, op.bytes);
  lane.enqueue(op);
}

void TcpEndpoint::done(const Transfer& transfer) noexcept {
  if (transfer.when == When::never) return;
  dones_.push().done = Done{transfer.cookie, Code::ok};
  domain_->has_work(*this);
}

}  // namespace plait::transport::tcp
