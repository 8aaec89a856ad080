#include "runtime/library.h"

#include <pthread.h>

#include <atomic>
#include <map>
#include <string>

#include "base/log.h"
#include "runtime/dump_signal.h"
#include "runtime/operators.h"
#include "runtime/queue/queue.h"

namespace plait::runtime {

std::atomic<bool> has_forked{false};
namespace {

struct Library {
  std::mutex mutex;
  int initialised = 0;
  std::set<plait_comm*> comms;
  std::map<std::pair<std::string, int32_t>, uint32_t> epochs;
};

Library& library() {
  static auto* l = new Library;  // never destroyed: handles may outlive static destructors
  return *l;
}

std::atomic<bool> g_ready{false};

thread_local std::string t_error;
thread_local std::string t_shown;

void after_fork_in_child() {
  if (g_ready.load()) has_forked.store(true);
}

}  // namespace

plait_status report(const Status& status) noexcept {
  if (!status.ok()) t_error = status.text();
  return plait_status(status.code());
}

plait_status report(Communicator& comm, const Status& status) noexcept {
  if (!status.ok()) comm.note_error(status);
  return report(status);
}

const char* thread_error() noexcept { return t_error.c_str(); }

void set_thread_error(std::string_view text) noexcept { t_error = text; }

Status check_ready() noexcept {
  if (forked()) {
    return {Code::state,
            "this is a forked child: it may not use its parent's plait; call exec, or plait_finalize and "
            "then plait_init"};
  }
  if (!g_ready.load(std::memory_order_acquire))
    return {Code::state, "plait is not initialised in this process: call plait_init first"};
  return {};
}

Status initialise() noexcept {
  static const int hooked = pthread_atfork(nullptr, nullptr, after_fork_in_child);
  if (forked())
    return {Code::state, "this is a forked child of a process that uses plait: call plait_finalize first"};
  if (hooked != 0) return Status::system(hooked, "pthread_atfork");
  std::lock_guard lock(library().mutex);
  if (library().initialised++ == 0) take_dump_signal();
  g_ready.store(true, std::memory_order_release);
  return {};
}

Status finalise() noexcept {
  if (forked()) {
    // The parent's handles are forgotten, not freed: their memory and sockets are the parent's.
    new (&library()) Library;
    queue::end_queues(true);
    forget_enlisted();
    forget_operators(true);
    g_ready.store(false);
    has_forked.store(false);
    return {};
  }
  std::set<plait_comm*> left;
  {
    std::lock_guard lock(library().mutex);
    if (library().initialised == 0) return {Code::state, "plait_finalize without a plait_init"};
    if (--library().initialised > 0) return {};
    left.swap(library().comms);
    g_ready.store(false);
  }
  log::reset();  // the user's sink may go now
  queue::end_queues(false);
  for (plait_comm* comm : left) {
    comm->impl->abort();
    comm->magic = 0;
    delete comm;
  }
  // After the last communicator, and unless another thread has begun anew.
  std::lock_guard lock(library().mutex);
  if (library().initialised > 0) return {};
  forget_operators(false);
  return_dump_signal();
  return {};
}

uint32_t next_epoch(const std::string& job, int32_t rank) {
  std::lock_guard lock(library().mutex);
  return library().epochs[{job, rank}]++;
}

void adopt(plait_comm* comm) {
  std::lock_guard lock(library().mutex);
  library().comms.insert(comm);
}

bool disown(plait_comm* comm) {
  std::lock_guard lock(library().mutex);
  return library().comms.erase(comm) > 0;
}

}  // namespace plait::runtime
