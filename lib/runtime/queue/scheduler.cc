#include "runtime/queue/scheduler.h"

#include <algorithm>

#include "runtime/api.h"

namespace plait::runtime::queue {

namespace {

constexpr int64_t kGraceMs = 1000;  // for ranks that are about to find out what this one has

// Bytes that a fusion buffer must hold.
uint64_t most_fused(const QueueConfig& c) noexcept { return c.autotune ? c.bounds.fuse_max : c.sizes.fuse; }

}  // namespace

Scheduler::Scheduler(Communicator& council, Communicator& wire, const QueueConfig& config)
    : config_(config),
      council_(council, config.timeout_ms),
      wire_(wire, most_fused(config), config.algorithm, config.timeout_ms),
      keys_(config.max_keys),
      sizes_(config.sizes),
      bucket_(config.pace_rate, config.pace_burst, now_ns()),
      timeline_(config.trace_tensors) {
  if (config.autotune) tuner_.emplace(config.bounds, config.sizes);
}

Status Scheduler::open() {
  PLAIT_TRY(council_.open());
  Status status = compare_configs();
  if (status.ok()) {
    status = wire_.open();
    agreed_failure_ = !status.ok();
  }
  if (!status.ok()) fail(status);
  return status;
}

Status Scheduler::compare_configs() {
  Communicator& comm = council_.comm();
  const Alike mine = alike(config_);
  std::vector<Alike> all(size_t(comm.size()));
  Args args = args::even(collectives::Collective::allgather, mine.data(), all.data(), kAlike);
  args.dtype = collectives::Dtype::uint64;
  auto request = comm.make(args, false);
  if (!request.ok()) return request.status();
  comm.start(*request);
  comm.wait(*request);
  const Status status = (*request)->result;
  comm.release(*request);
  PLAIT_TRY(status);
  for (size_t r = 1; r < all.size(); r++) {
    for (size_t i = 0; i < kAlike; i++) {
      if (all[r][i] == all[0][i]) continue;
      agreed_failure_ = true;
      return {Code::mismatch, std::string("plait_queue_create: ") + alike_name(i) + " is " +
                                  std::to_string(all[0][i]) + " on rank 0 and " + std::to_string(all[r][i]) +
                                  " on rank " + std::to_string(r) + "; give all ranks the same"};
    }
  }
  return {};
}

Status Scheduler::accept(Ticket* t) noexcept {
  PLAIT_TRY(broken_);
  const uint64_t key = t->tensor.key;
  const uint32_t slot = keys_.find(key);
  const bool here = slot != Keys::kNone && here_[slot] != nullptr;
  const bool known = slot != Keys::kNone && keys_[slot] == t->tensor;
  if (here || (!known && !strange_keys_.insert(key).second)) {
    return {Code::state, "plait_queue_push: tensor " + std::to_string(key) +
                             " is pushed and not done; wait for its request first"};
  }
  t->agreed = t->is_done = false;
  t->left = t->tensor.count;
  t->operations = t->fused_with = 0;
  t->pushed_ns = now_ns();
  if (fresh_++ == 0) {
    first_fresh_ns_ = t->pushed_ns;
    fresh_bytes_ = 0;
  }
  fresh_bytes_ += t->tensor.bytes();
  if (waiting_++ == 0) stuck_since_ns_ = t->pushed_ns;
  pending_++;
  counts_.tensors++;
  counts_.bytes += t->tensor.bytes();
  if (known) {
    found(t, slot);
  } else {
    strangers_.push_back(t);
  }
  return {};
}

void Scheduler::found(Ticket* t, uint32_t slot) noexcept {
  here_[slot] = t;
  ballot_.set(slot);
}

bool Scheduler::advance() noexcept {
  if (!broken_.ok()) return false;
  bool moved = collect();
  const Step step = council_.step();
  if (council_.ended()) {
    moved = true;
    Status status = council_.result().ok() ? end_step(step) : explain_timeout(council_.result());
    if (!status.ok()) fail(std::move(status));
  }
  if (!broken_.ok()) return true;
  // As late as the wire allows: what is pushed meanwhile may still go first.
  if (!chosen_ && started_ == batch_.work.size() && !wire_.full()) {
    choose();
    moved = true;
  }
  const int64_t now = pending_ > 0 ? now_ns() : 0;
  const size_t before = started_;
  Status status = start_work(now);
  moved = moved || started_ != before;
  if (status.ok() && council_.step() == Step::none && chosen_ && wants_round(now)) {
    status = begin_round(now);
    moved = true;
  }
  if (!status.ok()) fail(std::move(status));
  note_busy(now);
  return moved;
}

// Operations that are done.
bool Scheduler::collect() noexcept {
  bool any = false;
  while (Wire::Operation* o = wire_.done()) {
    any = true;
    if (!o->result().ok()) {
      fail(o->result());
      return true;
    }
    for (Ticket* t : o->tickets) {
      t->left -= o->tickets.size() > 1 ? t->tensor.count : o->count;
      if (t->left == 0) finish(t, {});
    }
    wire_.end_oldest();
  }
  return any;
}

void Scheduler::finish(Ticket* t, const Status& status) noexcept {
  if (t->is_done) return;
  t->done_ns = now_ns();
  t->result = status;
  t->is_done = true;
  if (status.ok()) timeline_.note(*t);
  const uint32_t slot = keys_.find(t->tensor.key);
  if (slot != Keys::kNone && here_[slot] == t) here_[slot] = nullptr;
  pending_--;
  finished_.push_back(t);
}

void Scheduler::fail(Status status) noexcept {
  if (!broken_.ok()) return;
  broken_ = std::move(status);
  for (size_t slot = 0; slot < here_.size(); slot++) {
    if (here_[slot] != nullptr) finish(here_[slot], broken_);
  }
  for (Ticket* t : strangers_) finish(t, broken_);
  strangers_.clear();
  strange_keys_.clear();
}

// What is next: every rank comes to the same, as it depends on rounds and choices alone.
void Scheduler::choose() {
  chosen_ = true;
  batch_.clear();
  started_ = 0;
  line_.take(sizes_, &batch_);
  for (const Work& w : batch_.work) {
    trial_bytes_ += w.bytes;
    for (uint32_t i = 0; i < w.tensors; i++) keys_.settle(batch_.slots[w.first + i]);
  }
}

Status Scheduler::start_work(int64_t now) {
  const auto ranks = uint64_t(council_.comm().size());
  while (started_ < batch_.work.size() && !wire_.full() && bucket_.wait_ns(now) == 0) {
    const Work& w = batch_.work[started_];
    members_.clear();
    for (uint32_t i = 0; i < w.tensors; i++) members_.push_back(here_[batch_.slots[w.first + i]]);
    started_++;
    PLAIT_TRY(wire_.start(w, members_, now));
    bucket_.take(2 * (ranks - 1) * w.bytes / ranks);
    counts_.operations++;
    if (w.tensors > 1) counts_.fused++, counts_.fused_tensors += w.tensors;
    if (w.count != members_[0]->tensor.count && w.tensors == 1) counts_.pieces++;
  }
  return {};
}

// How long there was work, for trials.
void Scheduler::note_busy(int64_t now) noexcept {
  if (!tuner_ || tuner_->settled()) return;
  const bool busy = wire_.under_way() > 0 || started_ < batch_.work.size() || !line_.empty();
  if (busy && busy_since_ns_ == 0) busy_since_ns_ = now;
  if (!busy && busy_since_ns_ != 0) {
    busy_ns_ += now_ns() - busy_since_ns_;
    busy_since_ns_ = 0;
  }
}

void Scheduler::check() noexcept {
  if (!broken_.ok()) return;
  council_.check();
  wire_.check();
  if (Status status = council_.comm().broken(); !status.ok()) return fail(explain_timeout(status));
  if (Status status = wire_.comm().broken(); !status.ok()) return fail(std::move(status));
  if (waiting_ > 0 && council_.step() != Step::none) report_absent();
}

int64_t Scheduler::idle_ns() noexcept {
  constexpr int64_t kLong = 100'000'000;
  if (!broken_.ok() || pending_ == 0) return kLong;
  const int64_t now = now_ns();
  int64_t ns = kLong;
  if (started_ < batch_.work.size() && !wire_.full()) ns = std::min(ns, bucket_.wait_ns(now));
  if (council_.step() == Step::none && chosen_) ns = std::min(ns, round_due_ns(now));
  return ns;
}

bool Scheduler::sleep(int64_t most_ns) noexcept {
  constexpr int64_t kMs = 1'000'000;
  Communicator* const comm = wire_.under_way() > 0           ? &wire_.comm()
                             : council_.step() != Step::none ? &council_.comm()
                                                             : nullptr;
  if (comm == nullptr || comm->size() == 1 || most_ns < kMs) return false;
  comm->sleep(int(most_ns / kMs));
  return true;
}

void Scheduler::part() noexcept {
  if (broken_.ok()) return;
  if (agreed_failure_) meet_again();
  // Others may hear of it by the one of the two that did not break here.
  const int32_t culprit = std::max(council_.comm().culprit(), wire_.comm().culprit());
  for (Communicator* comm : {&council_.comm(), &wire_.comm()}) {
    // Who aborts, aborts both: the other one tells so in a moment.
    const Deadline deadline = Deadline::in_ms(broken_.code() == Code::aborted ? kGraceMs : 0);
    while (comm->broken().ok() && !deadline.passed()) comm->check(nullptr);
    comm->give_up(broken_, culprit);
  }
}

void Scheduler::meet_again() noexcept {
  Communicator& comm = council_.comm();
  Args args;
  args.timeout_ms = kGraceMs;
  auto request = comm.make(args, false);
  if (!request.ok()) return;
  comm.start(*request);
  comm.wait(*request);
  comm.release(*request);
}

std::string Scheduler::explain() const {
  const Counts& c = counts_;
  std::string text = "queue of rank " + std::to_string(council_.comm().rank()) + " of " +
                     std::to_string(council_.comm().size()) + ": " + std::to_string(c.tensors) +
                     " tensors of " + std::to_string(keys_.size()) + " keys, " + std::to_string(c.bytes) +
                     " bytes, " + std::to_string(pending_) + " pending\n";
  text += "  fuse_bytes " + std::to_string(sizes_.fuse) + ", chunk_bytes " + std::to_string(sizes_.chunk) +
          ", window_bytes " + std::to_string(sizes_.window) + "\n";
  text += "  " + std::to_string(c.operations) + " operations: " + std::to_string(c.fused) + " of " +
          std::to_string(c.fused_tensors) + " fused tensors, " + std::to_string(c.pieces) +
          " pieces of tensors that were cut\n";
  text += "  " + std::to_string(c.rounds) + " rounds, " + std::to_string(c.empty_rounds) +
          " of which agreed on nothing; " + std::to_string(c.news) + " told of new keys\n";
  if (!tuner_) return text;
  text += tuner_->settled() ? "  autotune, settled:\n" : "  autotune, under way:\n";
  for (const std::string& line : tuner_->log()) text += "    " + line + "\n";
  return text;
}

}  // namespace plait::runtime::queue
