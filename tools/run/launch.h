// Starts ranks: child processes in one session, each with a process group of its own and pipes for its
// output.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "tools/run/job.h"
#include "tools/run/options.h"

namespace plait::run {

struct Child {
  pid_t pid = -1;
  Fd out, err;  // read ends, non-blocking
};

// What plait-run changed for itself and a child must get back.
struct Inherited {
  sigset_t signals;
  rlimit files;
};

// Lets this process hold the pipes of `ranks` ranks. Returns what it was before.
rlimit raise_file_limit();

// Starts the ranks, one after the other.
//
// All are in one session, which a process of plait-run's own makes, and each leads a process group: signals
// reach the rank and what it starts, not us; Ctrl-C at the terminal comes to us alone and is passed on; and
// rank 0 may read the terminal, which a background process group of our session could not. One session and
// not one each: where Linux shares cores by session (sched_autogroup_enabled), a rank that gives its core
// away gives it to its session only, which would be itself (8 ranks on 2 cores: an allreduce of 64 KiB takes
// 58 to 80 us so, 28 in one session).
class Launch {
 public:
  struct Pipe {
    Fd read, write;
  };

  // All are used until the last start(). `inherited`: what a rank gets back.
  Launch(const Options& options, const Job& job, const Inherited& inherited);
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  // Before the first start(). On failure as there.
  int begin(std::string& error);
  // Starts the next rank, which is `rank`, from 0 on. On failure returns the status for plait-run to exit
  // with (127 no such program, 126 not runnable, 1 otherwise) and `error` says what happened; else 0.
  int start(int rank, Child& child, std::string& error);

 private:
  struct Pipes {
    Pipe out, err, status;  // status: closed by a successful exec, else carries errno
  };
  [[noreturn]] void lead();

  const Options& options_;
  const Job& job_;
  const Inherited& inherited_;
  pid_t launcher_, leader_ = -1;
  Pipe go_, pids_;  // to the leader a byte for each rank; back its number, or minus errno
  std::vector<Pipes> pipes_;
};

}  // namespace plait::run
