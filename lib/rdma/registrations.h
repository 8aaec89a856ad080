// Registered memory of a device, and a cache of it. Registering costs much (the kernel looks up and holds
// every page), so what nobody uses any more may be kept and found again, as long as it is certain that the
// same pages are still there: memory_watch.h. What a device registered stays what it was at that time; memory
// that was unmapped and mapped anew has other pages at the same address, and whoever found the old
// registration would send or receive what no one sees.
#pragma once

#include <infiniband/verbs.h>

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "rdma/memory_watch.h"

namespace plait::rdma {

struct Span {
  void* base = nullptr;
  size_t bytes = 0;
  int dmabuf = -1;  // a descriptor: memory of an accelerator, `dmabuf_offset` bytes into it
  uint64_t dmabuf_offset = 0;
};

// Who registers.
class Registrar {
 public:
  virtual ~Registrar() = default;
  // `flags`: of enum ibv_access_flags.
  virtual Result<ibv_mr*> take(const Span& span, int flags) = 0;
  virtual void give_back(ibv_mr* made) noexcept = 0;
};

class Registrations {
 public:
  // What is kept that nobody uses, at most.
  struct Limits {
    size_t bytes = 0, count = 256;
  };
  struct Counts {
    uint64_t made = 0, found = 0, kept = 0;  // kept: now, unused
    size_t kept_bytes = 0;
  };

  explicit Registrations(std::unique_ptr<Registrar> registrar);
  ~Registrations();
  // From now on keeps registrations, of memory that `watch` can watch. More than once: the larger limit
  // holds.
  void keep(std::shared_ptr<Watch> watch, const Limits& limits);
  bool keeps() const noexcept;

  // Any thread. Given back by the last who holds it, in this process only. Memory that peers may reach by the
  // registration itself (IBV_ACCESS_REMOTE_*) has one of its own, which ends then: its key opens nothing any
  // more. `whole`: one that was made for just this span, not for more around it.
  using Held = std::shared_ptr<ibv_mr>;
  Result<Held> hold(const Span& span, int flags, bool whole = false);
  // Gives back what is known to be stale. For a quiet moment; a system call for each, and none where there is
  // none.
  void tidy() noexcept;
  Counts counts() const;

 private:
  struct Entry {
    ibv_mr* mr = nullptr;
    Span span;
    int flags = 0;
    size_t users = 0;
    bool watched = false, stale = false;
    uint32_t watch = 0;
  };
  using Entries = std::list<Entry>;

  Result<Held> register_one(const Span& span, int flags);
  Held find(const Span& span, int flags, bool whole);
  bool begin_watch(Entry& entry);
  Held lend(Entries::iterator entry);
  void release(Entries::iterator entry) noexcept;
  void drop(Entries& dropped) noexcept;
  // Moves out of `entries_`, under the lock, what is unused and stale, or above the limits.
  Entries surplus(size_t bytes, size_t count) noexcept;

  const int pid_;
  const std::unique_ptr<Registrar> registrar_;
  mutable std::mutex lock_;
  std::shared_ptr<Watch> watch_;
  Limits limits_{0, 0};
  Entries entries_;  // the last used last
  Counts counts_;
  uint64_t heard_ = 0;  // of the watch's changes
};

// Registers with a device.
std::unique_ptr<Registrar> make_registrar(ibv_pd& pd, std::string_view device);

}  // namespace plait::rdma
