// Writes to a peer's memory, each with a word that its target gets when it has landed, in their order: as the
// write's remote data, in the target's completion; or, where the provider cannot be given such writes
// (Choice::rings), as a bell. One thread at a time.
#pragma once

#include <array>

#include "fabric/bells.h"
#include "fabric/completions.h"
#include "fabric/endpoint.h"

namespace plait::fabric {

class SignalledWrites {
 public:
  static constexpr size_t kSmall = 256;

  struct Write {
    const void* from = nullptr;
    size_t bytes = 0;            // 0: the word alone
    void* descriptor = nullptr;  // of `from`, where there are more than kSmall bytes
    uint64_t to = 0, key = 0;    // as the target's Registration has it
    uint32_t word = 0;
    bool delivered = false;  // it is complete when it has landed; else when its source is free
  };

  // At most `depth` are under way. The endpoint is closed before this ends.
  Status open(const Device& device, Endpoint& endpoint, size_t depth);
  // The peer's ring of bells, which is wanted in any case.
  void meet(uint64_t base, uint64_t key) noexcept { their_ring_ = base, their_key_ = key; }

  // 0, or an error, as -FI_EAGAIN; then it may be tried again. Reads up to kSmall bytes at once.
  ssize_t write(const Write& write) noexcept;
  // What completed() is to give of the write that was taken last.
  void set_user(void* user) noexcept { latest_->user = user; }
  // Of a completion with Step::written: its user, or null.
  void* completed(Context& context) noexcept;
  // Those under way have no users any more.
  void forget_users() noexcept;

  // Where rings(): a word alone, as a message. A write would tell its sender of its end, which costs two
  // system calls. Returns as write() does.
  ssize_t ring(uint64_t to, uint32_t word) noexcept;

  bool rings() const noexcept { return rings_; }
  // False: the target has not told yet that it heard enough.
  bool has_room() const noexcept { return !rings_ || bells_.has_room(); }
  Bells& bells() noexcept { return bells_; }
  const Bells& bells() const noexcept { return bells_; }

 private:
  struct Slot : Context {
    Slot* next = nullptr;  // free
    void* user = nullptr;
    uint64_t bell = 0;
    std::array<std::byte, kSmall> small;
  };

  Endpoint* endpoint_ = nullptr;
  bool rings_ = false;
  size_t depth_ = 0;
  std::unique_ptr<Slot[]> slots_;
  Registration registration_;  // of the slots
  Slot *free_ = nullptr, *latest_ = nullptr;
  Bells bells_;
  uint64_t their_ring_ = 0, their_key_ = 0;
};

}  // namespace plait::fabric
