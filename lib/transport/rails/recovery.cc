// What state.h asks for when a rail dies and comes back.
#include <algorithm>

#include "base/clock.h"
#include "transport/rails/domain.h"
#include "transport/rails/endpoint.h"

namespace plait::transport::rails {

namespace {

constexpr int64_t kSteady = 10'000 * kMs;  // who lived so long is tried soon again

}  // namespace

void RailsEndpoint::die(size_t i, std::string why) noexcept {
  Rail& rail = rails_[i];
  if (const uint8_t actions = rail.state.on(Event::local_death)) {
    rail.error = std::move(why);
    act(i, actions, {});
  }
}

void RailsEndpoint::act(size_t i, uint8_t actions, ByteView payload) noexcept {
  if ((actions & kClose) != 0) close_link(i);
  if (state_ != State::ready) return;
  if ((actions & kSayDead) != 0) {
    if ((actions & kClose) == 0) rails_[i].link = Link();  // of a generation that I never had
    say_dead(i);
  }
  if ((actions & kSettle) != 0) {
    if (!settle(i, payload)) return fail(Code::auth, "the peer's report on a rail that died makes no sense");
    if (state_ != State::ready) return;
  }
  if ((actions & (kSayDead | kSettle)) != 0 && rails_[i].state.phase() == Phase::down) went_down(i);
  if ((actions & kOpen) != 0) {
    reopen(i, (actions & kConnect) != 0, payload);
  } else if ((actions & kConnect) != 0) {
    connect_again(i, payload);
  }
  if ((actions & kSayReady) != 0) say(LineKind::ready, i, {});
  if ((actions & kGoLive) != 0) went_live(i);
  if ((actions & kClose) != 0) fail_if_alone();
}

// From here on nothing lands by it, and what had is known.
void RailsEndpoint::close_link(size_t i) noexcept {
  Rail& rail = rails_[i];
  Link& link = rail.link;
  if (rail.was_live || rail.state.generation() == 1) {
    rail.told_out = true;
    rail.lost_parts = rail.lost_bytes = 0;
    domain_->tell({.what = RailEvent::What::out, .rail = i, .endpoint = cookie_, .why = rail.error});
  }
  if (std::exchange(rail.was_live, false)) {
    domain_->count(i).deaths.add(1);
    if (now_ns() - rail.live_since_ns > kSteady) rail.pause_ns = domain_->options().return_first_ms * kMs;
  }
  rail.dying_ns = 0;
  rail.looked_ns = now_ns();
  line_on_ &= ~(1U << i);
  if (link.end == nullptr) return;
  link.end->close();
  sweep(link);
  freeze_parts(i);
  for (size_t counter = 0; counter < out_.size(); ++counter) {
    const uint64_t now = link.counter(mine_.credits(counter));
    const uint64_t more = now - std::exchange(link.credits_seen[counter], now);
    if (more != 0 && state_ == State::ready) credited(counter, more);
  }
  if (state_ != State::ready) return;
  for (Import& import : imports_) import.on[i].reset();
  link.cell.reset();
  link.end.reset();
  domain_->drop_link(link.id);
  domain_->stirred(i);
}

// What it had under way: parts wait for the peer's word, gets can go by another rail at once.
void RailsEndpoint::freeze_parts(size_t i) noexcept {
  for (Part& p : parts_) {
    if (!p.used || p.lost || p.rail != i) continue;
    p.waiting = p.out = false;
    p.rail = kNoRail;
    if (p.taken) {
      p = Part();
      continue;
    }
    p.frozen = uint8_t(i);
    p.tries++;
  }
  for (GetPart& get : gets_) {
    if (get.op == nullptr || get.rail != i) continue;
    get.rail = kNoRail;
    get.lost = true;
    get.tries++;
    ++lost_gets_;
    rails_[i].lost_parts++;
    rails_[i].lost_bytes += get.bytes;
  }
  Link& link = rails_[i].link;
  link.bytes_out = link.parts_out = link.waiting = 0;
}

void RailsEndpoint::say_dead(size_t i) noexcept {
  const Link& link = rails_[i].link;
  Bytes report;
  for (size_t counter = 0; counter < in_.size(); ++counter) {
    Landed one;
    one.next = in_[counter].next;
    for (size_t n = 0; n < mine_.window; ++n) {
      const size_t slot = (one.next + n) % mine_.window;
      if (arrived_[counter * mine_.window + slot] != 0) one.bits |= uint64_t{1} << n;
    }
    if (!link.credits_sent.empty()) one.credits = link.credits_sent[counter];
    append(report, one);
  }
  say(LineKind::dead, i, report);
}

// What the peer has of the parts that were frozen for this rail; the others are sent again.
bool RailsEndpoint::settle(size_t i, ByteView report) noexcept {
  const auto all = parse_landed(report, theirs_.counters, theirs_.window);
  if (!all) return false;
  Link& link = rails_[i].link;
  for (size_t counter = 0; counter < out_.size(); ++counter) {
    const Landed& one = (*all)[counter];
    Out& out = out_[counter];
    const uint64_t seen = link.credits_seen.empty() ? 0 : link.credits_seen[counter];
    if (one.next > out.sent || one.credits < seen || one.credits - seen > out.sent - out.credited)
      return false;
    credited(counter, one.credits - seen);
    if (!link.credits_seen.empty()) link.credits_seen[counter] = one.credits;
    for (uint64_t n = out.credited; n != out.sent; ++n) {
      Part& p = part(counter, n);
      if (p.frozen != i) continue;
      p.frozen = kNoRail;
      if (n < one.next || (n - one.next < theirs_.window && (one.bits >> (n - one.next) & 1) != 0)) {
        landed(p, counter);
        continue;
      }
      if (p.landed) p.bytes = 0;  // but its signal did not: that alone goes again
      p.lost = true;
      ++lost_;
      rails_[i].lost_parts++;
      rails_[i].lost_bytes += p.bytes;
    }
  }
  return true;
}

void RailsEndpoint::went_down(size_t i) noexcept {
  Rail& rail = rails_[i];
  rail.due_ns = now_ns() + rail.pause_ns;
  rail.pause_ns = std::min(rail.pause_ns * 2, domain_->options().return_last_ms * kMs);
  if (!std::exchange(rail.told_out, false)) return;
  domain_->tell({.what = RailEvent::What::settled,
                 .rail = i,
                 .endpoint = cookie_,
                 .why = rail.error,
                 .parts = rail.lost_parts,
                 .bytes = rail.lost_bytes});
}

void RailsEndpoint::went_live(size_t i) noexcept {
  Rail& rail = rails_[i];
  rail.live_since_ns = now_ns();
  rail.was_live = true;
  if (rail.state.generation() == 1) return;
  domain_->count(i).returns.add(1);
  domain_->tell({.what = RailEvent::What::back, .rail = i, .endpoint = cookie_});
}

void RailsEndpoint::reopen(size_t i, bool connect, ByteView ticket) noexcept {
  Rail& rail = rails_[i];
  rail.due_ns = now_ns() + domain_->options().join_ms * kMs;
  const Status status = open_link(i);
  if (!status.ok()) return die(i, std::string(status.text()));
  say(LineKind::offer, i, rail.link.end->ticket());
  if (connect) connect_again(i, ticket);
}

void RailsEndpoint::connect_again(size_t i, ByteView ticket) noexcept {
  const int64_t began = now_ns();
  if (!domain_->may_connect(i, began))
    return die(i, "connecting blocked and failed lately: not again so soon");
  const Status status = rails_[i].link.end->connect(ticket);
  if (status.ok()) return;
  domain_->connect_failed(i, began);
  die(i, std::string(status.text()));
}

// Rails that come back: what was imported is imported again, and the peer hears that it may post.
bool RailsEndpoint::step_joining() noexcept {
  bool moved = false;
  for (size_t i = 0; i < rails_.size() && state_ == State::ready; ++i) {
    Rail& rail = rails_[i];
    if (rail.state.phase() != Phase::joining || !rail.state.offered() || rail.state.ready_here()) continue;
    domain_->stirred(i);
    const State state = rail.link.end->state();
    if (state == State::failed) die(i, std::string(rail.link.end->error()));
    if (state != State::ready) continue;
    moved = true;
    if (const Status status = know_peer(i); !status.ok()) {
      die(i, std::string(status.text()));
    } else {
      act(i, rail.state.on(Event::local_ready), {});
    }
  }
  return moved;
}

}  // namespace plait::transport::rails
