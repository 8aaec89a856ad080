// Runs programs from a test: arguments, environment and input in, status and output out.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace plait::test {

struct Outcome {
  int status = -1;  // as a shell tells it: the exit status, or 128 + the number of the signal that killed it
  std::string out, err;
  bool timed_out = false;
};

struct Command {
  std::vector<std::string> words;  // program and arguments; the program is looked up in PATH
  std::vector<std::pair<std::string, std::string>> set;  // environment variables to set
  std::vector<std::string> unset;                        // and to remove
  std::string input;
};

// A running program. Its output goes to temporary files, so that it never waits for its reader.
class Process {
 public:
  explicit Process(const Command& command);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();  // kills it if it still runs

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // What it wrote to stdout, or stderr, until now.
  std::string out() const;
  std::string err() const;
  // Waits until stdout contains `text`; false after `seconds`.
  bool wait_for_output(const std::string& text, double seconds = 30) const;
  // Waits for its end; kills it after `seconds`, which `timed_out` then says.
  Outcome wait(double seconds = 60);

 private:
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1, err_ = -1;
};

// Runs a program to its end.
Outcome run(const Command& command, double seconds = 60);

// The value of an environment variable that the build sets for tests, such as the path of a tool. The test
// fails clearly where it is missing.
std::string required(const char* variable);

std::vector<std::string> lines(const std::string& text);

// A tool's help: it fits a screen, says nothing on stderr, and shows so many examples of the tool.
void expect_help(const Outcome& help, const std::string& tool, int examples = 3);

}  // namespace plait::test
