#include "support/command.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <stdexcept>

namespace plait::test {
namespace {

constexpr double kTick = 0.005;

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + double(t.tv_nsec) / 1e9;
}

void nap() { usleep(useconds_t(kTick * 1e6)); }

int scratch_file(const char* name) {
  int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd < 0) throw std::runtime_error("memfd_create failed");
  return fd;
}

std::string read_all(int fd) {
  struct stat info {};
  fstat(fd, &info);
  std::string text(size_t(info.st_size), '\0');
  ssize_t got = pread(fd, text.data(), text.size(), 0);
  text.resize(got < 0 ? 0 : size_t(got));
  return text;
}

// The child's side of fork.
[[noreturn]] void become(const Command& command, int in, int out, int err) {
  // Another place in the file for each side: the test reads by pread.
  if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(125);
  for (const auto& [name, value] : command.set) setenv(name.c_str(), value.c_str(), 1);
  for (const auto& name : command.unset) unsetenv(name.c_str());
  std::vector<char*> argv;
  for (const std::string& word : command.words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  std::perror(argv[0]);
  _exit(127);
}

}  // namespace

Process::Process(const Command& command)
    : in_(scratch_file("in")), out_(scratch_file("out")), err_(scratch_file("err")) {
  if (pwrite(in_, command.input.data(), command.input.size(), 0) != ssize_t(command.input.size())) {
    throw std::runtime_error("cannot write the input");
  }
  pid_ = fork();
  if (pid_ == 0) become(command, in_, out_, err_);
  if (pid_ < 0) throw std::runtime_error("fork failed");
}

Process::~Process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  for (int fd : {in_, out_, err_}) close(fd);
}

void Process::signal(int number) const { kill(pid_, number); }
std::string Process::out() const { return read_all(out_); }
std::string Process::err() const { return read_all(err_); }

bool Process::wait_for_output(const std::string& text, double seconds) const {
  for (double end = now() + seconds; now() < end; nap()) {
    if (out().find(text) != std::string::npos) return true;
  }
  return false;
}

Outcome Process::wait(double seconds) {
  Outcome outcome;
  int status = 0;
  double end = now() + seconds;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (now() > end) {
      outcome.timed_out = true;
      kill(pid_, SIGKILL);
      waitpid(pid_, &status, 0);
      break;
    }
    nap();
  }
  pid_ = -1;
  outcome.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  outcome.out = out();
  outcome.err = err();
  return outcome;
}

Outcome run(const Command& command, double seconds) { return Process(command).wait(seconds); }

std::string required(const char* variable) {
  const char* value = getenv(variable);
  if (value == nullptr) {
    ADD_FAILURE() << variable << " is not set; run this by: meson test";
    return {};
  }
  return value;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    all.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

void expect_help(const Outcome& help, const std::string& tool, int examples) {
  EXPECT_EQ(help.status, 0);
  EXPECT_EQ(help.err, "");
  const auto all = lines(help.out);
  EXPECT_LE(all.size(), 40u);
  int shown = 0;
  for (const std::string& line : all) {
    EXPECT_LE(line.size(), 79u) << line;
    shown += line.starts_with("  " + tool + " ") ? 1 : 0;
  }
  EXPECT_EQ(shown, examples);
}

}  // namespace plait::test
