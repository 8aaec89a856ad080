// How a communicator moves its messages on, and what becomes of them when somebody fails.
#include "base/clock.h"
#include "runtime/communicator.h"

namespace plait::runtime {

namespace {
constexpr int64_t kLeavingNs = 2'000'000'000;  // what a rank sent before it left is here by then
}  // namespace

plait_request* Communicator::make_message(Letter::Kind kind, int32_t peer, int32_t tag, std::byte* data,
                                          size_t bytes) {
  plait_request* request = take_request(false);
  Letter& letter = request->letter;
  letter.kind = kind;
  letter.peer = peer;
  letter.tag = tag;
  letter.data = data;
  letter.bytes = bytes;
  letter.moved = 0;
  letter.handed = nullptr;
  letter.region.reset();
  request->args.codec = nullptr;  // all else of `args` is of collectives, and not looked at
  request->args.timeout_ms = 0;
  request->prepared = nullptr;
  return request;
}

void Communicator::start_message(plait_request* request, bool together) noexcept {
  if (abort_.load(std::memory_order_relaxed)) check(nullptr);
  if (is_broken_.load(std::memory_order_acquire)) {
    request->state = plait_request::State::done;
    request->result = broken();
    return;
  }
  const Letter& letter = request->letter;
  if (letter.kind == Letter::Kind::send &&
      send_now(letter.peer, letter.tag, letter.data, letter.bytes, false)) {
    request->letter.moved = letter.bytes;
    request->state = plait_request::State::done;
    short_.links[size_t(letter.peer)] = &peer(letter.peer)->messages();
    return;
  }
  messages_.start(request);
  Peer* const p = request->letter.peer == config_.rank ? nullptr : peer(request->letter.peer);
  if (p == nullptr || !p->ready() || p->gone) {
    message_polls_ = 0;
    (void)advance_messages();
    return;
  }
  // What is to be sent goes before anything is asked of the kernel: that takes as long as the sending. Many
  // of a group leave together, as one by one each takes a call to the kernel.
  if (!p->mapped()) {
    message_polls_ = 0;
    if (!together || ++gathered_ % kTogether == 0) (void)drive_messages();
    return;
  }
  short_.links[size_t(letter.peer)] = &p->messages();
  if (Messages::waits_here(letter, p->messages())) return;
  if (!enter_gate()) {
    shut_out();
    return;
  }
  messages_.hand_on(*p, local_);
  board_->gate.leave();
  if (!messages_.failure().ok()) fail_message();
}

// Asks for the ranks that messages need and that nobody asked for before. True when one got there.
bool Communicator::connect_for_messages() noexcept {
  for (int32_t r; (r = messages_.missing(peers_)) >= 0;) {
    Status status = meet(r);
    if (status.ok()) continue;
    fail(std::move(status), r);
    return true;
  }
  if (connecting_ == 0 || group_ == nullptr) return false;
  listen_to_group();
  return !is_broken_.load(std::memory_order_relaxed) && step_connections();
}

// Where all that are waited for are mapped, lines alone are looked at each time; domains, and who else may
// have connected, now and then.
bool Communicator::advance_messages() noexcept {
  if (message_polls_ % kLookAround != 0) {
    message_polls_++;
    return drive_messages();
  }
  const bool network = messages_.network(peers_);
  message_polls_ = connecting_ == 0 && !network && messages_.missing(peers_) < 0 ? 1 : 0;
  const bool met = connect_for_messages();
  if (is_broken_.load(std::memory_order_relaxed)) return true;
  poll_domains(network);
  if (is_broken_.load(std::memory_order_relaxed)) return true;
  return drive_messages() || met;
}

// Inside the gate: messages store to the peers' memory.
bool Communicator::drive_messages() noexcept {
  if (config_.size > 1 && !enter_gate()) return shut_out();
  const bool moved = messages_.advance(peers_, local_);
  if (config_.size > 1) board_->gate.leave();
  if (!messages_.failure().ok()) fail_message();
  return moved;
}

void Communicator::fail_message() noexcept {
  const Status& status = messages_.failure();
  fail({status.code(), std::string(status.text()) + " (on rank " + std::to_string(config_.rank) + ")"},
       messages_.culprit(), kNoOperation);
}

// A rank that destroys its communicator sends nothing more. Looks at the beats of all, too, for the
// deadline's words.
void Communicator::check_leavers() noexcept {
  if (!messages_.busy()) return;
  for (int32_t r : messages_.ranks()) {
    int64_t& since = messages_.leaving_since(r);
    const plait_request* request = messages_.awaits(r);
    const bool connected = r != config_.rank && peer(r) != nullptr && peer(r)->ready();
    if (connected) peer(r)->note_beat(now_ns());
    const bool leaves =
        connected && request != nullptr && peer(r)->board().leaving.load(std::memory_order_acquire) != 0;
    if (!leaves) {
      since = 0;
    } else if (since == 0) {
      since = now_ns();
    } else if (now_ns() - since > kLeavingNs) {
      return fail(
          {Code::peer, name_of(r) + " destroyed its communicator and did not send what " +
                           describe(request->letter) + " waits for on rank " + std::to_string(config_.rank)},
          r, kNoOperation);
    }
  }
}

std::string Communicator::message_phase() const {
  const bool waited =
      waited_ != nullptr && waited_->is_message() && waited_->state != plait_request::State::done;
  const plait_request* request = waited ? waited_ : messages_.oldest();
  if (request == nullptr) return "between operations";
  const int32_t r = request->letter.peer;
  std::string text = "in " + describe(request->letter) + ", while rank " + std::to_string(config_.rank) +
                     " waited for rank " + std::to_string(r);
  const Peer* p = r == config_.rank ? nullptr : peer(r);
  if (r != config_.rank && (p == nullptr || !p->ready()))
    text += " (" + std::string(p == nullptr ? "not connected" : p->phase()) + ")";
  return text;
}

// What is known of the rank that a message waits for.
std::string Communicator::state_of_message(const Letter& letter) noexcept {
  const int32_t r = letter.peer;
  const bool send = letter.kind == Letter::Kind::send;
  if (r == config_.rank) return send ? "; nothing here receives it" : "; nothing here sends it";
  Peer* p = peer(r);
  if (p == nullptr || !p->ready())
    return "; " + name_of(r) + " has not connected: it is not in plait now, or cannot be reached";
  const int64_t now = now_ns();
  p->note_beat(now);
  if (now - p->beat_seen_ns > kSilentNs) {
    return "; " + name_of(r) +
           " has been silent for more than a second: it is elsewhere in its program, stopped " +
           "(SIGSTOP, a debugger), starved of CPU, or cut off";
  }
  return "; " + name_of(r) +
         (send ? " is in plait and has not received it" : " is in plait and has not sent it");
}

void Communicator::check_message_deadline(plait_request* waited) noexcept {
  const Letter& letter = waited->letter;
  const std::string who = state_of_message(letter);
  fail({Code::timeout, "the deadline passed " + message_phase() + who}, letter.peer, kNoOperation);
}

}  // namespace plait::runtime
