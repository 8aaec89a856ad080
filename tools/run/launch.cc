#include "tools/run/launch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace plait::run {
namespace {

struct Pipe {
  Fd read, write;
};

bool make_pipe(Pipe& pipe) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  pipe.read.reset(ends[0]);
  pipe.write.reset(ends[1]);
  return true;
}

// In the child: stdin of rank 0 is ours, that of the others is empty.
bool redirect(int rank, const Pipe& out, const Pipe& err) {
  if (rank != 0 || fcntl(STDIN_FILENO, F_GETFD) < 0) {
    Fd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null || dup2(null.get(), STDIN_FILENO) < 0) return false;
  }
  return dup2(out.write.get(), STDOUT_FILENO) >= 0 && dup2(err.write.get(), STDERR_FILENO) >= 0;
}

// The child's side of fork. Comes back only when the program could not be started; errno says why.
void become(const Options& options, const Job& job, int rank, const Inherited& inherited, pid_t launcher,
            const Pipe& out, const Pipe& err) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(1);  // it died before the line above
  setsid();
  if (!redirect(rank, out, err)) return;
  for (const auto& [name, value] : job.variables(rank)) setenv(name.c_str(), value.c_str(), 1);
  setrlimit(RLIMIT_NOFILE, &inherited.files);
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &inherited.signals, nullptr);
  std::vector<char*> argv;
  for (const std::string& word : options.command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
}

std::string describe_exec_failure(const std::string& program, int code) {
  std::string text = "cannot run '" + program + "': " + std::strerror(code);
  if (code == ENOENT) {
    bool has_folder = program.find('/') != std::string::npos;
    text += has_folder ? "; check the path" : "; it is not in PATH: give its path, as in ./" + program;
  } else if (code == EACCES) {
    text += "; is it executable? (chmod +x)";
  } else if (code == ENOEXEC) {
    text += "; a script needs a first line such as #!/bin/sh";
  }
  return text;
}

int fail(std::string& error, int rank, const char* what, int code) {
  error = "cannot start rank " + std::to_string(rank) + ": " + what + ": " + std::strerror(code);
  if (code == EMFILE || code == ENFILE) error += "; raise the limit of open files (ulimit -n)";
  if (code == EAGAIN) error += "; raise the limit of processes (ulimit -u, or the container's pids limit)";
  return 1;
}

}  // namespace

rlimit raise_file_limit() {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit raised = before;
  raised.rlim_cur = raised.rlim_max;
  setrlimit(RLIMIT_NOFILE, &raised);
  return before;
}

int start_rank(const Options& options, const Job& job, int rank, const Inherited& inherited, Child& child,
               std::string& error) {
  Pipe out, err, status;  // status: closed by a successful exec, else carries errno
  if (!make_pipe(out) || !make_pipe(err) || !make_pipe(status)) return fail(error, rank, "pipe", errno);
  pid_t launcher = getpid();
  pid_t pid = fork();
  if (pid < 0) return fail(error, rank, "fork", errno);
  if (pid == 0) {
    become(options, job, rank, inherited, launcher, out, err);
    int code = errno;
    [[maybe_unused]] ssize_t written = write(status.write.get(), &code, sizeof code);
    _exit(127);
  }
  status.write.reset();
  int code = 0;
  ssize_t got;
  do got = read(status.read.get(), &code, sizeof code);
  while (got < 0 && errno == EINTR);
  if (got == ssize_t(sizeof code)) {
    waitpid(pid, nullptr, 0);
    error = describe_exec_failure(options.command.front(), code);
    return code == ENOENT ? 127 : 126;
  }
  fcntl(out.read.get(), F_SETFL, O_NONBLOCK);
  fcntl(err.read.get(), F_SETFL, O_NONBLOCK);
  child.pid = pid;
  child.out = std::move(out.read);
  child.err = std::move(err.read);
  return 0;
}

}  // namespace plait::run
