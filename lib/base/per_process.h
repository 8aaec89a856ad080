// One object a process, made on first use, never destroyed; a forked child gets its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/process_number.h"
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
    const uint64_t process = process_number();
    if (slot != nullptr && slot->process == process) return slot->object.get();
    Result<std::unique_ptr<T>> made = make();
    if (!made.ok()) return made.status();
    auto fresh = std::make_unique<Slot>(Slot{process, std::move(*made), nullptr});
    while (slot == nullptr || slot->process != process) {
      fresh->older = slot;
      if (current_.compare_exchange_weak(slot, fresh.get(), std::memory_order_acq_rel))
        return fresh.release()->object.get();
    }
    return slot->object.get();
  }

  // This process's, if it is made; else null.
  T* peek() const noexcept {
    const Slot* slot = current_.load(std::memory_order_acquire);
    return slot != nullptr && slot->process == process_number() ? slot->object.get() : nullptr;
  }
  // Whether `is(object)` holds of one that an ancestor made.
  template <class Is>
  bool any_inherited(Is is) const {
    const uint64_t process = process_number();
    for (const Slot* slot = current_.load(std::memory_order_acquire); slot != nullptr; slot = slot->older) {
      if (slot->process != process && is(static_cast<const T&>(*slot->object))) return true;
    }
    return false;
  }

 private:
  struct Slot {
    uint64_t process;
    std::unique_ptr<T> object;
    Slot* older;  // so that leak checkers see it
  };
  std::atomic<Slot*> current_{nullptr};
};

}  // namespace plait
