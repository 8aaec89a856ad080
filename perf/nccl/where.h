// What a process of the driver is doing, in memory that its parent sees: who kills it knows what it hung in.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/status.h"

namespace plait::nccl_drive {

struct Where {
  std::atomic<const char*>
      call;  // of the plugin, while one runs; a literal, which is at one address in all our forks
  std::atomic<const char*> last;  // the call begun last
  std::atomic<uint64_t> calls;
  std::atomic<uint64_t> bytes;  // that arrived, and were what they had to be
  std::atomic<uint64_t> seed;   // of the script that runs
  std::atomic<bool> ended;      // `code` and `text` hold what it came to
  Code code;
  char text[2000];

  // Writes down how it ended, for the parent.
  void end(const Status& status) noexcept;
  Status result() const;
};

// A Where that forks share; null without memory.
Where* new_where() noexcept;

// The one of this process.
Where& where() noexcept;
void set_where(Where* mine) noexcept;

// A call of the plugin, for as long as it lasts.
class Calling {
 public:
  explicit Calling(const char* name) noexcept {
    Where& w = where();
    w.calls.fetch_add(1, std::memory_order_relaxed);
    w.last.store(name, std::memory_order_relaxed);
    w.call.store(name, std::memory_order_relaxed);
  }
  Calling(const Calling&) = delete;
  Calling& operator=(const Calling&) = delete;
  ~Calling() { where().call.store(nullptr, std::memory_order_relaxed); }
};

}  // namespace plait::nccl_drive
