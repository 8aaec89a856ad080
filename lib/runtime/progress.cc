// How operations move: begun in the order of the calls, stepped by whoever waits.
#include <algorithm>

#include "base/copy.h"
#include "runtime/arguments.h"
#include "runtime/communicator.h"

namespace plait::runtime {

void Communicator::start(plait_request* request, bool together) noexcept {
  request->result = Status();
  request->deadline_set = false;
  request->next = nullptr;
  if (request->is_message()) return start_message(request, together);
  request->factor = nullptr;
  request->number = ++calls_;
  if (request->low_rank != nullptr) calls_++;  // two operations
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
  if (request->low_rank != nullptr && request->factor == nullptr) begin_low_rank(*request);
  if (later_.number != 0 && request->number >= later_.number) return fail_later();
  if (config_.size == 1 || connected(*request->prepared)) return launch(request);
  request->state = plait_request::State::connecting;
  need_peers(*request->prepared->call.schedule);
  if (!is_broken_.load(std::memory_order_relaxed)) advance_connecting();
}

// The call to run is a copy of what it was prepared as, unless it is already.
collectives::real::Call& Communicator::take_call(const Prepared& p, uint64_t number) noexcept {
  collectives::real::Call& call = machine_->call();
  if (called_ != &p) {
    call = p.call;
    call.volley = &p.volley;
    call.network = p.network;
    network_ = p.network;
    called_ = &p;
  }
  call.number = number;
  call.tag = p.tag(number);
  return call;
}

collectives::Store Communicator::store_of(const Prepared& p) noexcept {
  using collectives::Store;
  if (p.in_place) return Store::plain;
  // Who gets a broadcast has nothing else in the cache. 2 ranks on a Zen 5, 16 MiB: 0.55 ms past it, 0.39 so.
  const size_t most =
      p.args.collective == collectives::Collective::broadcast ? 2 * kPastCacheBytes : kPastCacheBytes;
  return p.out_bytes >= most ? Store::past_cache : Store::prefetch;
}

// Where a buffer lies. One of no bytes lies nowhere.
collectives::real::Bound Communicator::bound_of(std::byte* data, size_t bytes) const noexcept {
  if (bytes == 0) return {};
  return {data, arena_->owns(data, bytes), arena_->offset(data), {}};
}

void Communicator::launch(plait_request* request) noexcept {
  const Prepared& p = *request->prepared;
  request->state = plait_request::State::running;
  if (request->factor == nullptr && is_volley(p, request->args.in, request->args.out)) {
    start_again(p, request->number, request->args.in, request->args.out);
    return begin_moving();
  }
  collectives::real::Call& call = take_call(p, request->number);
  if (p.args.codec != nullptr && request->low_rank == nullptr)
    (p.codec != nullptr ? coded_calls_ : plain_calls_)++;
  if (p.codec != nullptr) call.seed = mix(request->number, uint64_t(config_.rank));
  if (TensorState* tensor = request->tensor; tensor != nullptr) {
    call.state = tensor->data.data();
    call.turn = tensor->turn++;
  }
  auto* in = static_cast<std::byte*>(const_cast<void*>(request->args.in));
  auto* out = static_cast<std::byte*>(request->args.out);
  if (request->factor != nullptr) in = out = reinterpret_cast<std::byte*>(request->factor);
  if (policy_.crowded && request->factor == nullptr) bounce_.begin(*arena_, share_, p, in, out);
  if (p.in_bytes > 0) call.input = bound_of(in, p.in_bytes);
  if (p.out_bytes > 0) call.output = bound_of(out, p.out_bytes);
  if (!call.input.shared) expose_plain(call.input, p.in_bytes);
  if (!call.output.shared) expose_plain(call.output, p.out_bytes);
  call.store = store_of(p);
  if (policy_.crowded && request->number % kSpreadEvery == 0) spread();
  if (!machine_->ready_for(call)) {
    Status ready = machine_->prepare(call);
    if (!ready.ok()) return fail(std::move(ready), config_.rank);
  }
  machine_->start();
  begin_moving();
}

// What is to be sent goes before anything is asked of the kernel: that takes as long as the sending.
void Communicator::begin_moving() noexcept { network_ ? void(advance_collectives(true)) : void(advance()); }

// Ranks that all wait for each other keep both a full and an empty core busy: to the scheduler that looks
// even.
void Communicator::spread() noexcept {
  const int32_t most = (share_.ranks + share_.cores - 1) / std::max(share_.cores, 1);
  if (machine_->ranks_on_core() > most) nudge(first_core(share_, levels_.near, config_.place()));
}

// Tells peers, and the flight recorder, what the running operation is. They look when they have waited long,
// so it comes after the first messages.
void Communicator::record() noexcept {
  if (head_ != nullptr && head_->number > recorded_) record(head_->number, head_->prepared->id);
}

void Communicator::record(uint64_t number, const CallId& call) noexcept {
  recorded_ = number;
  board_->write(number, call);
  recorder_.started(number, call);
}

// Ends the running operation and begins the one behind it.
void Communicator::finish(Status status) noexcept {
  plait_request* done = head_;
  recorder_.finished(done->number);
  bounce_.end(status.ok());
  if (done->low_rank != nullptr && status.ok() && next_of_low_rank(*done)) return begin(done);
  head_ = done->next;
  if (head_ == nullptr) tail_ = nullptr;
  done->next = nullptr;
  done->result = std::move(status);
  done->state = plait_request::State::done;
  settle();
  if (head_ != nullptr) begin(head_);
}

void Communicator::settle() noexcept {
  const bool bounced = bounce_.was_roomy();
  if (machine_->was_roomy() || bounced) {
    modest_ = 0;
  } else if (++modest_ == kModest && !rest()) {
    modest_ = 0;
  }
}

// The memory that larger operations needed is given back after kModest that did not need it, not after each
// of them: touching pages anew costs more than copying to them. False: try again later.
bool Communicator::rest() noexcept {
  machine_->rest();
  bounce_.rest(*arena_);
  fabric_.trim();
  if (!enter_gate()) return true;  // a peer gave up: all of it goes soon
  bool all = true;
  for (int32_t r : known_) {
    if (peer(r)->ready() && !peer(r)->gone) all = peer(r)->mailbox().rest() && all;
  }
  board_->gate.leave();
  return all;
}

bool Communicator::advance() noexcept {
  const bool moved = messages_.busy() && advance_messages();
  return advance_collectives() || moved;
}

// False when a peer has shut it: see shut_out().
bool Communicator::enter_gate() noexcept {
  if (board_->gate.enter(fences_)) return true;
  board_->gate.leave();
  return false;
}

bool Communicator::advance_collectives(bool armed) noexcept {
  using State = plait_request::State;
  if (head_ == nullptr) return false;
  if (head_->state == State::connecting) {
    const plait_request* request = head_;
    advance_connecting();
    return head_ != request || request->state != State::connecting;
  }
  if (head_->state != State::running) return false;
  if (network_ && !armed) poll_domains(true);
  if (is_broken_.load(std::memory_order_relaxed)) return true;
  if (!enter_gate()) return shut_out();
  if (machine_->pulling() && !armed) poll_domains(false);
  const bool ended = !is_broken_.load(std::memory_order_relaxed) && machine_->step();
  board_->gate.leave();
  const bool quiet = network_ && !armed && !machine_->moved();
  if (quiet || (network_ && ended)) flush_network();
  record();
  if (!ended) {
    if (quiet) idle_network();
    return machine_->moved();
  }
  // What others wait for must not stay here while this rank computes.
  if (network_ && machine_->status().ok() && !network_drained()) return machine_->moved();
  if (!machine_->status().ok()) {
    fail({machine_->status().code(), std::string(machine_->status().text()) + ", " + phase()}, -1);
  } else {
    finish(Status());
  }
  return true;
}

void Communicator::sleep(int most_ms) noexcept {
  if (config_.size == 1) return;
  if (!fabric_.arm()) return;
  // What landed before the peers could see us asleep. Nothing is polled for: that would disarm, and peers of
  // this host would not wake us. What lies in sockets does.
  const bool moved = messages_.busy() && drive_messages();
  if (!advance_collectives(true) && !moved && !abort_.load(std::memory_order_acquire))
    fabric_.sleep(group_->wait_fd(), std::min(most_ms, expects_news() ? kNapMs : kLongNapMs));
  check(nullptr);  // polls the domains, which disarms them
}

void Communicator::wait(plait_request* request) noexcept {
  using State = plait_request::State;
  Waiter waiter(policy_);
  int nap_ms = kNapMs;
  while (request->state != State::done) {
    if (advance()) {
      waiter.reset();
      nap_ms = kNapMs;
      continue;
    }
    const Turn turn = policy_.crowded && machine_->awaits_others_cores() ? waiter.linger() : waiter.next();
    if (turn == Turn::again) continue;
    check(request);
    if (turn != Turn::sleep || request->state == State::done) continue;
    sleep(nap_ms);
    nap_ms = std::clamp(request->deadline.left_ms() / kNapsToDeadline, kNapMs, kLongNapMs);
  }
}

}  // namespace plait::runtime
