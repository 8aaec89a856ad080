// Taking transfers: each is checked whole before any of it moves; what fits leaves with one call to the
// kernel.
#include <cstring>

#include "transport/tcp/domain.h"
#include "transport/tcp/endpoint.h"

namespace plait::transport::tcp {

size_t TcpEndpoint::post(std::span<const Transfer> transfers) noexcept {
  std::array<bool, 1 + kBulkMost> queued{};
  for (size_t i = 0; i < lanes_.size(); ++i) queued[i] = lanes_[i].pending();
  size_t taken = 0;
  for (const Transfer& transfer : transfers) {
    if (state_ != State::ready || ending_ || ops_.used() + dones_.size() >= kDepth) break;
    if (const char* why = refusal_of(transfer, this, their_counters_)) {
      fail(Code::invalid, std::string("a transfer was refused: ") + why);
      break;
    }
    take(transfer);
    ++taken;
  }
  for (Connection& lane : lanes_) {
    if (lane.up() && lane.pending()) domain_->engine().posted(lane, queued[size_t(lane.lane())]);
  }
  return taken;
}

void TcpEndpoint::take(const Transfer& transfer) noexcept {
  if (transfer.verb == Verb::flush) return done(transfer);
  Connection& lane = lanes_[lane_number(transfer.signal.counter)];
  const bool small = transfer.verb == Verb::put && transfer.remote.bytes <= kInline;
  if (small && lane.takes_small()) {
    Op* op = nullptr;
    if (transfer.when == When::delivered) (op = &ops_.take())->fill(transfer);
    lane.send_small(transfer, place_of(transfer), op);
    if (transfer.when == When::reusable) done(transfer);
    return;
  }
  Op& op = ops_.take();
  op.fill(transfer);
  if (small && op.bytes != 0) std::memcpy(op.small.data(), op.local, op.bytes);
  lane.enqueue(op);
}

void TcpEndpoint::done(const Transfer& transfer) noexcept {
  if (transfer.when == When::never) return;
  dones_.push({transfer.cookie, Code::ok});
  domain_->has_work(*this);
}

}  // namespace plait::transport::tcp
