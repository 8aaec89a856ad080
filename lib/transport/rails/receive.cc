// What comes in: parts move a counter in their order, by whatever rail they came; and credits for them go
// back.
#include <algorithm>

#include "transport/rails/domain.h"
#include "transport/rails/endpoint.h"

namespace plait::transport::rails {

bool RailsEndpoint::receive() noexcept {
  bool moved = false;
  for (size_t counter = 0; counter < in_.size() && state_ == State::ready; ++counter)
    moved |= receive(counter);
  return moved;
}

bool RailsEndpoint::receive(size_t counter) noexcept {
  In& in = in_[counter];
  const uint64_t before = in.next;
  uint64_t adds = 0, credits = 0;
  // No more than a window: a peer that never pauses has others wait for it no longer.
  while (in.next - before < mine_.window) {
    const uint16_t value = arrival(counter, in.next % mine_.window, in);
    if (value == 0) break;
    adds += add_of(value);
    credits += credits_of(value);
    in.next++;
  }
  if (in.next == before) return false;
  may_talk_ = true;
  if (credits != 0) credited(counter, credits);
  if (state_ != State::ready) return true;
  if (adds != 0) counters_[counter].fetch_add(adds, std::memory_order_release);
  if ((in.next - in.told) * 4 >= mine_.window) give_credit(counter);
  return true;
}

// The value of the part that is next, 0: it did not come.
uint16_t RailsEndpoint::arrival(size_t counter, size_t slot, In& in) noexcept {
  const size_t at = counter * mine_.window + slot;
  const uint16_t physical = mine_.data(counter, slot);
  for (size_t n = 0; n < rails_.size(); ++n) {
    const size_t i = in.rail + n < rails_.size() ? in.rail + n : in.rail + n - rails_.size();
    if (!rails_[i].receives()) continue;
    Link& link = rails_[i].link;
    const auto now = uint16_t(link.counter(physical));
    if (now == link.seen[at]) continue;
    const auto value = uint16_t(now - std::exchange(link.seen[at], now));
    in.rail = uint8_t(i);
    domain_->stirred(i);
    return value;
  }
  return std::exchange(arrived_[at], uint16_t{0});
}

// Of a link that is closed: what landed by it and was not its turn yet.
void RailsEndpoint::sweep(Link& link) noexcept {
  for (size_t counter = 0; counter < in_.size(); ++counter) {
    for (size_t slot = 0; slot < mine_.window; ++slot) {
      const size_t at = counter * mine_.window + slot;
      const auto value = uint16_t(uint16_t(link.counter(mine_.data(counter, slot))) - link.seen[at]);
      if (value != 0) arrived_[at] = value;
    }
  }
}

// By the rail that the latest part came by, or any other. Where none has room, later.
void RailsEndpoint::give_credit(size_t counter) noexcept {
  In& in = in_[counter];
  const uint64_t parts = in.next - in.told;
  for (size_t n = 0; n < rails_.size(); ++n) {
    const size_t i = (in.rail + n) % rails_.size();
    if (!rails_[i].live() || !post_signal(i, theirs_.credits(counter), uint16_t(parts))) continue;
    rails_[i].link.credits_sent[counter] += parts;
    in.told = in.next;
    in.owed_since_ns = 0;
    return;
  }
}

bool RailsEndpoint::acks_sent() const noexcept {
  return std::ranges::all_of(
      rails_, [](const Rail& rail) { return rail.link.end == nullptr || rail.link.end->acks_sent(); });
}

bool RailsEndpoint::post_signal(size_t rail, size_t counter, uint16_t add) noexcept {
  Transfer t;
  t.signal = {uint16_t(counter), add};
  if (rails_[rail].link.end->post({&t, 1}) != 1) return false;
  domain_->stirred(rail);
  return true;
}

}  // namespace plait::transport::rails
