// What goes wrong, and how ranks learn of it: a dead peer, a failure of another, an abort; from boards,
// endpoints and the group. What has to be found out by comparing is in blame.cc, what ends with a link in
// deaths.cc.
#include "base/log.h"
#include "runtime/communicator.h"

namespace plait::runtime {

namespace {

constexpr size_t kMostNews = 64;

// For an operation, after others failed in a later one; and for the words of others about why they failed.
constexpr int64_t kGraceMs = 1000;

}  // namespace

void Communicator::fail(Status status, int32_t culprit, uint64_t number) noexcept {
  {
    std::lock_guard lock(error_mutex_);
    if (!broken_.ok()) return;
    broken_ = status;
    last_error_ = status.text();
  }
  board_->culprit.store(culprit, std::memory_order_relaxed);
  record();
  if (number == 0) number = head_ != nullptr ? head_->number : calls_;
  if (number == kNoOperation) number = 0;
  board_->number.store(number, std::memory_order_relaxed);
  int32_t none = 0;
  board_->code.compare_exchange_strong(none, int32_t(status.code()), std::memory_order_release);
  is_broken_.store(true, std::memory_order_release);
  short_.open.store(nullptr, std::memory_order_relaxed);
  wake_peers();
  recall_landings();
  show_boards();
  if (group_) {
    group_->tell({kBroken, -1, culprit, int32_t(status.code()), number, std::string(status.text())});
    group_->poll();
  }
  record_failure(status, culprit, number);
  log::info("rank {}: {}", config_.rank, status.text());
  while (head_ != nullptr) {
    plait_request* request = head_;
    head_ = request->next;
    request->next = nullptr;
    request->result = status;
    request->state = plait_request::State::done;
  }
  tail_ = nullptr;
  messages_.fail(status);
}

void Communicator::give_up(Status status, int32_t culprit) noexcept {
  fail(std::move(status), culprit, kNoOperation);
}

void Communicator::check(plait_request* waited) noexcept {
  waited_ = waited;
  if (is_broken_.load(std::memory_order_relaxed)) return;
  if (abort_.load(std::memory_order_acquire)) {
    fail({Code::aborted, "plait_comm_abort was called on this rank, rank " + std::to_string(config_.rank)},
         config_.rank);
    return;
  }
  record_wait();
  if (config_.size > 1) check_peers();
  if (waited != nullptr && !is_broken_.load(std::memory_order_relaxed)) check_deadline(waited);
}

// Others failed in an operation that this rank has not come to: the one it is in may still end well.
void Communicator::fail_at(Status status, int32_t culprit, uint64_t number) noexcept {
  if (head_ == nullptr || number <= head_->number) return fail(std::move(status), culprit, number);
  if (later_.number == 0) later_ = {number, culprit, std::move(status), Deadline::in_ms(kGraceMs)};
}

// A peer gave up and does not let this rank at its memory any more. Before that it said why: on its board,
// and in words over the group, which others may have to pass on. True when something moved.
bool Communicator::shut_out() noexcept {
  check_peers();
  if (!is_broken_.load(std::memory_order_relaxed) && later_.number != 0) fail_later();
  if (is_broken_.load(std::memory_order_relaxed)) return true;
  if (!words_due_) words_due_ = Deadline::in_ms(kGraceMs);
  if (!words_due_->passed()) return false;
  fail({Code::peer, "a peer gave up " + phase()}, -1);
  return true;
}

void Communicator::fail_later() noexcept {
  if (later_.number == 0) return;
  record();
  // By now this rank may have made that call itself, and can tell it.
  Status status =
      later_.status.code() == Code::mismatch && recorded_ >= later_.number && knows_two_calls(later_.number)
          ? mismatch(later_.number)
          : later_.status;
  fail(std::move(status), later_.culprit, later_.number);
}

// Of what went wrong, which is waited for only so long.
bool Communicator::expects_news() const noexcept {
  return later_.number != 0 || words_due_ || !ended_.empty();
}

// What ranks that are not connected have to say, and those that want to be.
void Communicator::listen_to_group() noexcept {
  group_->poll();
  while (auto notice = group_->heard()) {
    if (!is_broken_.load(std::memory_order_relaxed)) hear(*notice);
  }
  for (int32_t r : group_->visitors()) {
    if (is_broken_.load(std::memory_order_relaxed) || peer(r) != nullptr) continue;
    Status status = meet(r);
    if (!status.ok()) fail(std::move(status), r);
  }
}

// As others have it. A link that ended is the end of the other one for each of its two sides.
std::string Communicator::what_became_of(int32_t r) const {
  return r == config_.rank ? "others lost their link to this rank" : name_of(r) + " died or left";
}

void Communicator::hear(const bootstrap::Notice& notice) noexcept {
  const bool known = notice.culprit >= 0 && notice.culprit < config_.size;
  const std::string from = " (heard from rank " + std::to_string(notice.origin) + ")";
  if (notice.kind == bootstrap::Notice::kLost && known) return lost(notice.culprit, notice.text);
  if (notice.kind == kLinkEnded && notice.culprit == config_.rank)
    return group_->tell({kStillHere, -1, notice.origin, 0, 0, ""});
  Ended* const its_link = ended(notice.origin);
  if (notice.kind == kStillHere && notice.culprit == config_.rank && its_link != nullptr) {
    its_link->here = true;
    return expect_cause();
  }
  if (notice.kind == kChildFailed && child_news_.size() < kMostNews) child_news_.push_back(notice);
  if (notice.kind != kBroken && notice.kind != bootstrap::Notice::kFailed) return;
  Code code = Code::internal;
  if (notice.code < 0 && notice.code >= int32_t(Code::internal)) code = Code(notice.code);
  const int32_t culprit = known ? notice.culprit : -1;
  if (code == Code::mismatch) {
    Status status =
        knows_two_calls(notice.number) ? mismatch(notice.number) : Status(code, notice.text + from);
    return fail_at(std::move(status), culprit, notice.number);
  }
  if (code == Code::peer && culprit == notice.origin)
    return fail({code, notice.text + from + " " + phase()}, culprit);
  // Of a link between the two, which this rank saw end as well.
  if (code == Code::peer && culprit == config_.rank && its_link != nullptr) return fail_ended();
  // A board tells the same with what this rank itself was doing.
  if (notice.origin >= 0 && notice.origin < config_.size && peer(notice.origin) &&
      peer(notice.origin)->ready()) {
    poll_domains(true);
    if (!is_broken_.load(std::memory_order_relaxed)) check_board(notice.origin);
    if (is_broken_.load(std::memory_order_relaxed)) return;
  }
  if (code == Code::peer && known)
    return fail({code, what_became_of(culprit) + from + " " + phase() + "; it says: " + notice.text},
                culprit);
  if (code == Code::aborted)
    return fail({code, "rank " + std::to_string(notice.origin) + " aborted the communicator " + phase()},
                culprit);
  fail({code, notice.text + from}, culprit);
}

void Communicator::check_peers() noexcept {
  listen_to_group();
  if (!is_broken_.load(std::memory_order_relaxed) && connecting_ > 0) (void)step_connections();
  if (!is_broken_.load(std::memory_order_relaxed)) poll_domains(true);
  if (messages_.used() && !is_broken_.load(std::memory_order_relaxed) &&
      board_->gate.revoked.load(std::memory_order_relaxed) == 0) {
    drive_messages();
  }
  flush_network();
  board_->beat.fetch_add(1, std::memory_order_relaxed);
  // While ranks leave, a peer may know that all do before this one, and its board be something else by now:
  // what goes wrong then, the group tells.
  const bool leaving = board_->leaving.load(std::memory_order_relaxed) != 0;
  for (size_t i = 0; i < known_.size() && !leaving && !is_broken_.load(std::memory_order_relaxed); i++) {
    if (peer(known_[i])->ready()) check_board(known_[i]);
  }
  if (is_broken_.load(std::memory_order_relaxed)) return;
  if (later_.number != 0 && (head_ == nullptr || later_.deadline.passed())) return fail_later();
  if (const Ended* one = suspect(); one != nullptr && one->deadline.passed()) fail_ended();
  if (is_broken_.load(std::memory_order_relaxed)) return;
  if (head_ != nullptr) check_calls();
  if (is_broken_.load(std::memory_order_relaxed)) return;
  if (head_ != nullptr) assign_blame();
  check_leavers();
  show_boards();
}

// Those that do not map this rank's board get what changed, and now and then a sign of life.
void Communicator::show_boards() noexcept {
  for (int32_t r : remote_) peer(r)->show_board(recorded_);
}

// A peer that failed says so on its board: everybody learns it, whomever they wait for.
void Communicator::check_board(int32_t r) noexcept {
  const Board& board = peer(r)->board();
  const auto code = Code(board.code.load(std::memory_order_acquire));
  if (code != Code::ok) {
    const int32_t culprit = board.culprit.load(std::memory_order_relaxed);
    const std::string who = "rank " + std::to_string(r);
    const std::string heard = " (heard from " + who + ") " + phase();
    const uint64_t number = board.number.load(std::memory_order_relaxed);
    // About two messages: what they were comes over the group.
    if (code == Code::mismatch && number == 0 && ++strange_looks_ <= kMostStrangeLooks) return;
    if (code == Code::mismatch && number != 0) {
      // Who knows both calls tells all in a moment: its words are better than those of one who knows one.
      if (!knows_two_calls(number)) {
        if (!words_due_) words_due_ = Deadline::in_ms(kGraceMs);
        if (!words_due_->passed()) return;
      }
      return fail_at(mismatch(number), culprit, number);
    }
    const bool known = culprit >= 0 && culprit < config_.size;
    // What became of a device, of a link between hosts or of nobody in particular comes in words, over the
    // group.
    if (code == Code::peer && (!peer(r)->mapped() || !known)) {
      if (!words_due_) words_due_ = Deadline::in_ms(kGraceMs);
      if (!words_due_->passed()) return;
    }
    if (code == Code::peer) {
      return fail({Code::peer, (known ? what_became_of(culprit) : "a rank died or left") + heard}, culprit);
    }
    if (code == Code::aborted) return fail({Code::aborted, who + " aborted the communicator " + phase()}, r);
    // What comes from it may come from a third: the rank that all of them wait for in the end is named by
    // all.
    const bool other = known && culprit != r;
    const std::string whose = !other                    ? std::string()
                              : culprit == config_.rank ? ", for it waited for this rank"
                                                        : ", for it waited for " + name_of(culprit);
    return fail({code, who + " gave up (" + std::string(code_name(code)) + whose + ") " + phase()},
                other ? culprit : r);
  }
  if (head_ != nullptr && board.leaving.load(std::memory_order_acquire) != 0 &&
      board.latest() < head_->number) {
    fail({Code::peer, name_of(r) + " destroyed its communicator after operation " +
                          std::to_string(board.latest()) + ", this rank is " + phase()},
         r);
  }
}

}  // namespace plait::runtime
