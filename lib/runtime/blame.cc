// Who is to blame when an operation does not end: whose call differs, who has not called, who is silent.
#include <algorithm>

#include "runtime/communicator.h"

namespace plait::runtime {

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
    // What it called comes with its board: after its first messages, or when it has waited as long as this
    // rank.
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
  for (const auto& [call, ranks] : calls)
    text += " rank " + ranks + " called " + describe(call, planner_->methods()) + ";";
  if (!absent.empty()) text += " rank " + absent + " not yet;";
  // Alike as far as a call is compared: blocks whose counts only the two ranks know that exchange them.
  if (calls.size() == 1 && absent.empty())
    text += " their counts differ, as the first of them to see it tells;";
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

// One after the other: `from` is 0 at first. -1: no more.
int32_t Communicator::awaited(uint32_t& from) const noexcept {
  if (head_ == nullptr) return -1;
  if (head_->state == plait_request::State::running) return machine_->awaited(from);
  const auto& peers = head_->prepared->call.schedule->peers;
  while (from < peers.size()) {
    const int32_t r = peers[from++];
    if (peer(r) == nullptr || !peer(r)->ready()) return r;
  }
  return -1;
}

std::string Communicator::phase() const {
  const bool message =
      waited_ != nullptr && waited_->is_message() && waited_->state != plait_request::State::done;
  if (message || (head_ == nullptr && messages_.busy())) return message_phase();
  if (head_ == nullptr && making_ != 0) {
    return "in operation " + std::to_string(calls_) + ", " + std::string(maker_name(making_)) +
           ", whose ranks were all there";
  }
  if (head_ == nullptr) return "between operations (" + std::to_string(calls_) + " were started here)";
  std::string text = "in operation " + std::to_string(head_->number) + ", " +
                     describe(head_->prepared->id, planner_->methods());
  const std::string waiting = whom();
  return waiting.empty() ? text
                         : text + ", while rank " + std::to_string(config_.rank) + " waited for " + waiting;
}

// Whom the running operation waits for, and for what.
std::string Communicator::whom() const {
  if (head_->state != plait_request::State::connecting) return machine_->waiting_for();
  uint32_t from = 0;
  const int32_t r = awaited(from);
  if (r < 0 || peer(r) == nullptr) return {};
  return "rank " + std::to_string(r) + " (" + std::string(peer(r)->phase()) + ")";
}

// Is this what rank `r` did when it last looked about, and does no longer hold? Operation head_ has come to
// `next` since, as this rank sees for itself, or `r` is silent for so long that nothing it said counts.
bool Communicator::outdated(const Suspicion& told, int64_t silent_ns) const noexcept {
  if (silent_ns > kForgottenNs) return true;
  if (told.blame != Blame::not_called && told.blame != Blame::not_connected) return false;
  Peer* next = peer(told.rank);
  return next != nullptr && next->ready() && next->board().latest() >= head_->number;
}

// This rank waits for rank `r`: is that one to blame, or whom it blames itself?
Suspicion Communicator::judge(int32_t r) noexcept {
  Peer* p = peer(r);
  if (p == nullptr || !p->ready()) return {r, Blame::not_connected, 0};
  const Board& board = p->board();
  const int64_t now = now_ns();
  p->note_beat(now);
  if (board.latest() < head_->number) return {r, Blame::not_called, 0};
  const int64_t silent_ns = now - p->beat_seen_ns;
  const int32_t next = board.blamed.load(std::memory_order_relaxed);
  const uint32_t hops = board.hops.load(std::memory_order_relaxed);
  if (board.blamed_in.load(std::memory_order_acquire) == head_->number && next >= 0 && next < config_.size &&
      next != config_.rank && hops < uint32_t(config_.size)) {
    const Suspicion told = {next, Blame(board.blame.load(std::memory_order_relaxed)), hops + 1};
    if (!outdated(told, silent_ns)) return told;
  }
  return {r, silent_ns > kSilentNs ? Blame::silent : Blame::nobody, 0};
}

// Ranks wait for each other in chains: each shows whom it blames, so that news of who is missing runs along
// the chains to all, though few are connected with the one who is. Chains may close to circles, in which
// outdated news would go round for ever: hops are counted, and fewest are believed.
void Communicator::assign_blame() noexcept {
  Suspicion found;
  uint32_t from = 0;
  for (int32_t r = awaited(from); r >= 0; r = awaited(from)) {
    const Suspicion one = judge(r);
    if (one.blame == Blame::nobody) continue;
    if (found.blame == Blame::nobody || one.hops < found.hops) found = one;
  }
  board_->blamed.store(found.rank, std::memory_order_relaxed);
  board_->blame.store(uint32_t(found.blame), std::memory_order_relaxed);
  board_->hops.store(found.hops, std::memory_order_relaxed);
  board_->blamed_in.store(head_->number, std::memory_order_release);
}

std::vector<int32_t> Communicator::absent() const {
  std::vector<int32_t> ranks;
  if (head_ == nullptr) return ranks;
  for (int32_t r : known_) {
    if (peer(r)->ready() && peer(r)->board().latest() < head_->number) ranks.push_back(r);
  }
  const int32_t blamed = board_->blamed.load(std::memory_order_relaxed);
  const auto why = Blame(board_->blame.load(std::memory_order_relaxed));
  const bool came = board_->blamed_in.load(std::memory_order_relaxed) != head_->number ||
                    (why != Blame::not_called && why != Blame::not_connected);
  if (!came && blamed >= 0) ranks.push_back(blamed);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
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
      text += "; " + name_of(blamed) +
              " called it and has been silent for more than a second: stopped (SIGSTOP, a " +
              "debugger), starved of CPU, or cut off";
      break;
    case Blame::nobody:
      break;
  }
  return text;
}

// Whom others are told of: who is to blame, or, as nobody looks so, whom this rank waits for.
int32_t Communicator::culprit_of(uint64_t number) const noexcept {
  const int32_t blamed = board_->blamed.load(std::memory_order_relaxed);
  if (board_->blamed_in.load(std::memory_order_relaxed) == number && blamed >= 0) return blamed;
  uint32_t from = 0;
  return awaited(from);
}

void Communicator::check_deadline(plait_request* waited) noexcept {
  if (!waited->deadline_set) {
    const int64_t ms = waited->args.timeout_ms > 0 ? waited->args.timeout_ms : config_.timeout_ms;
    waited->deadline = Deadline::in_ms(ms);
    waited->deadline_set = true;
    return;
  }
  if (!waited->deadline.passed()) return;
  if (waited->is_message()) return check_message_deadline(waited);
  if (later_.number != 0) return fail_later();
  const uint64_t number = head_ != nullptr ? head_->number : waited->number;
  if (head_ != nullptr) assign_blame();
  std::string who = absentees(number);
  if (who.empty()) who = "; every rank that this one is connected with has called it";
  fail({Code::timeout, "the deadline passed " + phase() + who}, culprit_of(number));
}

}  // namespace plait::runtime
