#include "runtime/queue/queue.h"

#include <time.h>

#include <algorithm>

namespace plait::runtime::queue {

namespace {

constexpr int64_t kPollEveryNs = 10'000;  // in pushes: polling sockets costs more than a push

}  // namespace

// The right to touch the queue while its thread does not.
class Queue::Turn {
 public:
  explicit Turn(Queue& queue) : lock_(queue.mutex_, std::defer_lock) {
    if (!queue.thread_.joinable()) return;
    queue.callers_.fetch_add(1);
    lock_.lock();
    queue.callers_.fetch_sub(1);
  }
  std::unique_lock<std::mutex>& lock() noexcept { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
};

Queue::Queue(std::unique_ptr<Communicator> council, std::unique_ptr<Communicator> wire,
             const QueueConfig& config)
    : config_(config),
      council_(std::move(council)),
      wire_(std::move(wire)),
      scheduler_(std::make_unique<Scheduler>(*council_, *wire_, config)) {}

Result<std::unique_ptr<Queue>> Queue::create(Communicator& parent, const QueueConfig& config) {
  auto of_child = resolve_child(parent.config(), nullptr);
  if (!of_child.ok()) return of_child.status();
  auto council = parent.split(kDupCall, 0, 0, *of_child);
  if (!council.ok()) return council.status();
  auto wire = parent.split(kDupCall, 0, 0, *of_child);
  if (!wire.ok()) return wire.status();
  std::unique_ptr<Queue> queue(new Queue(std::move(council).value(), std::move(wire).value(), config));
  PLAIT_TRY(queue->scheduler_->open());
  if (config.thread) queue->thread_ = std::thread([q = queue.get()] { q->run(); });
  return queue;
}

Queue::~Queue() { (void)leave(); }

Ticket* Queue::take_ticket() {
  if (free_ == nullptr) {
    Ticket& fresh = tickets_.emplace_back();
    fresh.comm = wire_.get();
    fresh.queue = this;
    return &fresh;
  }
  auto* ticket = static_cast<Ticket*>(free_);
  free_ = ticket->next;
  return ticket;
}

void Queue::recycle(Ticket* ticket) noexcept {
  ticket->magic = 0;
  ticket->next = free_;
  free_ = ticket;
}

Status Queue::push(const Tensor& tensor, void* buffer, plait_request** request) {
  Turn turn(*this);
  Ticket* ticket = take_ticket();
  ticket->magic = plait_request::kMagic;
  ticket->state = plait_request::State::queued;
  ticket->next = nullptr;
  ticket->tensor = tensor;
  ticket->buffer = static_cast<std::byte*>(buffer);
  ticket->kept = request != nullptr;
  const Status status = scheduler_->accept(ticket);
  if (!status.ok()) {
    recycle(ticket);
    return status;
  }
  if (request != nullptr) *request = ticket;
  if (thread_.joinable()) {
    wake_.notify_one();
  } else if (ticket->pushed_ns - polled_ns_ >= kPollEveryNs) {
    polled_ns_ = ticket->pushed_ns;
    (void)advance();
  }
  return {};
}

// Lets the callers see what is done.
void Queue::hand_out() noexcept {
  auto& done = scheduler_->finished();
  if (done.empty()) return;
  for (Ticket* t : done) {
    t->state = plait_request::State::done;
    if (!t->kept) recycle(t);
  }
  done.clear();
  if (thread_.joinable()) finished_.notify_all();
}

bool Queue::advance() noexcept {
  if (thread_.joinable()) return false;
  const bool moved = scheduler_->advance();
  hand_out();
  return moved;
}

void Queue::check() noexcept {
  if (thread_.joinable()) return;
  scheduler_->check();
  hand_out();
}

bool Queue::is_done(const plait_request* request) noexcept {
  Turn turn(*this);
  return request->state == plait_request::State::done;
}

// Ranks wake this one; what it does by its own clock does not.
void Queue::nap(int64_t most_ns) noexcept {
  if (most_ns <= 0 || scheduler_->sleep(most_ns)) return;
  const timespec time{most_ns / 1'000'000'000, most_ns % 1'000'000'000};
  nanosleep(&time, nullptr);
}

template <class Done>
void Queue::wait_until(Done done) noexcept {
  Turn turn(*this);
  scheduler_->hurry(true);
  if (thread_.joinable()) {
    wake_.notify_one();
    while (!done()) finished_.wait(turn.lock());
  } else {
    for (Waiter waiter(wire_->policy()); !done();) {
      if (advance()) {
        waiter.reset();
        continue;
      }
      const plait::Turn next = waiter.next();
      if (next == plait::Turn::again) continue;
      check();
      if (next == plait::Turn::sleep && !done()) nap(scheduler_->idle_ns());
    }
  }
  scheduler_->hurry(false);
}

void Queue::wait(plait_request* request) noexcept {
  wait_until([request] { return request->state == plait_request::State::done; });
}

Status Queue::flush() noexcept {
  wait_until([this] { return scheduler_->pending() == 0; });
  Turn turn(*this);
  return scheduler_->broken();
}

void Queue::release(plait_request* request) noexcept {
  Turn turn(*this);
  recycle(static_cast<Ticket*>(request));
}

void Queue::abort() noexcept {
  council_->abort();
  wire_->abort();
}

std::string Queue::explain() {
  Turn turn(*this);
  return scheduler_->explain();
}

Status Queue::trace(const std::string& path) {
  Turn turn(*this);
  return scheduler_->trace(path);
}

Status Queue::leave() noexcept {
  if (left_) return {};
  left_ = true;
  stop();
  const bool pending = scheduler_->pending() > 0, broken = !scheduler_->broken().ok();
  if (broken) scheduler_->part();
  if (pending) abort();
  Status status;
  if (!config_.trace.empty())
    status = scheduler_->trace(config_.trace + "." + std::to_string(council_->rank()) + ".json");
  const Status first = council_->leave(), second = wire_->leave();
  if (pending) return {Code::state, "plait_queue_destroy: tensors were pending; they are abandoned"};
  if (broken) return {};
  if (!first.ok()) return first;
  return second.ok() ? status : second;
}

}  // namespace plait::runtime::queue
