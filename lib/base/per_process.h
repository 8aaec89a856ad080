// One object a process, made on first use, never destroyed; a forked child gets its own.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <utility>

#include "base/status.h"

namespace plait {

// Constant-initialised, so a plain static. No lock: a fork() in the midst of another thread's call leaves the
// child nothing locked. What ancestors made stays, since it may still be read here.
template <class T>
class PerProcess {
 public:
  // `make()` gives a Result<std::unique_ptr<T>>. Threads that race may each make one; one is kept.
  template <class Make>
  Result<T*> get(Make make) {
    Slot* slot = current_.load(std::memory_order_acquire);
    const int pid = getpid();
    if (slot != nullptr && slot->pid == pid) return slot->object.get();
    Result<std::unique_ptr<T>> made = make();
    if (!made.ok()) return made.status();
    auto fresh = std::make_unique<Slot>(Slot{pid, std::move(*made), nullptr});
    while (slot == nullptr || slot->pid != pid) {
      fresh->older = slot;
      if (current_.compare_exchange_weak(slot, fresh.get(), std::memory_order_acq_rel))
        return fresh.release()->object.get();
    }
    return slot->object.get();
  }

 private:
  struct Slot {
    int pid;
    std::unique_ptr<T> object;
    Slot* older;  // so that leak checkers see it
  };
  std::atomic<Slot*> current_{nullptr};
};

}  // namespace plait
