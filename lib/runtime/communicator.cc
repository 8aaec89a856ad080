#include "runtime/communicator.h"

#include <sched.h>

#include "base/fence.h"
#include "base/log.h"

namespace plait::runtime {

Status Communicator::broken() const {
  if (!is_broken_.load(std::memory_order_acquire)) return {};
  std::lock_guard lock(error_mutex_);
  return broken_;
}

std::string Communicator::last_error() const {
  std::lock_guard lock(error_mutex_);
  return last_error_;
}

void Communicator::note_error(const Status& status) {
  std::lock_guard lock(error_mutex_);
  last_error_ = status.text();
}

void Communicator::abort() noexcept {
  abort_.store(true, std::memory_order_release);
  short_.open.store(nullptr, std::memory_order_relaxed);
  int32_t none = 0;
  board_->code.compare_exchange_strong(none, int32_t(Code::aborted));
}

void Communicator::wake_peers() noexcept {
  for (int32_t r : known_) {
    if (peer(r)->ready() && peer(r)->mapped() && !peer(r)->gone) peer(r)->endpoint().notify();
  }
}

// The buffers of what failed are the user's again.
void Communicator::recall_landings() noexcept {
  for (int32_t r : known_) {
    if (peer(r)->ready()) peer(r)->mailbox().recall();
  }
}

// All ranks leave together, over the group: nobody loses a peer that it still needs.
Status Communicator::leave() noexcept {
  if (config_.size == 1) return {};
  check(nullptr);
  if (!is_broken_.load()) {
    board_->leaving.store(1, std::memory_order_release);
    group_->leave();
    wake_peers();
    show_boards();
    const Deadline deadline = Deadline::in_ms(config_.timeout_ms);
    Waiter waiter(policy_);
    while (!group_->all_left() && !is_broken_.load()) {
      const Turn turn = waiter.next();
      if (turn == Turn::again) continue;
      check(nullptr);
      if (deadline.passed()) {
        fail({Code::timeout,
              "plait_comm_destroy: not every rank destroyed its communicator before the deadline"},
             -1);
      }
      if (turn == Turn::sleep && !group_->all_left()) sleep();
    }
  }
  left_ = true;
  const Status status = broken();
  wake_peers();
  if (!status.ok()) shut_gates();
  return status;
}

// After an error nobody waits for peers to come back to plait; but what they can reach of this rank may be
// freed once this returns. Their gates are shut, and a step that one of them is in, some microseconds, is
// waited for. (What comes over a network ends with its endpoint.)
void Communicator::shut_gates() noexcept {
  constexpr int64_t kPatienceMs = 2000;  // it was stopped by a signal or a debugger
  auto reachable = [&](int32_t r) { return peer(r)->ready() && peer(r)->mapped() && !peer(r)->gone; };
  for (int32_t r : known_) {
    if (reachable(r)) peer(r)->board().gate.revoked.store(1, std::memory_order_seq_cst);
  }
  heavy_fence();
  const Deadline deadline = Deadline::in_ms(kPatienceMs);
  for (int32_t r : known_) {
    while (reachable(r) && peer(r)->board().gate.inside.load(std::memory_order_acquire) != 0) {
      if (deadline.passed()) {
        log::error("rank {}: {} stopped amid an operation: do not free or reuse its buffers yet",
                   config_.rank, peer(r)->name());
        break;
      }
      sched_yield();
      poll_domains(false);  // it may have died
    }
  }
}

}  // namespace plait::runtime
