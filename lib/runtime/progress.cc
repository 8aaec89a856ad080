// How operations move, and how waiting ends: done, a deadline, a dead peer, an abort.
#include <poll.h>

#include <algorithm>
#include <iterator>

#include "base/log.h"
#include "runtime/communicator.h"
#include "runtime/peer.h"

namespace plait::runtime {

void Communicator::start(plait_request* request) noexcept {
  request->result = Status();
  request->deadline_set = false;
  request->next = nullptr;
  request->number = ++calls_;
  if (abort_.load(std::memory_order_relaxed)) check(nullptr);
  if (is_broken_.load(std::memory_order_acquire)) {
    request->state = plait_request::State::done;
    request->result = broken();
    return;
  }
  request->state = plait_request::State::queued;
  if (head_ != nullptr) {
    recorder_.started(request->number, request->prepared->id);
    tail_ = tail_->next = request;
    return;
  }
  head_ = tail_ = request;
  begin(request);
}

void Communicator::begin(plait_request* request) noexcept {
  using collectives::Store;
  const Prepared& p = *request->prepared;
  request->state = plait_request::State::running;
  collectives::real::Call& call = machine_->call();
  call = p.call;
  call.number = request->number;
  call.tag = (p.hash & ~0xffu) | (uint32_t(request->number) & 0x7f) << 1;
  auto* in = static_cast<std::byte*>(const_cast<void*>(request->args.in));
  auto* out = static_cast<std::byte*>(request->args.out);
  if (p.input_used) call.input = {in, arena_->owns(in, p.in_bytes), arena_->offset(in), {}};
  call.output = {out, arena_->owns(out, p.out_bytes), arena_->offset(out), {}};
  if (!call.input.shared) expose_plain(call.input, p.in_bytes);
  if (!call.output.shared) expose_plain(call.output, p.out_bytes);
  call.store = p.id.in_place != 0                  ? Store::plain
               : p.out_bytes >= (size_t(32) << 20) ? Store::stream
                                                   : Store::prefetch;
  if (!machine_->ready_for(call)) {
    Status ready = machine_->prepare(call);
    if (!ready.ok()) return fail(std::move(ready), config_.rank);
  }
  machine_->start();
  (void)advance();
}

// Tells peers, and the flight recorder, what the running operation is. They look when they have waited long,
// so it comes after the first messages.
void Communicator::record() noexcept {
  if (head_ == nullptr || head_->number <= recorded_) return;
  recorded_ = head_->number;
  board_->write(recorded_, head_->prepared->id);
  recorder_.started(recorded_, head_->prepared->id);
}

// Ends the running operation and begins the one behind it.
void Communicator::finish(Status status) noexcept {
  plait_request* done = head_;
  recorder_.finished(done->number);
  head_ = done->next;
  if (head_ == nullptr) tail_ = nullptr;
  done->next = nullptr;
  done->result = std::move(status);
  done->state = plait_request::State::done;
  if (head_ != nullptr) begin(head_);
}

bool Communicator::advance() noexcept {
  if (head_ == nullptr || head_->state != plait_request::State::running) return false;
  if (!board_->gate.enter(fences_)) {
    board_->gate.leave();
    check_peers();  // whoever shut it said why
    if (!is_broken_.load(std::memory_order_relaxed)) fail({Code::peer, "a peer gave up " + phase()}, -1);
    return true;
  }
  if (machine_->pulling()) poll_domain();
  const bool ended = !is_broken_.load(std::memory_order_relaxed) && machine_->step();
  board_->gate.leave();
  record();
  if (!ended) return machine_->moved();
  if (!machine_->status().ok()) {
    fail(machine_->status(), -1);
  } else {
    finish(Status());
  }
  return true;
}

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
    fail({Code::aborted, "plait_comm_abort was called on this rank"}, config_.rank);
    return;
  }
  record_wait();
  if (config_.size > 1) check_peers();
  if (waited != nullptr && !is_broken_.load(std::memory_order_relaxed)) check_deadline(waited);
}

void Communicator::poll_domain() noexcept {
  transport::Done done[16];
  for (size_t n = std::size(done); n == std::size(done);) {
    n = domain_->poll(done);
    for (size_t i = 0; i < n; i++) {
      if (done[i].cookie >= collectives::real::Machine::kPullCookie) {
        machine_->pulled(done[i]);
      } else if (done[i].status != Code::ok && done[i].cookie < uint64_t(config_.size)) {
        peer_died(int32_t(done[i].cookie));
      }
    }
  }
}

void Communicator::check_peers() noexcept {
  poll_domain();
  for (int32_t r = 0; r < config_.size && !is_broken_.load(std::memory_order_relaxed); r++) {
    if (r != config_.rank) check_board(r);
  }
  if (!is_broken_.load(std::memory_order_relaxed)) check_calls();
}

void Communicator::peer_died(int32_t r) noexcept {
  Peer& peer = *peers_[size_t(r)];
  peer.gone = true;
  // It has seen that this rank leaves, or it would still be here: nothing is missed.
  if (board_->leaving.load() != 0) return;
  const auto code = Code(peer.board->code.load(std::memory_order_acquire));
  if (code != Code::ok) return check_board(r);  // it told why before it went
  std::string text = "rank " + std::to_string(r) + " died or left " + phase();
  if (!peer.endpoint->error().empty()) text += ": " + std::string(peer.endpoint->error());
  fail({Code::peer, text + "; look at that rank's output, then destroy this communicator and make a new one"},
       r);
}

// A peer that failed says so on its board: everybody learns it, whomever they wait for.
void Communicator::check_board(int32_t r) noexcept {
  const Board& board = *board_of(r);
  const auto code = Code(board.code.load(std::memory_order_acquire));
  if (code != Code::ok) {
    const int32_t culprit = board.culprit.load(std::memory_order_relaxed);
    const std::string who = "rank " + std::to_string(r);
    const std::string heard = " (heard from " + who + ") " + phase();
    if (code == Code::mismatch) {
      const uint64_t number = board.number.load(std::memory_order_relaxed);
      return fail(mismatch(number), culprit, number);
    }
    if (code == Code::peer) {
      return fail({Code::peer, "rank " + std::to_string(culprit) + " died or left" + heard}, culprit);
    }
    if (code == Code::aborted) return fail({Code::aborted, who + " aborted the communicator " + phase()}, r);
    return fail({code, who + " gave up (" + std::string(code_name(code)) + ") " + phase()}, r);
  }
  if (head_ != nullptr && board.leaving.load(std::memory_order_acquire) != 0 &&
      board.latest() < head_->number) {
    fail({Code::peer, "rank " + std::to_string(r) + " destroyed its communicator after operation " +
                          std::to_string(board.latest()) + ", this rank is " + phase()},
         r);
  }
}

// Does any rank's call of this number differ from ours?
void Communicator::check_calls() noexcept {
  if (head_ == nullptr) return;
  CallId theirs;
  for (int32_t r = 0; r < config_.size; r++) {
    if (r == config_.rank || !board_of(r)->read(head_->number, &theirs) || theirs == head_->prepared->id)
      continue;
    return fail(mismatch(head_->number), r);
  }
  int32_t other = -1;
  if (machine_->sees_other_call(&other)) fail(mismatch(head_->number), other);
}

Status Communicator::mismatch(uint64_t number) const {
  std::vector<std::pair<CallId, std::string>> calls;  // each with the ranks that made it
  std::string absent;
  for (int32_t r = 0; r < config_.size; r++) {
    CallId call;
    const Board& board = r == config_.rank ? *board_ : *board_of(r);
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

std::string Communicator::phase() const {
  if (head_ == nullptr) return "between operations (" + std::to_string(calls_) + " were started here)";
  std::string text = "in operation " + std::to_string(head_->number) + ", " + describe(head_->prepared->id);
  const std::string waiting = machine_->waiting_for();
  return waiting.empty() ? text
                         : text + ", while rank " + std::to_string(config_.rank) + " waited for " + waiting;
}

std::string Communicator::absentees(uint64_t number) const {
  std::string text;
  for (int32_t r = 0; r < config_.size; r++) {
    CallId call;
    if (r == config_.rank || board_of(r)->read(number, &call)) continue;
    const uint64_t latest = board_of(r)->latest();
    if (latest > number) continue;
    text += "; rank " + std::to_string(r) + " has not called it (its last is operation " +
            std::to_string(latest) + ")";
  }
  return text.empty() ? "; every rank has called it" : text;
}

void Communicator::check_deadline(plait_request* waited) noexcept {
  if (!waited->deadline_set) {
    const int64_t ms = waited->args.timeout_ms > 0 ? waited->args.timeout_ms : config_.timeout_ms;
    waited->deadline = Deadline::in_ms(ms);
    waited->deadline_set = true;
    return;
  }
  if (!waited->deadline.passed()) return;
  const uint64_t number = head_ != nullptr ? head_->number : waited->number;
  fail({Code::timeout, "the deadline passed " + phase() + absentees(number)}, -1);
}

void Communicator::sleep() noexcept {
  if (config_.size == 1) return;
  constexpr int kMostMs = 100;  // boards and the abort flag are looked at that often
  if (!domain_->arm()) return;
  // What landed before the peers could see us asleep.
  if (!advance() && !abort_.load(std::memory_order_acquire)) {
    const int fd = domain_->wait_fd();
    pollfd p{fd, POLLIN, 0};
    (void)::poll(&p, fd >= 0 ? 1 : 0, fd >= 0 ? kMostMs : 1);
  }
  check(nullptr);  // polls the domain, which disarms it
}

void Communicator::wait(plait_request* request) noexcept {
  using State = plait_request::State;
  Waiter waiter(policy_);
  while (request->state != State::done) {
    if (advance()) {
      waiter.reset();
      continue;
    }
    const Turn turn = waiter.next();
    if (turn == Turn::again) continue;
    check(request);
    if (turn == Turn::sleep && request->state != State::done) sleep();
  }
}

}  // namespace plait::runtime
