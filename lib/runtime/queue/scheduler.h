// What a queue does, for one thread: takes tickets, goes round after round with the other ranks, and gives
// the wire what is next. Each round ends with a choice, which depends on nothing but what all ranks know
// then; so the operations are alike everywhere. The round after it runs beside them.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/token_bucket.h"
#include "runtime/queue/config.h"
#include "runtime/queue/council.h"
#include "runtime/queue/timeline.h"
#include "runtime/queue/wire.h"

namespace plait::runtime::queue {

class Scheduler {
 public:
  // Both communicators are of the queue's ranks, and outlive this.
  Scheduler(Communicator& council, Communicator& wire, const QueueConfig& config);
  // Compares the configs. Collective.
  Status open();

  // Code::state: the key is pushed and not done.
  Status accept(Ticket* ticket) noexcept;
  // Moves on. True when something moved.
  bool advance() noexcept;
  // Now and then while waiting: failures, deadlines, whom to name.
  void check() noexcept;
  // Whether the user's own polling has gone on long enough for a check().
  bool polled_long() noexcept { return ++polls_ % 64 == 0; }
  // Somebody waits for all that was accepted: nothing more is waited for.
  void hurry(bool waited) noexcept { hurried_ = waited; }
  // Nothing moves before this long, unless ranks do.
  int64_t idle_ns() noexcept;
  // Sleeps until ranks may have moved something, `most_ns` at most; false: nothing is under way with them.
  bool sleep(int64_t most_ns) noexcept;

  // Tickets that are done and were not handed out before. They are forgotten here; their result stands.
  std::vector<Ticket*>& finished() noexcept { return finished_; }
  // Do ranks move something here?
  bool under_way() const noexcept { return wire_.under_way() > 0 || council_.step() != Step::none; }
  size_t pending() const noexcept { return pending_; }
  const Status& broken() const noexcept { return broken_; }
  // After an error: gives the others a moment to find it out by themselves, then tells them.
  void part() noexcept;
  std::string explain() const;
  Status trace(const std::string& path) const { return timeline_.write(path, council_.comm().rank()); }

 private:
  struct Counts {
    uint64_t rounds = 0, empty_rounds = 0, news = 0, operations = 0, fused = 0, fused_tensors = 0, cut = 0,
             pieces = 0, tensors = 0, bytes = 0;
  };
  Status compare_configs();
  void fail(Status status) noexcept;
  void meet_again() noexcept;
  void finish(Ticket* ticket, const Status& status) noexcept;
  void introduce() noexcept;
  void found(Ticket* ticket, uint32_t slot) noexcept;

  // rounds.cc
  bool wants_round(int64_t now) const noexcept;
  int64_t round_due_ns(int64_t now) const noexcept;
  Status begin_round(int64_t now);
  Status end_step(Step step);
  Status next_step(Step done);
  void end_round(int64_t now);
  Status end_news();
  void end_trial();
  // stall.cc
  Status end_census();
  const Ticket* oldest_waiting() const noexcept;
  void report_absent() noexcept;
  std::string lacking(uint32_t slot) const;
  Status explain_timeout(const Status& status) const;
  bool wants_census(int64_t now) noexcept;
  Status begin_census();
  int64_t timeout_ns() const noexcept;

  bool collect() noexcept;
  void choose();
  Status start_work(int64_t now);
  void note_busy(int64_t now) noexcept;

  const QueueConfig config_;
  Council council_;
  Wire wire_;
  Keys keys_;
  Line line_;
  Batch batch_;
  size_t started_ = 0;  // of batch_
  Sizes sizes_;
  std::optional<Tuner> tuner_;
  TokenBucket bucket_;
  Timeline timeline_;

  std::vector<Ticket*> here_;       // by slot; null: not pushed here
  std::vector<Ticket*> strangers_;  // whose kind this rank has yet to tell
  std::unordered_set<uint64_t> strange_keys_;
  std::vector<Ticket*> finished_;
  std::vector<Ticket*> members_;  // of the work that is started; kept for its memory
  std::vector<Tensor> telling_;
  std::vector<uint32_t> changed_;
  Ballot ballot_;
  bool chosen_ = true;                            // since the last round
  size_t pending_ = 0, waiting_ = 0, fresh_ = 0;  // tickets; not agreed on; of these, since the last round
  uint64_t fresh_bytes_ = 0;
  int64_t first_fresh_ns_ = 0;
  int64_t round_ended_ns_ = 0, stuck_since_ns_ = 0;
  int64_t next_report_ns_ = 0, next_scan_ns_ = 0;
  bool hurried_ = false;
  uint32_t polls_ = 0;
  uint64_t trial_bytes_ = 0;  // chosen since the trial began
  int64_t busy_since_ns_ = 0, busy_ns_ = 0;
  Counts counts_;
  Status broken_;
  bool agreed_failure_ = false;  // all ranks find it out by themselves
};

}  // namespace plait::runtime::queue
