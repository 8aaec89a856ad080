#include "perf/nccl/guarded.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"

namespace plait::nccl_drive {
namespace {

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", seconds);
  return text;
}

// Sees whether one call of the plugin lasts too long, without a clock in the calls themselves.
class Watch {
 public:
  Watch(const Where& where, double seconds, double in_all)
      : where_(where),
        ns_(int64_t(seconds * 1e9)),
        seconds_(seconds),
        in_all_s_(in_all),
        in_all_(Deadline::in_ns(int64_t(in_all * 1e9))) {}

  Status look() {
    const uint64_t calls = where_.calls.load(std::memory_order_relaxed);
    const char* call = where_.call.load(std::memory_order_relaxed);
    if (calls != calls_ || call == nullptr) since_ = Deadline::in_ns(ns_);
    calls_ = calls;
    if (since_.passed())
      return Status(Code::timeout,
                    std::string(call) + " had not returned after " + seconds_text(seconds_) + ": it blocks");
    if (in_all_.passed()) return Status(Code::timeout, "not at its end after " + seconds_text(in_all_s_));
    return Status();
  }

 private:
  const Where& where_;
  int64_t ns_;
  double seconds_, in_all_s_;
  uint64_t calls_ = 0;
  Deadline since_ = Deadline::in_ns(ns_), in_all_;
};

}  // namespace

void leave(const Status& status) {
  where().end(status);
  if (status.ok()) std::exit(0);
  ::_exit(status.code() == Code::unsupported ? 0 : 1);  // what was not exercised was left as it stood
}

std::string how_it_ended(int wait_status, const Where& where) {
  const char* call = where.call.load();
  const char* last = where.last.load();
  const std::string at = call != nullptr   ? std::string(" in ") + call
                         : last != nullptr ? std::string(" after ") + last
                                           : std::string();
  if (WIFSIGNALED(wait_status))
    return "died of signal " + std::to_string(WTERMSIG(wait_status)) + " (" +
           ::strsignal(WTERMSIG(wait_status)) + ")" + at;
  return "ended with status " + std::to_string(WEXITSTATUS(wait_status)) +
         (where.ended.load() ? " once its work was done: a sanitizer's or valgrind's finding stands above"
                             : at);
}

Ended guarded(double seconds, double seconds_in_all, const std::function<Status()>& work) {
  Where* shared = new_where();
  if (shared == nullptr) return {Status(Code::memory, "no memory to share with a child")};
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return {Status::system(errno, "fork")};
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::setpgid(0, 0);
    set_where(shared);
    leave(work());
  }
  ::setpgid(child, child);
  Watch watch(*shared, seconds, seconds_in_all);
  Status status;
  int wait_status = 0;
  while (::waitpid(child, &wait_status, WNOHANG) == 0) {
    status = watch.look();
    if (!status.ok()) {
      ::kill(-child, SIGKILL);
      ::waitpid(child, &wait_status, 0);
      break;
    }
    ::usleep(500);
  }
  ::kill(-child, SIGKILL);  // what it forked
  if (status.ok()) {
    const bool well = WIFEXITED(wait_status) && shared->ended.load(std::memory_order_acquire);
    status = well && shared->code != Code::ok ? shared->result() : Status();
    const bool failed = !status.ok() && status.code() != Code::unsupported;
    if (!failed && (!well || WEXITSTATUS(wait_status) != 0))
      status = Status(Code::aborted, "the process " + how_it_ended(wait_status, *shared));
  }
  return {status, shared->bytes.load(), shared->seed.load()};
}

}  // namespace plait::nccl_drive
