// What goes wrong, and how ranks learn of it: a dead peer, another call, a deadline, an abort; from boards, endpoints and
// the group.
#include <algorithm>
#include <limits>

#include "base/log.h"
#include "runtime/communicator.h"

namespace plait::runtime {

namespace {

constexpr uint32_t kFailure = bootstrap::Notice::kFirstFree;  // a Notice: the communicator broke

constexpr int64_t kGraceMs = 1000;  // for an operation, after others failed in a later one

constexpr int64_t kSilentNs = 1'000'000'000;  // a waiting rank looks about far more often

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
  board_->number.store(number, std::memory_order_relaxed);
  int32_t none = 0;
  board_->code.compare_exchange_strong(none, int32_t(status.code()), std::memory_order_release);
  is_broken_.store(true, std::memory_order_release);
  wake_peers();
  show_boards();
  if (group_) {
    group_->tell({kFailure, -1, culprit, int32_t(status.code()), number, std::string(status.text())});
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
}

void Communicator::check(plait_request* waited) noexcept {
  if (is_broken_.load(std::memory_order_relaxed)) return;
  if (abort_.load(std::memory_order_acquire)) {
    fail({Code::aborted, "plait_comm_abort was called on this rank, rank " + std::to_string(config_.rank)}, config_.rank);
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

void Communicator::fail_later() noexcept {
  if (later_.number == 0) return;
  record();
  // By now this rank may have made that call itself, and can tell it.
  Status status = later_.status.code() == Code::mismatch && recorded_ >= later_.number ? mismatch(later_.number) : later_.status;
  fail(std::move(status), later_.culprit, later_.number);
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

void Communicator::hear(const bootstrap::Notice& notice) noexcept {
  const bool known = notice.culprit >= 0 && notice.culprit < config_.size;
  const std::string from = " (heard from rank " + std::to_string(notice.origin) + ")";
  if (notice.kind == bootstrap::Notice::kLost && known) return lost(notice.culprit, notice.text);
  if (notice.kind != kFailure && notice.kind != bootstrap::Notice::kFailed) return;
  Code code = Code::internal;
  if (notice.code < 0 && notice.code >= int32_t(Code::internal)) code = Code(notice.code);
  const int32_t culprit = known ? notice.culprit : -1;
  if (code == Code::mismatch) {
    Status status = knows_two_calls(notice.number) ? mismatch(notice.number) : Status(code, notice.text + from);
    return fail_at(std::move(status), culprit, notice.number);
  }
  // A board tells the same with what this rank itself was doing.
  if (notice.origin >= 0 && notice.origin < config_.size && peer(notice.origin) && peer(notice.origin)->ready()) {
    poll_domains(true);
    if (!is_broken_.load(std::memory_order_relaxed)) check_board(notice.origin);
    if (is_broken_.load(std::memory_order_relaxed)) return;
  }
  if (code == Code::peer && known) return fail({code, name_of(culprit) + " died or left" + from + " " + phase()}, culprit);
  if (code == Code::aborted)
    return fail({code, "rank " + std::to_string(notice.origin) + " aborted the communicator " + phase()}, culprit);
  fail({code, notice.text + from}, culprit);
}

void Communicator::check_peers() noexcept {
  listen_to_group();
  if (!is_broken_.load(std::memory_order_relaxed) && connecting_ > 0) (void)step_connections();
  if (!is_broken_.load(std::memory_order_relaxed)) poll_domains(true);
  flush_network();
  board_->beat.fetch_add(1, std::memory_order_relaxed);
  for (size_t i = 0; i < known_.size() && !is_broken_.load(std::memory_order_relaxed); i++) {
    if (peer(known_[i])->ready()) check_board(known_[i]);
  }
  if (is_broken_.load(std::memory_order_relaxed)) return;
  if (later_.number != 0 && (head_ == nullptr || later_.deadline.passed())) return fail_later();
  if (head_ != nullptr) check_calls();
  if (is_broken_.load(std::memory_order_relaxed)) return;
  if (head_ != nullptr) assign_blame();
  show_boards();
}

// Those that do not map this rank's board get what changed, and now and then a sign of life.
void Communicator::show_boards() noexcept {
  for (int32_t r : remote_) peer(r)->show_board(recorded_);
}

void Communicator::lost(int32_t r, std::string_view why) noexcept {
  if (left_ || (group_ && group_->all_left())) return;
  if (later_.number != 0) return;  // it left because of that; what it had sent before is here
  std::string text = name_of(r) + " died or left " + phase();
  if (!why.empty()) text += ": " + std::string(why);
  fail({Code::peer, text + "; look at that rank's output, then destroy this communicator and make a new one"}, r);
}

void Communicator::peer_died(int32_t r) noexcept {
  Peer* p = peer(r);
  if (p == nullptr || p->gone) return;
  p->gone = true;
  if (left_ || is_broken_.load(std::memory_order_relaxed)) return;
  if (p->ready() && Code(p->board().code.load(std::memory_order_acquire)) != Code::ok)
    return check_board(r);  // it told why before it went
  // It knows that all ranks leave, before this rank does; had it died, the group would tell.
  if (board_->leaving.load(std::memory_order_relaxed) != 0) return;
  std::string why = "over " + std::string(fabric_.domain(p->way())->name());
  if (!p->endpoint().error().empty()) why += ", " + std::string(p->endpoint().error());
  lost(r, why);
}

// A peer that failed says so on its board: everybody learns it, whomever they wait for.
void Communicator::check_board(int32_t r) noexcept {
  const Board& board = peer(r)->board();
  const auto code = Code(board.code.load(std::memory_order_acquire));
  if (code != Code::ok) {
    const int32_t culprit = board.culprit.load(std::memory_order_relaxed);
    const std::string who = "rank " + std::to_string(r);
    const std::string heard = " (heard from " + who + ") " + phase();
    if (code == Code::mismatch) {
      const uint64_t number = board.number.load(std::memory_order_relaxed);
      // Who knows both calls tells all in a moment: its words are better than those of one who knows one.
      if (!knows_two_calls(number) && ++strange_looks_ <= kMostStrangeLooks) return;
      return fail_at(mismatch(number), culprit, number);
    }
    if (code == Code::peer) {
      const bool known = culprit >= 0 && culprit < config_.size;
      return fail({Code::peer, (known ? name_of(culprit) : "a rank") + " died or left" + heard}, culprit);
    }
    if (code == Code::aborted) return fail({Code::aborted, who + " aborted the communicator " + phase()}, r);
    return fail({code, who + " gave up (" + std::string(code_name(code)) + ") " + phase()}, r);
  }
  if (head_ != nullptr && board.leaving.load(std::memory_order_acquire) != 0 &&
      board.latest() < head_->number) {
    fail({Code::peer, name_of(r) + " destroyed its communicator after operation " +
                          std::to_string(board.latest()) + ", this rank is " + phase()},
         r);
  }
}

// Does any rank's call differ from ours, this one or, where nobody noticed at the time, one before?
void Communicator::check_calls() noexcept {
  const uint64_t oldest = head_->number < kRecords ? 1 : head_->number - kRecords + 1;
  for (int32_t r : known_) {
    if (!peer(r)->ready()) continue;
    for (uint64_t number = oldest; number <= head_->number; number++) {
      CallId mine, theirs;
      if (!board_->read(number, &mine) || !peer(r)->board().read(number, &theirs) || theirs == mine) continue;
      return fail(mismatch(number), r, number);
    }
  }
  int32_t other = -1;
  if (head_->state == plait_request::State::running && machine_->sees_other_call(&other)) {
    // What it called comes with its board: after its first messages, or when it has waited as long as this rank.
    const bool told = peer(other)->board().latest() >= head_->number;
    if (told || ++strange_looks_ > kMostStrangeLooks) fail(mismatch(head_->number), other);
  }
}

Status Communicator::mismatch(uint64_t number) const {
  std::vector<std::pair<CallId, std::string>> calls;  // each with the ranks that made it
  std::string absent;
  for (int32_t r = 0; r < config_.size; r++) {
    CallId call;
    if (r != config_.rank && (peer(r) == nullptr || !peer(r)->ready())) continue;
    const Board& board = r == config_.rank ? *board_ : peer(r)->board();
    const std::string name = std::to_string(r);
    if (!board.read(number, &call)) {
      absent += (absent.empty() ? "" : ", ") + name;
      continue;
    }
    auto it = std::find_if(calls.begin(), calls.end(), [&](auto& c) { return c.first == call; });
    if (it == calls.end()) {
      calls.emplace_back(call, name);
    } else {
      it->second += ", " + name;
    }
  }
  std::string text = "ranks disagree about operation " + std::to_string(number) + ":";
  for (const auto& [call, ranks] : calls) text += " rank " + ranks + " called " + describe(call) + ";";
  if (!absent.empty()) text += " rank " + absent + " not yet;";
  return {Code::mismatch, text + " all ranks must make the same calls in the same order"};
}

// Do two of the boards that this rank sees, its own among them, differ about this operation?
bool Communicator::knows_two_calls(uint64_t number) const noexcept {
  CallId first;
  bool found = board_->read(number, &first);
  for (int32_t r : known_) {
    CallId call;
    if (!peer(r)->ready() || !peer(r)->board().read(number, &call)) continue;
    if (found && call != first) return true;
    first = call;
    found = true;
  }
  return false;
}

int32_t Communicator::awaited() const noexcept {
  if (head_ == nullptr) return -1;
  if (head_->state == plait_request::State::running) return machine_->awaited();
  for (int32_t r : head_->prepared->call.schedule->peers) {
    if (peer(r) == nullptr || !peer(r)->ready()) return r;
  }
  return -1;
}

std::string Communicator::phase() const {
  if (head_ == nullptr) return "between operations (" + std::to_string(calls_) + " were started here)";
  std::string text = "in operation " + std::to_string(head_->number) + ", " + describe(head_->prepared->id);
  const std::string waiting = whom();
  return waiting.empty() ? text : text + ", while rank " + std::to_string(config_.rank) + " waited for " + waiting;
}

// Whom the running operation waits for, and for what.
std::string Communicator::whom() const {
  if (head_->state != plait_request::State::connecting) return machine_->waiting_for();
  const int32_t r = awaited();
  if (r < 0 || peer(r) == nullptr) return {};
  return "rank " + std::to_string(r) + " (" + std::string(peer(r)->phase()) + ")";
}

// Whom does this rank wait for, and is that one to blame, or whoever it waits for itself?
Blame Communicator::judge(int32_t r, int32_t* blamed) noexcept {
  *blamed = r;
  Peer* p = peer(r);
  if (p == nullptr || !p->ready()) return Blame::not_connected;
  const Board& board = p->board();
  const int64_t now = now_ns();
  if (const uint32_t beat = board.beat.load(std::memory_order_relaxed); beat != p->beat || p->beat_seen_ns == 0) {
    p->beat = beat;
    p->beat_seen_ns = now;
  }
  if (board.latest() < head_->number) return Blame::not_called;
  const int32_t next = board.blamed.load(std::memory_order_relaxed);
  if (board.blamed_in.load(std::memory_order_acquire) == head_->number && next >= 0 && next < config_.size &&
      next != config_.rank) {
    *blamed = next;
    return Blame(board.blame.load(std::memory_order_relaxed));
  }
  return now - p->beat_seen_ns > kSilentNs ? Blame::silent : Blame::nobody;
}

// Ranks wait for each other in chains: each shows whom it blames, so that news of who is missing runs along the chain to
// all, though few are connected with the one who is.
void Communicator::assign_blame() noexcept {
  int32_t blamed = -1;
  const int32_t r = awaited();
  Blame blame = r < 0 ? Blame::nobody : judge(r, &blamed);
  if (blame == Blame::nobody) blamed = -1;
  board_->blamed.store(blamed, std::memory_order_relaxed);
  board_->blame.store(uint32_t(blame), std::memory_order_relaxed);
  board_->blamed_in.store(head_->number, std::memory_order_release);
}

std::string Communicator::absentees(uint64_t number) const {
  std::string text;
  auto not_called = [&](int32_t r, uint64_t latest) {
    text += "; " + name_of(r) + " has not called it";
    if (latest > 0) text += " (its last that is known here is operation " + std::to_string(latest) + ")";
  };
  for (int32_t r : known_) {
    CallId call;
    if (!peer(r)->ready() || peer(r)->board().read(number, &call)) continue;
    const uint64_t latest = peer(r)->board().latest();
    if (latest <= number) not_called(r, latest);
  }
  const int32_t blamed = board_->blamed.load(std::memory_order_relaxed);
  if (board_->blamed_in.load(std::memory_order_relaxed) != number || blamed < 0) return text;
  switch (Blame(board_->blame.load(std::memory_order_relaxed))) {
    case Blame::not_called:
      if (peer(blamed) == nullptr || !peer(blamed)->ready()) not_called(blamed, 0);
      break;
    case Blame::not_connected:
      text += "; " + name_of(blamed) + " has not connected: it is not in plait now, or cannot be reached";
      break;
    case Blame::silent:
      text += "; " + name_of(blamed) + " called it and has been silent for more than a second: stopped (SIGSTOP, a " +
              "debugger), starved of CPU, or cut off";
      break;
    case Blame::nobody:
      break;
  }
  return text;
}

void Communicator::check_deadline(plait_request* waited) noexcept {
  if (!waited->deadline_set) {
    const int64_t ms = waited->args.timeout_ms > 0 ? waited->args.timeout_ms : config_.timeout_ms;
    waited->deadline = Deadline::in_ms(ms);
    waited->deadline_set = true;
    return;
  }
  if (!waited->deadline.passed()) return;
  if (later_.number != 0) return fail_later();
  const uint64_t number = head_ != nullptr ? head_->number : waited->number;
  std::string who = absentees(number);
  if (who.empty()) who = "; every rank that this one is connected with has called it";
  fail({Code::timeout, "the deadline passed " + phase() + who}, board_->blamed.load(std::memory_order_relaxed));
}

}  // namespace plait::runtime
