// Libraries that take over signals when they are loaded.
#pragma once

#include <csignal>

#include <array>

namespace plait::runtime {

// Gives every signal's handler back when it ends: a library that a program's communication needs has no
// business with them (libfabric on Debian takes SIGSEGV and SIGTERM by libinfinipath, UCX what faults). What
// the program itself sets meanwhile, from another thread, is lost.
class KeptSignals {
 public:
  KeptSignals() noexcept {
    for (int s = 1; s < kSignals; s++) known_[size_t(s)] = sigaction(s, nullptr, &before_[size_t(s)]) == 0;
  }
  ~KeptSignals() {
    for (int s = 1; s < kSignals; s++) {
      if (known_[size_t(s)]) restore(s, before_[size_t(s)]);
    }
  }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  static constexpr int kSignals = 32;  // those of a real-time kind are nobody's by default

  // Only what changed: others may be setting what did not.
  static void restore(int s, const struct sigaction& before) noexcept {
    struct sigaction now {};
    if (sigaction(s, nullptr, &now) != 0) return;
    const bool same = (before.sa_flags & SA_SIGINFO) == (now.sa_flags & SA_SIGINFO) &&
                      ((before.sa_flags & SA_SIGINFO) != 0 ? before.sa_sigaction == now.sa_sigaction
                                                           : before.sa_handler == now.sa_handler);
    if (!same) sigaction(s, &before, nullptr);
  }

  std::array<struct sigaction, kSignals> before_{};
  std::array<bool, kSignals> known_{};
};

}  // namespace plait::runtime
