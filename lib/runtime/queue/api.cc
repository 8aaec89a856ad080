// plait.h: queues.
#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <set>

#include "runtime/api.h"
#include "runtime/queue/queue.h"

using namespace plait;
using namespace plait::runtime;

struct plait_queue {
  static constexpr uint32_t kMagic = 0x55555150;  // "PQUU"
  uint32_t magic = kMagic;
  std::unique_ptr<queue::Queue> impl;
};

namespace {

struct Living {
  std::mutex mutex;
  std::set<plait_queue*> queues;
};

Living& living() {
  static auto* l = new Living;  // never destroyed, as library()
  return *l;
}

// `queue` can be used here.
Status check_queue(const char* function, const plait_queue* queue) {
  if (queue == nullptr || queue->magic != plait_queue::kMagic)
    return bad(function, "the queue is NULL or was destroyed");
  return forked() ? check_ready() : Status();
}

Status check_push(const queue::Tensor& t, const void* buffer, size_t count) {
  constexpr const char* kFunction = "plait_queue_push";
  PLAIT_TRY(check_dtype(kFunction, t.dtype));
  if (t.op < 0 || t.op >= collectives::kReduceOps)
    return bad(kFunction, "op " + std::to_string(t.op) + " is none of PLAIT_SUM, _PROD, _MAX, _MIN, _AVG");
  if (count > size_t(std::numeric_limits<ptrdiff_t>::max()) / t.element())
    return bad(kFunction, "a count of " + std::to_string(count) + " overflows the size of memory");
  if (buffer == nullptr && count > 0) return bad(kFunction, "the buffer is NULL");
  return {};
}

}  // namespace

namespace plait::runtime::queue {

void end_queues(bool forked) noexcept {
  if (forked) {
    new (&living()) Living;  // they are the parent's
    return;
  }
  std::set<plait_queue*> left;
  {
    std::lock_guard lock(living().mutex);
    left.swap(living().queues);
  }
  for (plait_queue* queue : left) {
    queue->magic = 0;
    queue->impl->abort();
    delete queue;
  }
}

}  // namespace plait::runtime::queue

extern "C" {

plait_status plait_queue_create(plait_comm* comm, const plait_queue_config* config, plait_queue** queue) {
  if (comm == nullptr || comm->magic != plait_comm::kMagic)
    return report(bad("plait_queue_create", "the communicator is NULL or was destroyed"));
  if (queue == nullptr) return report(bad("plait_queue_create", "queue is NULL"));
  if (forked()) return report(check_ready());
  auto resolved = queue::resolve_queue(config, comm->impl->size());
  if (!resolved.ok()) return report(*comm->impl, resolved.status());
  auto made = queue::Queue::create(*comm->impl, *resolved);
  if (!made.ok()) return report(*comm->impl, made.status());
  auto* handle = new plait_queue;
  handle->impl = std::move(made).value();
  std::lock_guard lock(living().mutex);
  living().queues.insert(handle);
  *queue = handle;
  return PLAIT_OK;
}

plait_status plait_queue_push(plait_queue* queue, uint64_t key, void* buffer, size_t count, plait_dtype dtype,
                              plait_op op, int32_t priority, plait_request** request) {
  Status status = check_queue("plait_queue_push", queue);
  const queue::Tensor tensor{.key = key, .count = count, .dtype = dtype, .op = op, .priority = priority};
  if (status.ok()) status = check_push(tensor, buffer, count);
  if (status.ok()) status = queue->impl->push(tensor, buffer, request);
  return status.ok() ? PLAIT_OK : report(status);
}

plait_status plait_queue_flush(plait_queue* queue) {
  Status status = check_queue("plait_queue_flush", queue);
  if (status.ok()) status = queue->impl->flush();
  return report(status);
}

plait_status plait_queue_abort(plait_queue* queue) {
  const Status status = check_queue("plait_queue_abort", queue);
  if (status.ok()) queue->impl->abort();
  return report(status);
}

plait_status plait_queue_explain(plait_queue* queue, char* text, size_t capacity, size_t* length) {
  Status status = check_queue("plait_queue_explain", queue);
  if (status.ok() && (length == nullptr || (text == nullptr && capacity > 0)))
    status = bad("plait_queue_explain", "length, or text with a capacity, is NULL");
  if (!status.ok()) return report(status);
  const std::string whole = queue->impl->explain();
  if (capacity > 0) text[whole.copy(text, capacity - 1)] = '\0';
  *length = whole.size();
  return PLAIT_OK;
}

plait_status plait_queue_trace(plait_queue* queue, const char* path) {
  Status status = check_queue("plait_queue_trace", queue);
  if (status.ok() && (path == nullptr || *path == 0))
    status = bad("plait_queue_trace", "path is NULL or empty");
  if (status.ok()) status = queue->impl->trace(path);
  return report(status);
}

plait_status plait_queue_destroy(plait_queue* queue) {
  Status status = check_queue("plait_queue_destroy", queue);
  if (status.ok()) {
    std::lock_guard lock(living().mutex);
    if (living().queues.erase(queue) == 0) status = bad("plait_queue_destroy", "the queue was destroyed");
  }
  if (!status.ok()) return report(status);
  status = queue->impl->leave();
  queue->magic = 0;
  delete queue;
  return report(status);
}

}  // extern "C"
