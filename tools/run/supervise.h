// Watches the ranks from start to end: one thread, one poll(2) loop over pipes, signals and deadlines.
#pragma once

#include <signal.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "tools/run/collect.h"
#include "tools/run/ends.h"
#include "tools/run/job.h"
#include "tools/run/launch.h"
#include "tools/run/options.h"
#include "tools/run/output.h"

struct pollfd;

namespace plait::run {

class Supervisor {
 public:
  Supervisor(const Options& options, const Job& job, Collector& collector)
      : options_(options), job_(job), collector_(collector) {}
  // Starts all ranks, sees them to their end, returns plait-run's exit status.
  int run();

 private:
  struct Rank {
    Child child;
    Lines out, err;
    bool running = true;
    std::string fate;  // "it exited with status 7", once it has ended
  };
  struct End {  // how a rank ended
    int rank;
    int wait_status;
  };

  bool take_signals(Inherited& inherited);
  bool start(const Inherited& inherited);
  void loop();
  void poll_once();
  void watch(std::vector<pollfd>& polled, std::vector<Lines*>& readers);
  void read_pipe(Fd& fd, Lines& lines);
  void drain(Rank& rank);
  void on_signals();
  void reap();
  void report(const End& end);
  void on_deadlines();
  bool done() const;
  int next_deadline_ms() const;

  // Gets the ranks' records, in `delay_ms`, and compares them; then ends the ranks, if `then_stop`.
  void examine(bool then_stop, int64_t delay_ms = 0);
  void ask();
  void on_examination();
  void end_examination();
  std::vector<std::string> fates(const std::vector<Record>& records) const;
  void say_differences();

  void send_all(int signal);
  // SIGTERM now (unless `signal` says otherwise), SIGKILL after the grace.
  void stop(int signal = SIGTERM);
  void say(const std::string& text);
  void fail(int status);

  const Options& options_;
  const Job& job_;
  Collector& collector_;
  Sink stdout_{1}, stderr_{2};
  std::deque<Rank> ranks_;  // by rank; stays put, for readers point into it
  Ends ends_;
  int running_ = 0;
  Fd signals_;
  std::optional<int> status_;  // of the first failure
  bool exited_ = false;        // that was a rank that exited by itself
  bool told_ = false;          // and left a record of an error
  bool stopping_ = false;
  bool examining_ = false, asked_ = false, then_stop_ = false, examined_ = false;
  std::vector<std::string> differences_;  // to be said in the end
  Deadline kill_at_, timeout_at_, drain_until_, ask_at_, answers_until_;
};

}  // namespace plait::run
