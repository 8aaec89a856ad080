// What becomes of parts: Dones of rails, credits of the peer.
#include "transport/rails/domain.h"
#include "transport/rails/endpoint.h"

namespace plait::transport::rails {

void RailsEndpoint::done(size_t rail, uint32_t tag, Code status) noexcept {
  Link& link = rails_[rail].link;
  if (state_ == State::connecting) return;  // its state says it all
  if (tag == kOwnTag || status != Code::ok) {
    const std::string_view why = link.end->error();
    return die(rail, why.empty() ? "a transfer failed: " + std::string(code_name(status)) : std::string(why));
  }
  link.waiting--;
  if (tag == kProbeTag) {
    if (--link.probes != 0) ++link.probe_order;
    for (Rail& other : rails_) {
      if (&other.link != &link) other.link.rounds++;
    }
  } else if ((tag & kGetTag) != 0) {
    get_done(tag & ~kGetTag);
  } else {
    part_done(tag);
  }
}

void RailsEndpoint::part_done(size_t slot) noexcept {
  Part& p = parts_[slot];
  p.waiting = false;
  landed(p, slot / theirs_.window);
  leave_rail(p);
  free_if_over(p);
}

void RailsEndpoint::get_done(size_t index) noexcept {
  GetPart& get = gets_[index];
  Op& op = *get.op;
  if (get.rail != kNoRail) rails_[get.rail].link.bytes_out -= get.bytes;
  get = GetPart();
  out_[op.signal.counter].gets--;
  if (--op.left == 0 && op.whole) complete(op);
}

// The bytes are where they belong: nobody reads the source again.
void RailsEndpoint::landed(Part& p, size_t counter) noexcept {
  if (p.landed) return;
  p.landed = true;
  out_[counter].unlanded--;
  if (p.copy != nullptr) domain_->pools().copies.give(*std::exchange(p.copy, nullptr));
  unuse(std::exchange(p.import, nullptr));
  Op* op = std::exchange(p.op, nullptr);
  if (op != nullptr && --op->left == 0 && op->whole) complete(*op);
  if (!p.waiting) leave_rail(p);
}

void RailsEndpoint::leave_rail(Part& p) noexcept {
  if (!std::exchange(p.out, false)) return;
  Link& link = rails_[p.rail].link;
  link.bytes_out -= p.bytes;
  link.parts_out--;
}

void RailsEndpoint::free_if_over(Part& p) noexcept {
  if (!p.taken || p.waiting) return;
  leave_rail(p);
  p = Part();
}

bool RailsEndpoint::take_credits() noexcept {
  bool moved = false;
  for (size_t counter = 0; counter < out_.size(); ++counter) {
    if (out_[counter].sent == out_[counter].credited) continue;
    uint64_t parts = 0;
    for (size_t i = 0; i < rails_.size(); ++i) {
      if (!rails_[i].receives()) continue;
      Link& link = rails_[i].link;
      const uint64_t now = link.counter(mine_.credits(counter));
      const uint64_t more = now - std::exchange(link.credits_seen[counter], now);
      if (more != 0) domain_->stirred(i);
      parts += more;
    }
    if (parts == 0) continue;
    moved = true;
    credited(counter, parts);
    if (state_ != State::ready) break;
  }
  return moved;
}

void RailsEndpoint::credited(size_t counter, uint64_t parts) noexcept {
  Out& out = out_[counter];
  if (parts > out.sent - out.credited)
    return fail(Code::auth, "the peer took more parts than were sent: it is not plait, or broken");
  for (; parts != 0; --parts) {
    Part& p = part(counter, out.credited++);
    if (std::exchange(p.lost, false)) --lost_;
    p.taken = true;
    p.frozen = kNoRail;
    landed(p, counter);
    free_if_over(p);
  }
}

}  // namespace plait::transport::rails
