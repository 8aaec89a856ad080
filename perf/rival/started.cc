#include "perf/rival/started.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>

#include "base/wait.h"
#include "perf/ranks.h"

namespace plait::perf::rival {
namespace {

constexpr int64_t kPatienceMs = 120'000;
constexpr int64_t kGoodbyeMs = 2'000;
constexpr size_t kMostAnswer = size_t{32} << 20;

constexpr const char* kNames[] = {
#ifdef PLAIT_RIVAL_MPI
    "mpi",
#endif
#ifdef PLAIT_RIVAL_GLOO
    "gloo",
#endif
    nullptr};

#ifndef PLAIT_RIVAL_MPI
#define PLAIT_RIVAL_MPI ""
#endif

// Beside this program, or where it is installed.
std::string program_of(const std::string& name) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"rival", "../libexec/plait"}) {
    const std::filesystem::path program = folder / place / ("plait-rival-" + name);
    if (access(program.c_str(), X_OK) == 0) return program;
  }
  throw Failure("--compare " + name + ": plait-rival-" + name + " is neither in " + folder.string() +
                "/rival nor in " + folder.string() + "/../libexec/plait");
}

[[noreturn]] void become(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const std::string text = "plait-perf: cannot run " + words[0] + ": " + std::strerror(errno) + "\n";
  (void)!write(STDERR_FILENO, text.data(), text.size());
  _exit(127);
}

}  // namespace

std::string names() {
  std::string all;
  for (const char* name : std::span(kNames).first(std::size(kNames) - 1))
    all += std::string(all.empty() ? "" : ", ") + name;
  return all;
}

Started::Started(const std::string& name, int ranks) : name_(name) {
  const std::string program = program_of(name);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Failure("--compare " + name + ": no socket for it: " + std::strerror(errno));
  socket_ = Fd(ends[0]);
  const Fd its_end(ends[1]);
  if (name == "mpi")
    start_mpi(program, ranks, its_end.get());
  else
    start_gloo(program, ranks, its_end.get());
  time({.samples = 1, .batch = 1});  // a barrier: until then its ranks find each other, which takes cores
}

// Without an answer by now it ends by signal.
Started::~Started() {
  socket_.reset();
  const Deadline deadline = Deadline::in_ms(kGoodbyeMs);
  for (pid_t child : children_) {
    while (waitpid(child, nullptr, WNOHANG) == 0) {
      if (deadline.passed()) kill(-child, SIGKILL);
      usleep(1000);
    }
  }
  std::error_code error;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, error);
}

// `its_end`: standard input and output of the child, or -1.
void Started::start(const std::vector<std::string>& words, int its_end) {
  const pid_t child = fork();
  if (child < 0) throw Failure("--compare " + name_ + ": no process for it: " + std::strerror(errno));
  if (child == 0) {
    setpgid(0, 0);  // ends with all that it starts
    if (its_end >= 0 && (dup2(its_end, STDIN_FILENO) < 0 || dup2(its_end, STDOUT_FILENO) < 0)) _exit(127);
    become(words);
  }
  setpgid(child, child);
  children_.push_back(child);
}

// Open MPI refuses root and more ranks than cores without these.
void Started::start_mpi(const std::string& program, int ranks, int its_end) {
  for (const char* yes :
       {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"})
    setenv(yes, "1", 0);
  start({PLAIT_RIVAL_MPI, "-n", std::to_string(ranks), program}, its_end);
}

void Started::start_gloo(const std::string& program, int ranks, int its_end) {
  const char* temporary = std::getenv("TMPDIR");
  folder_ = std::string(temporary == nullptr || *temporary == 0 ? "/tmp" : temporary) + "/plait-rival-XXXXXX";
  if (mkdtemp(folder_.data()) == nullptr) {
    const std::string wish = std::exchange(folder_, {});
    throw Failure("--compare gloo: cannot make " + wish + ": " + std::strerror(errno));
  }
  for (int rank = 0; rank < ranks; ++rank)
    start({program, std::to_string(rank), std::to_string(ranks), folder_}, rank == 0 ? its_end : -1);
}

std::vector<double> Started::time(const Order& order) {
  const std::string line = write_order(order) + "\n";
  if (send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL) != ssize_t(line.size()))
    throw Failure("--compare " + name_ + ": it ended; is it installed whole? Its own words are above");
  const std::string text = answer();
  if (text == "none") return {};
  auto us = read_samples(text, size_t(order.samples));
  if (!us) throw Failure("--compare " + name_ + ": it answered \"" + text.substr(0, 80) + "\"");
  return std::move(*us);
}

std::string Started::answer() {
  const Deadline deadline = Deadline::in_ms(kPatienceMs);
  for (size_t end = heard_.find('\n'); end == heard_.npos; end = heard_.find('\n')) {
    pollfd ready{socket_.get(), POLLIN, 0};
    if (::poll(&ready, 1, deadline.left_ms()) == 0 || heard_.size() > kMostAnswer)
      throw Failure("--compare " + name_ + ": no figure came from it for " +
                    std::to_string(kPatienceMs / 1000) + " s");
    char piece[4096];
    const ssize_t got = recv(socket_.get(), piece, sizeof piece, 0);
    if (got <= 0) throw Failure("--compare " + name_ + ": it ended; its own words are above");
    heard_.append(piece, size_t(got));
  }
  const size_t end = heard_.find('\n');
  std::string line = heard_.substr(0, end);
  heard_.erase(0, end + 1);
  return line;
}

}  // namespace plait::perf::rival
