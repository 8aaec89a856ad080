// The supervisor's part in comparing what the ranks were doing.
#include <signal.h>

#include "tools/run/diagnose.h"
#include "tools/run/supervise.h"

namespace plait::run {
namespace {

constexpr int64_t kAnswerMs = 500;  // ranks write within milliseconds, or are stopped, or stuck in the kernel

}  // namespace

void Supervisor::examine(bool then_stop, int64_t delay_ms) {
  then_stop_ = then_stop_ || then_stop;
  if (examining_) return;
  examining_ = true;
  asked_ = false;
  ask_at_ = Deadline::in_ms(collector_.empty() ? 0 : delay_ms);
  on_examination();
}

void Supervisor::on_examination() {
  if (!examining_) return;
  if (!asked_ && (ask_at_.passed() || stopping_ || running_ == 0)) ask();
  if (asked_ && (answers_until_.passed() || collector_.answered())) end_examination();
}

void Supervisor::ask() {
  std::vector<pid_t> ranks;
  for (const Rank& rank : ranks_) {
    if (rank.running) ranks.push_back(rank.child.pid);
  }
  const size_t asked = collector_.ask(ranks, !then_stop_);
  if (!then_stop_) say("SIGUSR1, asked " + std::to_string(asked) + " processes what they are doing");
  asked_ = true;
  answers_until_ = Deadline::in_ms(kAnswerMs);
}

void Supervisor::end_examination() {
  examining_ = false;
  const std::vector<Record> records = collector_.records();
  differences_ = compare(records, fates(records));
  if (!then_stop_) return say_differences();
  examined_ = true;
  if (!stopping_) stop();
}

// Why a rank may have left no record.
std::vector<std::string> Supervisor::fates(const std::vector<Record>& records) const {
  std::vector<std::string> fates;
  for (const Rank& rank : ranks_) {
    fates.push_back(rank.running && is_stopped(rank.child.pid) ? "it is stopped (SIGSTOP, or a debugger)"
                                                               : rank.fate);
  }
  for (const Record& r : records) {
    if (size_t(r.rank) >= fates.size() || !fates[size_t(r.rank)].empty()) continue;
    if (is_stopped(r.pid)) fates[size_t(r.rank)] = "it is stopped (SIGSTOP, or a debugger)";
    if (!r.signal) fates[size_t(r.rank)] = "its program has a handler of its own for SIGUSR1";
  }
  return fates;
}

// After the job's end it comes last, below what the ranks themselves said.
void Supervisor::say_differences() {
  const bool at_end = running_ == 0;
  if (at_end && status_ && !examined_ && !stopping_) {  // --keep-going
    const std::vector<Record> records = collector_.records();
    differences_ = compare(records, fates(records));
  }
  for (const std::string& line : differences_) say(line);
  differences_.clear();
  if (at_end && status_ && !collector_.kept().empty()) say("the ranks' records are in " + collector_.kept());
}

}  // namespace plait::run
