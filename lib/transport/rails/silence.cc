// What is due: credits and lines that wait, rails to be tried again, and rails that are silent.
#include <algorithm>

#include "base/clock.h"
#include "transport/rails/domain.h"
#include "transport/rails/endpoint.h"

namespace plait::transport::rails {

namespace {

constexpr int64_t kCreditNs = 20 * kMs;  // what a credit waits for others to come
constexpr int64_t kLineNs = 100 * kMs;   // until a line goes by another rail, too
constexpr int64_t kProbeNs = 10 * kMs;
constexpr int64_t kTalkNs = 1000 * kMs;  // until the peer is taken to be ready, though nothing came from it
// Answered probes of another rail before one is called silent: a peer that computes now and then polls a few
// times, and need not have come to all rails.
constexpr uint32_t kRounds = 20;
constexpr uint32_t kProbes = 8;  // under way on a rail

}  // namespace

int64_t RailsEndpoint::tick(int64_t now) noexcept {
  if (state_ == State::connecting) return tick_connecting(now);
  if (state_ != State::ready) return INT64_MAX;
  if (!may_talk_ && now - ready_since_ns_ > kTalkNs) may_talk_ = true;
  int64_t due = tick_credits(now);
  if (!lines_.empty()) {
    if (line_since_ns_ == 0) line_since_ns_ = now;
    if (now - line_since_ns_ >= kLineNs) line_late_ = true, line_since_ns_ = now;
    due = std::min(due, line_since_ns_ + kLineNs);
  }
  for (size_t i = 0; i < rails_.size() && state_ == State::ready; ++i) {
    due = std::min(due, rails_[i].live() ? tick_silence(i, now) : tick_rail(i, now));
  }
  return state_ == State::ready ? due : INT64_MAX;
}

int64_t RailsEndpoint::tick_connecting(int64_t now) noexcept {
  if (ready_since_ns_ == 0) return INT64_MAX;
  const int64_t due = ready_since_ns_ + domain_->options().join_ms * kMs;
  if (now < due) return due;
  for (Rail& rail : rails_) {
    if (rail.refused || rail.link.end->state() == State::ready) continue;
    rail.refused = true;
    rail.error = "it did not connect in time";
    rail.link.end->close();
  }
  return now;
}

int64_t RailsEndpoint::tick_rail(size_t i, int64_t now) noexcept {
  Rail& rail = rails_[i];
  const Phase phase = rail.state.phase();
  if (phase == Phase::dying) return tick_dying(i, now);
  if (now < rail.due_ns) return rail.due_ns;
  if (phase == Phase::down) {
    if (!domain_->may_connect(i, now)) return now + kMs * 100;
    act(i, rail.state.on(Event::retry), {});
  } else {
    die(i, "it did not come back in time");
  }
  return now + kMs;
}

// The time in which nobody polled here does not count: what the peer said then was not heard. Nor that before
// anything is said.
int64_t RailsEndpoint::tick_dying(size_t i, int64_t now) noexcept {
  Rail& rail = rails_[i];
  const int64_t most = domain_->options().settle_ms * kMs;
  if (most == 0) return INT64_MAX;
  if (may_talk_) rail.dying_ns += std::min(now - rail.looked_ns, kLineNs);
  rail.looked_ns = now;
  if (rail.dying_ns < most) return now + kLineNs;
  fail(Code::peer,
       "rail " + std::to_string(i) + " (" + std::string(domain_->rail(i).name()) + ") died, and for " +
           std::to_string(most / kMs) +
           " ms the peer said nothing of what had come by it: it does not poll, or hangs: " + rail.error);
  return INT64_MAX;
}

int64_t RailsEndpoint::tick_credits(int64_t now) noexcept {
  int64_t due = INT64_MAX;
  for (size_t counter = 0; counter < in_.size(); ++counter) {
    In& in = in_[counter];
    if (in.next == in.told) continue;
    if (in.owed_since_ns == 0) in.owed_since_ns = now;
    if (now - in.owed_since_ns >= kCreditNs) give_credit(counter);
    if (in.next != in.told) due = std::min(due, std::max(in.owed_since_ns + kCreditNs, now + kMs));
  }
  return due;
}

// A rail is dead when it owes something, gives none of it for `silent_ms`, and the peer answers on another
// rail all the while. A peer that merely computes answers on none.
int64_t RailsEndpoint::tick_silence(size_t i, int64_t now) noexcept {
  Link& link = rails_[i].link;
  if (link.waiting == 0 && link.parts_out == 0) {
    link.quiet_since_ns = 0;
    return INT64_MAX;
  }
  const int64_t silent_ns = domain_->options().silent_ms * kMs;
  const uint32_t oldest = oldest_owed(i);
  if (link.quiet_since_ns == 0 || oldest != link.oldest_before) {
    link.oldest_before = oldest;
    link.quiet_since_ns = now;
    link.rounds = 0;
  }
  if (now - link.quiet_since_ns < silent_ns / 3) return link.quiet_since_ns + silent_ns / 3;
  if (now - link.looked_ns >= kProbeNs) {
    link.looked_ns = now;
    if (link.waiting == 0) probe_own(i);
    if (!probe_others(i, now)) return INT64_MAX;  // there is none to compare it with
  }
  if (link.rounds >= kRounds && now - link.quiet_since_ns >= silent_ns) {
    die(i, "nothing that it took was done for " + std::to_string((now - link.quiet_since_ns) / kMs) +
               " ms, while the peer answered on another rail: the link is cut or stuck");
    return now;
  }
  return now + kProbeNs;
}

// What the rail owes for longest, 0: nothing. One Done that stays away is as bad as all.
uint32_t RailsEndpoint::oldest_owed(size_t i) const noexcept {
  const Link& link = rails_[i].link;
  uint32_t age = link.probes != 0 ? link.orders - link.probe_order + 1 : 0;
  for (const Part& p : parts_) {
    if (p.waiting && p.rail == i) age = std::max(age, link.orders - p.order + 1);
  }
  for (const GetPart& get : gets_) {
    if (get.op != nullptr && get.rail == i) age = std::max(age, link.orders - get.order + 1);
  }
  return age == 0 ? 0 : link.orders - age + 1;
}

void RailsEndpoint::probe_own(size_t i) noexcept {
  for (size_t slot = 0; slot < parts_.size() && rails_[i].link.waiting == 0; ++slot) {
    if (parts_[slot].rail == i) fence_part(slot);
  }
}

// True when there are others.
bool RailsEndpoint::probe_others(size_t rail, int64_t now) noexcept {
  bool any = false;
  for (size_t i = 0; i < rails_.size(); ++i) {
    if (i == rail || !rails_[i].live()) continue;
    any = true;
    Link& link = rails_[i].link;
    // One that is not answered may be lost: another one follows, later and later.
    if (link.probes == kProbes || (link.probes != 0 && now - link.probed_ns < kProbeNs << link.probes))
      continue;
    Transfer t;
    t.when = When::delivered;
    t.signal = {theirs_.probes(), 0};
    t.cookie = domain_->cookie(link.id, kProbeTag);
    if (link.end->post({&t, 1}) != 1) continue;
    if (link.probes++ == 0) link.probe_order = link.orders + 1;
    link.orders++;
    link.probed_ns = now;
    link.waiting++;
    domain_->stirred(i);
  }
  return any;
}

}  // namespace plait::transport::rails
