// Ranks that are gone, and links that ended: with their ranks, or by themselves.
#include <algorithm>

#include "runtime/communicator.h"

namespace plait::runtime {

namespace {

// For why a rank left, after its link ended.
constexpr int64_t kReasonMs = 1000;
// For who it was, if neither end of a link.
constexpr int64_t kCauseMs = 250;

}  // namespace

Status Communicator::loss_of(int32_t r, std::string_view why) const {
  std::string text = name_of(r) + " died or left " + phase();
  if (!why.empty()) text += ": " + std::string(why);
  return {Code::peer,
          text + "; look at that rank's output, then destroy this communicator and make a new one"};
}

void Communicator::lost(int32_t r, std::string_view why) noexcept {
  if (left_ || (group_ && group_->all_left())) return;
  if (later_.number != 0) return;  // it left because of that; what it had sent before is here
  fail(loss_of(r, why), r);
}

void Communicator::peer_died(int32_t r) noexcept {
  Peer* p = peer(r);
  if (p == nullptr || p->gone) return;
  p->gone = true;
  short_.links[size_t(r)] = nullptr;
  if (left_ || is_broken_.load(std::memory_order_relaxed)) return;
  // It knows that all ranks leave, before this rank does; had it died, the group would tell.
  if (board_->leaving.load(std::memory_order_relaxed) != 0) return;
  if (const auto broken = fabric_.domain(p->way())->broken(); !broken.empty()) {
    // The peer is well, or nothing is known of it: it is this rank that all others lose.
    return fail({Code::peer, "the network of " + name_of(config_.rank) + " failed, " + std::string(broken)},
                config_.rank);
  }
  if (p->ready() && Code(p->board().code.load(std::memory_order_acquire)) != Code::ok)
    return check_board(r);  // it told why before it went
  std::string why = "over " + std::string(fabric_.domain(p->way())->name());
  if (!p->endpoint().error().empty()) why += ", " + std::string(p->endpoint().error());
  if (p->mapped()) return lost(r, why);  // its board is all that it had to say
  link_ended(r, loss_of(r, why));
}

// The rank may have failed, told so and left: what it told by this link may be lost, and over the group,
// which has it in order before the end of that rank, news takes longer. If it is still there, it says so.
void Communicator::link_ended(int32_t r, Status status) noexcept {
  if (ended(r) != nullptr) return;
  ended_.push_back({r, std::move(status), Deadline::in_ms(kReasonMs)});
  group_->tell({kLinkEnded, -1, r, 0, 0, ""});
  group_->poll();
}

// The peer is there still. Perhaps it was a third rank, whose device lies between the two: its word takes a
// moment. Where that one cannot speak, being stopped, its own link has ended, too.
void Communicator::expect_cause() noexcept {
  Ended& left = *suspect();
  const Deadline soon = Deadline::in_ms(kCauseMs);
  if (soon.left_ns() < left.deadline.left_ns()) left.deadline = soon;
}

void Communicator::fail_ended() noexcept {
  if (left_ || group_->all_left() || later_.number != 0) return;
  const Ended& it = *suspect();
  fail(it.status, it.rank);
}

Communicator::Ended* Communicator::ended(int32_t r) noexcept {
  const auto it = std::ranges::find(ended_, r, &Ended::rank);
  return it != ended_.end() ? &*it : nullptr;
}

// Of those whose links ended, the first that has not said that it is here; else the first. Null: none ended.
Communicator::Ended* Communicator::suspect() noexcept {
  const auto it = std::ranges::find(ended_, false, &Ended::here);
  if (it != ended_.end()) return &*it;
  return ended_.empty() ? nullptr : &ended_.front();
}

}  // namespace plait::runtime
