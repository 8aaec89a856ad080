// A queue as its users see it: requests, waiting, and the progress thread where there is one. Thread rules as
// in queue.h of the C API: one thread at a time, abort from any.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/queue/scheduler.h"

namespace plait::runtime::queue {

class Queue {
 public:
  // Collective over the ranks of `parent`.
  static Result<std::unique_ptr<Queue>> create(Communicator& parent, const QueueConfig& config);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // `request` may be null.
  Status push(const Tensor& tensor, void* buffer, plait_request** request);
  Status flush() noexcept;
  void abort() noexcept;  // any thread
  std::string explain();
  Status trace(const std::string& path);
  // Says goodbye: waits until every rank has, unless it is broken. Code::state: tensors were pending.
  Status leave() noexcept;

  // Of its requests. advance() and check() do nothing where a thread moves it.
  bool advance() noexcept;
  bool polled_long() noexcept { return !thread_.joinable() && scheduler_->polled_long(); }
  void check() noexcept;
  bool is_done(const plait_request* request) noexcept;
  void wait(plait_request* request) noexcept;
  void release(plait_request* request) noexcept;

 private:
  // Nothing without a thread.
  class Turn;

  Queue(std::unique_ptr<Communicator> council, std::unique_ptr<Communicator> wire, const QueueConfig& config);
  Ticket* take_ticket();
  void recycle(Ticket* ticket) noexcept;
  void hand_out() noexcept;
  template <class Done>
  void wait_until(Done done) noexcept;
  void nap(int64_t most_ns) noexcept;
  // thread.cc
  void run() noexcept;
  bool step(std::unique_lock<std::mutex>& lock, Waiter& waiter) noexcept;
  void stop() noexcept;

  const QueueConfig config_;
  const std::unique_ptr<Communicator> council_, wire_;
  std::unique_ptr<Scheduler> scheduler_;
  std::deque<Ticket> tickets_;
  plait_request* free_ = nullptr;
  bool left_ = false;
  int64_t polled_ns_ = 0;  // in a push

  std::mutex mutex_;                         // with a thread: all of the above but the communicators
  std::atomic<uint32_t> callers_{0};         // that want it: the thread lets them go first
  std::condition_variable wake_, finished_;  // the thread; those who wait for requests
  bool stopped_ = false;
  std::thread thread_;
};

// What is left of them at the last plait_finalize, or in a forked child.
void end_queues(bool forked) noexcept;

}  // namespace plait::runtime::queue
