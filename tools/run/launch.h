// Starts one rank: a child process in a session of its own, with pipes for its output.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <string>

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

// Starts `rank`. On failure returns the status for plait-run to exit with (127 no such program, 126 not
// runnable, 1 otherwise) and `error` says what happened; else 0.
//
// A session of its own: signals reach the rank and what it starts, not us; Ctrl-C at the terminal comes to us
// alone and is passed on; and rank 0 may read the terminal, which a background process group of our session
// could not.
int start_rank(const Options& options, const Job& job, int rank, const Inherited& inherited, Child& child,
               std::string& error);

}  // namespace plait::run
