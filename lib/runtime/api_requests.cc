// plait.h: requests and plans once they are made.
#include <sched.h>
#include <time.h>

#include "runtime/api.h"
#include "runtime/queue/queue.h"

using namespace plait;
using namespace plait::runtime;

namespace {

plait_status no_request(const char* function) {
  return report({Code::invalid, std::string(function) + ": the request is NULL or was freed"});
}

// A pushed tensor moves with its queue, all else with its communicator.
bool ended(plait_request* r) noexcept { return r->queue != nullptr ? r->queue->is_done(r) : settled(r); }
// Once, with a look about when it has gone on long without anything moving.
void poll(plait_request* r) noexcept {
  if (r->queue != nullptr) {
    if (!r->queue->advance() && r->queue->polled_long()) r->queue->check();
  } else if (!r->comm->advance() && r->comm->polled_long()) {
    r->comm->check(r);
  }
}

plait_status outcome(plait_request* request) noexcept {
  return request->result.ok() ? PLAIT_OK : report(*request->comm, request->result);
}

// Nothing is to be waited for, or told. What moves with a queue may be its thread's just now.
bool is_well_done(const plait_request* r) noexcept {
  return r->queue == nullptr && r->state == plait_request::State::done && r->result.ok();
}

// plait_wait and plait_request_free of what is_well_done() come after as many messages as there are, so what
// else they do is kept out of their way.
[[gnu::noinline]] plait_status wait_for(plait_request* request) {
  if (!is_request(request)) return no_request("plait_wait");
  if (forked()) return report(check_ready());
  if (request->queue != nullptr) {
    request->queue->wait(request);
  } else if (request->state != plait_request::State::idle) {
    request->comm->wait(request);
  }
  return outcome(request);
}

[[gnu::noinline]] plait_status free_request(plait_request* request) {
  if (request == nullptr) return PLAIT_OK;
  if (!is_request(request)) return no_request("plait_request_free");
  if (forked()) return report(check_ready());
  if (!ended(request))
    return report(*request->comm,
                  {Code::state, "plait_request_free: the operation is not done; wait for it first"});
  if (request->queue != nullptr) {
    request->queue->release(request);
  } else {
    request->comm->release(request);
  }
  return PLAIT_OK;
}

// Between rounds of plait_wait_any, which polls several communicators: yields, then naps.
void pause_round(uint32_t round) noexcept {
  if (round < 1000) {
    sched_yield();
  } else {
    const timespec nap{0, 50'000};
    nanosleep(&nap, nullptr);
  }
}

}  // namespace

extern "C" {

plait_status plait_start(plait_request* plan) {
  if (!is_request(plan)) return no_request("plait_start");
  if (forked()) return report(check_ready());
  if (!plan->persistent)
    return report(*plan->comm, {Code::invalid, "plait_start: the request is not a plan"});
  if (!settled(plan))
    return report(*plan->comm, {Code::state, "plait_start: the plan is started and not done"});
  Status status = plan->comm->broken();
  if (!status.ok()) return report(*plan->comm, status);
  plan->comm->start(plan);
  return PLAIT_OK;
}

plait_status plait_test(plait_request* request, int* done) {
  if (!is_request(request)) return no_request("plait_test");
  if (done == nullptr) return report(*request->comm, {Code::invalid, "plait_test: done is NULL"});
  if (forked()) return report(check_ready());
  if (!ended(request)) poll(request);
  *done = ended(request) ? 1 : 0;
  return *done != 0 ? outcome(request) : PLAIT_OK;
}

plait_status plait_wait(plait_request* request) {
  if (is_request(request) && !forked() && is_well_done(request)) [[likely]]
    return PLAIT_OK;
  return wait_for(request);
}

plait_status plait_wait_any(plait_request** requests, size_t count, size_t* index) {
  if (requests == nullptr || index == nullptr)
    return report({Code::invalid, "plait_wait_any: an argument is NULL"});
  if (forked()) return report(check_ready());
  for (uint32_t round = 0;; round++) {
    bool any = false;
    for (size_t i = 0; i < count; i++) {
      plait_request* r = requests[i];
      if (r == nullptr) continue;
      if (!is_request(r)) return no_request("plait_wait_any");
      any = true;
      if (!ended(r)) poll(r);
      if (ended(r)) {
        *index = i;
        return outcome(r);
      }
    }
    if (!any) return report({Code::invalid, "plait_wait_any: every request is NULL"});
    pause_round(round);
  }
}

plait_status plait_request_algorithm(const plait_request* request, const char** name) {
  if (!is_request(request)) return no_request("plait_request_algorithm");
  if (name == nullptr)
    return report(*request->comm, {Code::invalid, "plait_request_algorithm: name is NULL"});
  if (request->is_message() || request->queue != nullptr)
    return report(*request->comm,
                  {Code::invalid, "plait_request_algorithm: the request is of a send, receive or queue"});
  *name = request->algorithm;
  return PLAIT_OK;
}

plait_status plait_request_free(plait_request* request) {
  if (is_request(request) && !forked() && is_well_done(request) && request->holders > 1) {
    request->holders--;  // the others have it still
    return PLAIT_OK;
  }
  return free_request(request);
}

}  // extern "C"
