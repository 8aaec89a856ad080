// Whether memory of this process is still what it was: the same pages at the same addresses. Learned from the
// kernel (userfaultfd), not from hooks, which miss system calls and other allocators.
//
// The kernel tells of munmap, mremap, brk, mmap over it, madvise that drops pages, in any thread, and holds
// each of them up until that was read: some 15 us, of watched memory only. A thread of this object reads it.
// It takes no lock that is ever held while memory is allocated or given back, so nobody waits for himself.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/status.h"

namespace plait::rdma {

// What the cache of registrations wants of it.
class Watch {
 public:
  virtual ~Watch() = default;
  // Begins to watch all pages of this memory. Code::unsupported, with the reason, where pages can go without
  // notice: shared memory, files, huge pages that were asked for. Any thread.
  virtual Result<uint32_t> begin(const void* base, size_t bytes) = 0;
  // Nothing happened to it since: what is mapped there now has the pages that were there at begin(). False
  // also when that cannot be known just now. A system call.
  virtual bool holds(uint32_t watched) noexcept = 0;
  virtual void end(uint32_t watched) noexcept = 0;
  // Grows whenever something happened to what is watched: a moment later, but before holds() says so.
  virtual uint64_t changes() const noexcept = 0;
};

class MemoryWatch final : public Watch {
 public:
  // The one of this process; a forked child has its own. Code::unsupported, with the reason, where the kernel
  // does not offer it, forbids it, or would not tell of everything: unless `trusting`, when the caller knows
  // that nobody puts guards (MADV_GUARD_INSTALL, Linux 6.13) into watched memory, which make no event.
  static Result<std::shared_ptr<MemoryWatch>> of_process(bool trusting);
  MemoryWatch() noexcept;
  ~MemoryWatch() override;

  Result<uint32_t> begin(const void* base, size_t bytes) override;
  bool holds(uint32_t watched) noexcept override;
  void end(uint32_t watched) noexcept override;
  uint64_t changes() const noexcept override { return heard_.load(std::memory_order_relaxed); }

 private:
  struct Range {
    uintptr_t begin = 0, end = 0;                         // end 0: not used
    enum : uint8_t { good, emptied, gone } state = good;  // emptied: other pages, still watched
    bool overlaps(uintptr_t from, uintptr_t to) const noexcept { return begin < to && from < end; }
  };

  Status start();
  Status misses_guards();
  void listen() noexcept;
  void spoil(uintptr_t from, uintptr_t to, bool emptied) noexcept;

  const int pid_;
  Fd events_, stop_;
  pthread_t thread_{};
  bool running_ = false;
  std::atomic<uint64_t> heard_{0};
  std::mutex changing_;  // what is watched
  // Held for a few stores, and while events are read and taken in: nobody sees what was read and not taken
  // in.
  std::mutex lock_;
  std::array<Range, 1024> ranges_;
};

// In the text of /proc/PID/maps: all of [begin, end) is private memory of no file, to be read and written.
bool is_private_memory(std::string_view maps, uintptr_t begin, uintptr_t end) noexcept;

}  // namespace plait::rdma
