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

void open_group() noexcept {
  ThreadPlace nobody = kNobody;
  if (!only_group.compare_exchange_strong(nobody, this_thread(), std::memory_order_relaxed))
    only_group.store(kSeveral, std::memory_order_relaxed);
}

void close_group() noexcept {
  ThreadPlace mine = this_thread();
  only_group.compare_exchange_strong(mine, kNobody, std::memory_order_relaxed);
}

// This thread's. Where it ends within a group, another one may come to lie where it was.
struct Group {
  int depth = 0;
  std::vector<plait_request*> deferred;
  ~Group() {
    if (depth > 0) close_group();
  }
};
thread_local Group own_group;

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

bool has_depth() noexcept { return own_group.depth > 0; }

void defer(plait_request* request) { own_group.deferred.push_back(request); }

void forget_deferred(const Communicator* comm) noexcept {
  std::erase_if(own_group.deferred, [&](const plait_request* r) { return r->comm == comm; });
}

}  // namespace plait::runtime

using namespace plait;
using namespace plait::runtime;

extern "C" {

plait_status plait_group_begin(void) {
  Status ready = check_ready();
  if (!ready.ok()) return report(ready);
  if (own_group.depth++ == 0) open_group();
  return PLAIT_OK;
}

plait_status plait_group_end(void) {
  Status ready = check_ready();
  if (!ready.ok()) return report(ready);
  if (own_group.depth == 0)
    return report({Code::state, "plait_group_end: no plait_group_begin came before it"});
  if (--own_group.depth > 0) return PLAIT_OK;
  close_group();
  if (own_group.deferred.empty()) return PLAIT_OK;
  auto requests = std::exchange(own_group.deferred, {});
  wait_all(requests);
  const plait_status status = end_all(requests);
  requests.clear();
  own_group.deferred = std::move(requests);  // for its memory
  return status;
}

}  // extern "C"
