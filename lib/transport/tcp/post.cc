// Taking transfers: each is checked whole before any of it moves; what fits leaves with one call to the
// kernel.
#include <cstring>

#include "transport/tcp/domain.h"
#include "transport/tcp/endpoint.h"

namespace plait::transport::tcp {

namespace {

bool is_small(const Transfer& transfer) noexcept {
  return transfer.verb == Verb::put && transfer.remote.bytes <= kInline;
}

}  // namespace

size_t TcpEndpoint::post(std::span<const Transfer> transfers) noexcept {
  if (transfers.size() == 1 && post_now(transfers.front())) return 1;
  std::array<bool, 1 + kBulkMost> queued{};
  for (size_t i = 0; i < lanes_.size(); ++i) queued[i] = lanes_[i].pending();
  size_t taken = 0;
  for (const Transfer& transfer : transfers) {
    if (!takes()) break;
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

// A small put that is alone, which most are, in few steps. False: it is not, or something is wrong with it.
bool TcpEndpoint::post_now(const Transfer& transfer) noexcept {
  if (!is_small(transfer) || transfer.when == When::delivered || !takes()) return false;
  Connection& lane = lanes_[lane_number(transfer.signal.counter)];
  if (!lane.sends_now() || refusal_of(transfer, this, their_counters_) != nullptr) return false;
  lane.send_now(transfer, place_of(transfer));
  if (lane.up() && lane.pending()) lane.wants_to_send();
  if (transfer.when == When::reusable) done(transfer);
  return true;
}

void TcpEndpoint::take(const Transfer& transfer) noexcept {
  if (transfer.verb == Verb::flush) return done(transfer);
  Connection& lane = lanes_[lane_number(transfer.signal.counter)];
  const bool small = is_small(transfer);
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
