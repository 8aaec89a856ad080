#include "runtime/dump_signal.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "base/log.h"
#include "runtime/dump.h"

namespace plait::runtime {

namespace {

// Lock-free, as a signal handler must have it.
static_assert(std::atomic<const Recorder*>::is_always_lock_free && std::atomic<int>::is_always_lock_free);
std::atomic<const Recorder*> g_enlisted[kMostEnlisted];
std::atomic<int> g_readers{0};
std::atomic<pid_t> g_owner{0};  // the process that answers; a forked child does not

void on_dump_signal(int) {
  const int error = errno;
  if (answers_signal()) {
    g_readers.fetch_add(1, std::memory_order_seq_cst);
    for (const auto& slot : g_enlisted) {
      const Recorder* r = slot.load(std::memory_order_seq_cst);
      if (r == nullptr || r->who().path.empty()) continue;
      r->keep();
      (void)save_dump(*r, Why::signal, r->who().path.c_str());
    }
    g_readers.fetch_sub(1, std::memory_order_seq_cst);
  }
  errno = error;
}

bool is_ours(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == on_dump_signal;
}

}  // namespace

bool answers_signal() noexcept { return g_owner.load(std::memory_order_relaxed) == getpid(); }

void take_dump_signal() noexcept {
  if (dump_prefix().empty()) return;
  struct sigaction now {};
  if (sigaction(SIGUSR1, nullptr, &now) != 0) return;
  // Ours already: a forked child inherits it.
  const bool is_free = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
  if (!is_free && !is_ours(now)) {
    log::info("SIGUSR1 is the program's own: it does not write what PLAIT_DUMP asks for");
    return;
  }
  struct sigaction ours {};
  ours.sa_handler = on_dump_signal;
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  g_owner.store(getpid(), std::memory_order_relaxed);
  if (sigaction(SIGUSR1, &ours, nullptr) != 0) g_owner.store(0, std::memory_order_relaxed);
}

void return_dump_signal() noexcept {
  g_owner.store(0, std::memory_order_relaxed);
  struct sigaction now {};
  if (sigaction(SIGUSR1, nullptr, &now) != 0 || !is_ours(now)) return;
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  (void)sigaction(SIGUSR1, &standard, nullptr);
}

void enlist(const Recorder* recorder) noexcept {
  for (auto& slot : g_enlisted) {
    const Recorder* none = nullptr;
    if (slot.compare_exchange_strong(none, recorder, std::memory_order_seq_cst)) return;
  }
}

void delist(const Recorder* recorder) noexcept {
  for (auto& slot : g_enlisted) {
    const Recorder* found = recorder;
    if (!slot.compare_exchange_strong(found, nullptr, std::memory_order_seq_cst)) continue;
    // A handler on this very thread has ended before this line goes on; another thread's takes a moment.
    while (g_readers.load(std::memory_order_seq_cst) != 0) sched_yield();
    return;
  }
}

void forget_enlisted() noexcept {
  for (auto& slot : g_enlisted) slot.store(nullptr);
  g_readers.store(0);
}

}  // namespace plait::runtime
