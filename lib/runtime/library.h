// The process's state behind plait.h: initialised or not, forked or not, the communicators and registered
// regions.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>

#include "base/status.h"
#include "plait/plait.h"
#include "runtime/communicator.h"

// The C handles.
struct plait_comm {
  static constexpr uint32_t kMagic = 0x4d4f4350;  // "PCOM"
  uint32_t magic = kMagic;
  std::unique_ptr<plait::runtime::Communicator> impl;
};

struct plait_region {
  static constexpr uint32_t kMagic = 0x47455250;  // "PREG"
  uint32_t magic = kMagic;
  uint64_t registration = 0;
};

namespace plait::runtime {

// Keeps `status` as this thread's last error and gives its C code.
plait_status report(const Status& status) noexcept;
// The same for an error of a communicator.
plait_status report(Communicator& comm, const Status& status) noexcept;
const char* thread_error() noexcept;
void set_thread_error(std::string_view text) noexcept;

// Code::state when plait_init was not called, or this is a forked child of the process that did.
Status check_ready() noexcept;
// True in a child forked after plait_init. A plain load.
extern std::atomic<bool> has_forked;
inline bool forked() noexcept { return has_forked.load(std::memory_order_relaxed); }

Status initialise() noexcept;
Status finalise() noexcept;
// Counts the communicators of (job, rank) in this process.
uint32_t next_epoch(const std::string& job, int32_t rank);
void adopt(plait_comm* comm);
// Takes `comm` out of the list of live handles; false when it is not in it.
bool disown(plait_comm* comm);

}  // namespace plait::runtime
