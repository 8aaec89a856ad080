// Parts on their way: cut from transfers, posted to the rail that is free, kept until the peer has taken
// them.
#include <algorithm>

#include "transport/rails/domain.h"
#include "transport/rails/endpoint.h"

namespace plait::transport::rails {

namespace {

// Less than this under way counts as nothing: short puts of a counter stay together where there is no reason
// not to.
constexpr size_t kLittle = size_t{32} << 10;

}  // namespace

bool RailsEndpoint::has_slot(size_t counter) const noexcept {
  const Out& out = out_[counter];
  return out.sent - out.credited < theirs_.window && !part(counter, out.sent).used;
}

// Each part is on a rail, and has left by it. Of a rail that died, what becomes of its parts takes polls.
bool RailsEndpoint::sent(uint16_t counter) const noexcept {
  if (counter >= out_.size() || state_ != State::ready) return true;
  const Out& out = out_[counter];
  if (out.first != nullptr) return false;
  for (uint64_t n = out.sent; n-- != out.credited;) {  // the latest leaves last, mostly
    const Part& p = part(counter, n);
    if (p.lost || p.frozen != kNoRail) return false;
    if (!p.landed && !rails_[p.rail].link.end->sent(theirs_.data(counter, n % theirs_.window))) return false;
  }
  return true;
}

// Transfers of one counter act in their order, also where they write to the same place: so one waits for
// earlier ones that it would write over, which are asked for, until they are known to have landed.
bool RailsEndpoint::must_wait(size_t counter, const Import* import, uint64_t offset, size_t bytes) noexcept {
  if (bytes == 0 || out_[counter].unlanded == 0) return false;
  bool waits = false;
  for (uint64_t n = out_[counter].credited; n != out_[counter].sent; ++n) {
    const Part& p = part(counter, n);
    if (p.landed || p.import != import || p.offset >= offset + bytes || offset >= p.offset + p.bytes)
      continue;
    fence_part(size_t(&p - parts_.data()));
    waits = true;
  }
  return waits;
}

// The rail that would be done with `bytes` first, of those that may take them; kRails: none. `wait`: not
// where much is under way.
size_t RailsEndpoint::pick(size_t bytes, const Import* import, uint32_t tried, size_t usual,
                           bool wait) const noexcept {
  size_t best = kRails;
  double best_s = 0;
  for (size_t i = 0; i < rails_.size(); ++i) {
    const Rail& rail = rails_[i];
    if (!rail.live() || (tried >> i & 1) != 0 || (import != nullptr && import->on[i] == nullptr)) continue;
    const size_t out = rail.link.bytes_out;
    if (wait && out != 0 && out + bytes > kAhead) continue;
    const double s = double(out < kLittle ? 0 : out + bytes) / domain_->speed(i);
    if (best == kRails || s < best_s || (s == best_s && i == usual)) best = i, best_s = s;
  }
  return best;
}

void RailsEndpoint::posted(size_t rail, size_t bytes) noexcept {
  rails_[rail].link.bytes_out += bytes;
  RailCounts& count = domain_->count(rail);
  count.parts.add(1);
  count.bytes.add(bytes);
  domain_->stirred(rail);
  ++posts_;
}

bool RailsEndpoint::send(size_t counter, size_t slot) noexcept {
  const Part& p = parts_[slot];
  const bool wait = p.bytes > kLittle;
  const Import* import = p.landed ? nullptr : p.import;
  uint32_t tried = 0;
  for (;;) {
    const size_t rail = pick(p.bytes, import, tried, out_[counter].rail, wait);
    if (rail == kRails) break;
    if (post_part(rail, counter, slot)) return true;
    tried |= 1U << rail;
  }
  if (import != nullptr && tried == 0 && pick(0, import, 0, 0, false) == kRails)
    stuck_ = "the peer's memory is not known on any rail that lives";
  return false;
}

bool RailsEndpoint::post_part(size_t i, size_t counter, size_t slot) noexcept {
  Part& p = parts_[slot];
  Link& link = rails_[i].link;
  Transfer t;
  t.signal = {theirs_.data(counter, slot % theirs_.window), p.value};
  t.cookie = domain_->cookie(link.id, uint32_t(slot));
  const bool waits = p.op != nullptr && (p.copy == nullptr || p.op->when == When::delivered);
  t.when = waits ? When::delivered : When::never;
  if (!p.landed && p.bytes != 0) {
    t.remote = {p.import->on[i].get(), p.offset, p.bytes};
    t.local = {p.copy != nullptr ? p.copy->bytes.data() : p.op->data + p.at, p.bytes, nullptr};
    if (p.copy == nullptr && p.op->region != nullptr) t.local.region = p.op->region->part(i);
  }
  if (link.end->post({&t, 1}) != 1) return false;
  p.rail = uint8_t(i);
  p.out = true;
  p.waiting = waits;
  p.order = ++link.orders;
  link.waiting += waits;
  link.parts_out++;
  out_[counter].rail = uint8_t(i);
  posted(i, p.bytes);
  return true;
}

bool RailsEndpoint::pump() noexcept {
  if (lost_ + lost_gets_ + queued_ == 0) return false;
  const uint64_t before = posts_;
  if (lost_ != 0) send_again();
  if (lost_gets_ != 0) send_gets_again();
  for (size_t counter = 0; counter < out_.size() && queued_ != 0; ++counter) pump(counter);
  if (stuck_ != nullptr) fail(Code::peer, stuck_);
  return posts_ != before;
}

// A get sees what earlier puts of its counter wrote, and later ones come after it: but rails share no order,
// so it waits for the ones and the others for it. A mark waits for both.
void RailsEndpoint::pump(size_t counter) noexcept {
  Out& out = out_[counter];
  while (Op* op = out.first) {
    if ((op->verb != Verb::put || op->is_mark()) && out.unlanded != 0) return fence(counter);
    if (op->verb == Verb::put && out.gets != 0) return;
    if (!(op->verb == Verb::put   ? cut_put(*op, counter)
          : op->verb == Verb::get ? cut_get(*op, counter)
                                  : cut_flush(*op)))
      return;
    out.first = op->next;
    --queued_;
    op->whole = true;
    if (op->left == 0) complete(*op);
  }
}

// True when all of it is in parts.
bool RailsEndpoint::cut_put(Op& op, size_t counter) noexcept {
  Out& out = out_[counter];
  do {
    const size_t bytes = std::min(op.piece, op.bytes - op.cut);
    if (!has_slot(counter) || must_wait(counter, op.import, op.offset + op.cut, bytes)) return false;
    Part& p = part(counter, out.sent);
    p = Part();
    p.used = true;
    p.op = &op;
    p.import = op.import;
    if (p.import != nullptr) p.import->uses++;
    p.at = op.cut;
    p.offset = op.offset + op.cut;
    p.bytes = uint32_t(bytes);
    const uint64_t credits = std::min(in_[counter].next - in_[counter].told, kCreditsMost);
    p.value = part_value(op.cut + bytes == op.bytes ? op.signal.add : uint16_t{0}, credits);
    if (!send(counter, size_t(&p - parts_.data()))) {
      if (p.import != nullptr) p.import->uses--;
      p = Part();
      return false;
    }
    op.cut += p.bytes;
    op.left++;
    out.sent++;
    out.unlanded++;
    in_[counter].told += credits;
  } while (op.cut < op.bytes);
  return true;
}

// Puts that nobody asked about: an empty one behind each, on its counter, tells that it landed.
void RailsEndpoint::fence(size_t counter) noexcept {
  for (uint64_t n = out_[counter].credited; n != out_[counter].sent; ++n) {
    if (!fence_part(size_t(&part(counter, n) - parts_.data()))) return;
  }
}

bool RailsEndpoint::fence_part(size_t slot) noexcept {
  Part& p = parts_[slot];
  if (!p.out || p.landed || p.waiting) return true;
  Link& link = rails_[p.rail].link;
  Transfer t;
  t.when = When::delivered;
  t.signal = {theirs_.data(slot / theirs_.window, slot % theirs_.window), 0};
  t.cookie = domain_->cookie(link.id, uint32_t(slot));
  if (link.end->post({&t, 1}) != 1) return false;
  p.waiting = true;
  p.order = ++link.orders;
  link.waiting++;
  domain_->stirred(p.rail);
  return true;
}

void RailsEndpoint::send_again() noexcept {
  for (size_t slot = 0; slot < parts_.size() && lost_ != 0; ++slot) {
    Part& p = parts_[slot];
    if (!p.lost) continue;
    if (p.tries > kTries) stuck_ = "a part failed on rail after rail";
    if (!send(slot / theirs_.window, slot)) continue;
    p.lost = false;
    --lost_;
    domain_->count(p.rail).resent.add(1);
    domain_->count(p.rail).resent_bytes.add(p.bytes);
  }
}

}  // namespace plait::transport::rails
