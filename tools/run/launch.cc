#include "tools/run/launch.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace plait::run {
namespace {

bool make_pipe(Launch::Pipe& pipe) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  pipe.read.reset(ends[0]);
  pipe.write.reset(ends[1]);
  return true;
}

// In the child: stdin of rank 0 is ours, that of the others is empty.
bool redirect(int rank, const Launch::Pipe& out, const Launch::Pipe& err) {
  if (rank != 0 || fcntl(STDIN_FILENO, F_GETFD) < 0) {
    Fd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null || dup2(null.get(), STDIN_FILENO) < 0) return false;
  }
  return dup2(out.write.get(), STDOUT_FILENO) >= 0 && dup2(err.write.get(), STDERR_FILENO) >= 0;
}

// The rank's side. Comes back only when the program could not be started; errno says why.
void become(const Options& options, const Job& job, int rank, const Inherited& inherited, pid_t launcher,
            const Launch::Pipe& out, const Launch::Pipe& err) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(1);  // it died before the line above
  setpgid(0, 0);
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

// What a pipe holds: less than `bytes` bytes at its end.
size_t read_all(const Fd& fd, void* to, size_t bytes) {
  ssize_t got;
  do got = read(fd.get(), to, bytes);
  while (got < 0 && errno == EINTR);
  return got < 0 ? 0 : size_t(got);
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

Launch::Launch(const Options& options, const Job& job, const Inherited& inherited)
    : options_(options), job_(job), inherited_(inherited), launcher_(getpid()) {}

Launch::~Launch() {
  go_.write.reset();
  if (leader_ > 0) waitpid(leader_, nullptr, 0);
}

int Launch::begin(std::string& error) {
  pipes_.resize(size_t(options_.ranks));
  if (!make_pipe(go_) || !make_pipe(pids_)) return fail(error, 0, "pipe", errno);
  for (int rank = 0; rank < options_.ranks; rank++) {
    Pipes& p = pipes_[size_t(rank)];
    if (!make_pipe(p.out) || !make_pipe(p.err) || !make_pipe(p.status))
      return fail(error, rank, "pipe", errno);
  }
  leader_ = fork();
  if (leader_ < 0) return fail(error, 0, "fork", errno);
  if (leader_ == 0) lead();
  go_.read.reset();
  pids_.write.reset();
  return 0;
}

// The leader's side: a rank for each byte that comes. They are children of plait-run's, not of this process,
// which ends.
void Launch::lead() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher_) _exit(1);
  go_.write.reset();
  setsid();
  char byte;
  for (int rank = 0; rank < options_.ranks && read(go_.read.get(), &byte, 1) == 1; rank++) {
    Pipes& p = pipes_[size_t(rank)];
    const auto pid = pid_t(syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (pid == 0) {
      become(options_, job_, rank, inherited_, launcher_, p.out, p.err);
      const int code = errno;
      [[maybe_unused]] ssize_t written = write(p.status.write.get(), &code, sizeof code);
      _exit(127);
    }
    const pid_t answer = pid > 0 ? pid : -errno;
    p = {};
    if (write(pids_.write.get(), &answer, sizeof answer) != ssize_t(sizeof answer) || pid < 0) break;
  }
  _exit(0);
}

int Launch::start(int rank, Child& child, std::string& error) {
  Pipes& p = pipes_[size_t(rank)];
  p.out.write.reset();
  p.err.write.reset();
  p.status.write.reset();
  const char byte = 0;
  pid_t pid = -EPIPE;  // the leader is gone
  if (write(go_.write.get(), &byte, 1) != 1 || read_all(pids_.read, &pid, sizeof pid) != sizeof pid ||
      pid < 0)
    return fail(error, rank, "clone", pid < 0 ? -pid : errno);
  int code = 0;
  if (read_all(p.status.read, &code, sizeof code) == sizeof code) {
    waitpid(pid, nullptr, 0);
    error = describe_exec_failure(options_.command.front(), code);
    return code == ENOENT ? 127 : 126;
  }
  fcntl(p.out.read.get(), F_SETFL, O_NONBLOCK);
  fcntl(p.err.read.get(), F_SETFL, O_NONBLOCK);
  child.pid = pid;
  child.out = std::move(p.out.read);
  child.err = std::move(p.err.read);
  p = {};
  return 0;
}

}  // namespace plait::run
