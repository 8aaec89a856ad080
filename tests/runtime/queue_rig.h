// A queue in tests, and tensors that ranks push to it.
#pragma once

#include <plait/plait.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "support/ranks.h"

namespace plait::test {

inline plait_queue_config queue_config() {
  plait_queue_config c{};
  c.struct_size = sizeof c;
  return c;
}

// A queue over a communicator of its own, until its end.
struct QueueOf {
  Comm comm;
  plait_queue* queue = nullptr;
  std::string error;  // empty where it was made
  QueueOf(const std::string& job, int rank, int size, const plait_queue_config& config = queue_config(),
          int64_t timeout_ms = 60'000)
      : comm(job, rank, size, timeout_ms) {
    if (comm.status != PLAIT_OK) {
      error = comm.error;
    } else if (plait_queue_create(comm.comm, &config, &queue) != PLAIT_OK) {
      error = plait_last_error(nullptr);
    }
  }
  ~QueueOf() { close(); }
  plait_status close() {
    plait_queue* const mine = queue;
    queue = nullptr;
    return mine != nullptr ? plait_queue_destroy(mine) : PLAIT_OK;
  }
};

// A tensor of int32: element i of rank r is (i % 97 + key) * (r + 1) + step.
struct Pushed {
  uint64_t key = 0;
  size_t count = 0;
  int32_t priority = 0;
  std::vector<int32_t> own;
  int32_t* data = nullptr;
  plait_request* request = nullptr;

  Pushed(uint64_t k, size_t n, int32_t p, bool shared) : key(k), count(n), priority(p), own(shared ? 0 : n) {
    void* block = nullptr;
    if (shared && n > 0) plait_mem_alloc(n * sizeof(int32_t), &block);
    data = shared ? static_cast<int32_t*>(block) : own.data();
    shared_ = block;
  }
  Pushed(Pushed&& other) noexcept
      : key(other.key),
        count(other.count),
        priority(other.priority),
        own(std::move(other.own)),
        data(other.data),
        request(other.request),
        shared_(other.shared_) {
    other.shared_ = nullptr;
  }
  ~Pushed() { plait_mem_free(shared_); }

  int32_t base(size_t i) const { return int32_t(i % 97) + int32_t(key % 1000); }
  plait_status push(plait_queue* queue, int rank, int step, bool keep = true) {
    for (size_t i = 0; i < count; i++) data[i] = base(i) * (rank + 1) + step;
    return plait_queue_push(queue, key, data, count, PLAIT_INT32, PLAIT_SUM, priority,
                            keep ? &request : nullptr);
  }
  std::string check(int size, int step) const {
    for (size_t i = 0; i < count; i++) {
      const int32_t want = base(i) * (size * (size + 1) / 2) + step * size;
      if (data[i] != want)
        return "tensor " + std::to_string(key) + ", element " + std::to_string(i) + " of " +
               std::to_string(count) + " in step " + std::to_string(step) + " is " + std::to_string(data[i]) +
               ", not " + std::to_string(want);
    }
    return {};
  }
  // Waits, frees and checks.
  std::string end(int size, int step) {
    const plait_status status = plait_wait(request);
    const std::string text = status == PLAIT_OK ? "" : plait_last_error(nullptr);
    if (plait_request_free(request) != PLAIT_OK)
      return "cannot free: " + std::string(plait_last_error(nullptr));
    request = nullptr;
    return status != PLAIT_OK ? text : check(size, step);
  }

 private:
  void* shared_ = nullptr;
};

inline std::string explain(plait_queue* queue) {
  std::string text(1 << 16, '\0');
  size_t length = 0;
  if (plait_queue_explain(queue, text.data(), text.size(), &length) != PLAIT_OK)
    return plait_last_error(nullptr);
  text.resize(length);
  return text;
}

}  // namespace plait::test
