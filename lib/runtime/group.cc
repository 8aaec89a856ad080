#include "runtime/group.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "runtime/api.h"
#include "runtime/library.h"

namespace plait::runtime {

namespace {

// Of this thread's group. The depth by itself is a word that needs no construction: every call in a group asks
// for it.
constinit thread_local int depth = 0;
thread_local std::vector<plait_request*> deferred;
// Threads with a group: asking for a thread's own costs more than all else that a call asks.
std::atomic<uint32_t> open_groups{0};

// Every request of one communicator moves while any of them is waited for; several communicators take turns.
void wait_all(const std::vector<plait_request*>& requests) noexcept {
  const auto* comm = requests.front()->comm;
  if (std::all_of(requests.begin(), requests.end(), [&](auto* r) { return r->comm == comm; })) {
    for (plait_request* r : requests) r->comm->wait(r);
    return;
  }
  const auto open = [](const plait_request* r) { return !settled(r); };
  for (uint32_t round = 0; std::any_of(requests.begin(), requests.end(), open); round++) {
    bool moved = false;
    for (plait_request* r : requests) {
      if (settled(r)) continue;
      moved = r->comm->advance() || moved;
      if (round % 64 == 63 && !settled(r)) r->comm->check(r);
    }
    if (!moved) sched_yield();
  }
}

// The first that failed says what the group came to.
plait_status end_all(const std::vector<plait_request*>& requests) noexcept {
  plait_status first = PLAIT_OK;
  for (plait_request* r : requests) {
    if (first == PLAIT_OK && !r->result.ok()) first = report(*r->comm, r->result);
    r->comm->release(r);
  }
  return first;
}

}  // namespace

bool in_group() noexcept { return open_groups.load(std::memory_order_relaxed) != 0 && depth > 0; }

void defer(plait_request* request) { deferred.push_back(request); }

void forget_deferred(const Communicator* comm) noexcept {
  std::erase_if(deferred, [&](const plait_request* r) { return r->comm == comm; });
}

}  // namespace plait::runtime

using namespace plait;
using namespace plait::runtime;

extern "C" {

plait_status plait_group_begin(void) {
  Status ready = check_ready();
  if (!ready.ok()) return report(ready);
  if (depth++ == 0) open_groups.fetch_add(1, std::memory_order_relaxed);
  return PLAIT_OK;
}

plait_status plait_group_end(void) {
  Status ready = check_ready();
  if (!ready.ok()) return report(ready);
  if (depth == 0)
    return report({Code::state, "plait_group_end: no plait_group_begin came before it"});
  if (--depth > 0) return PLAIT_OK;
  open_groups.fetch_sub(1, std::memory_order_relaxed);
  if (deferred.empty()) return PLAIT_OK;
  auto requests = std::exchange(deferred, {});
  wait_all(requests);
  const plait_status status = end_all(requests);
  requests.clear();
  deferred = std::move(requests);  // for its memory
  return status;
}

}  // extern "C"
