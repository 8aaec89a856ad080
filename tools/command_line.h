// What the command lines of all tools have in common: help, version, mistakes, and options that are known
// only to say why they are refused.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

namespace plait::tools {

// A command line that makes no sense; what() says why.
class Mistake : public std::runtime_error {
  using runtime_error::runtime_error;
};

struct About {
  std::string name;  // "plait-run"
  std::string help;  // by hand: CLI11's own is wider than a terminal and has no examples
  int mistake = 2;   // the exit status after one
  const char* version = "--version";
};

// Parses what `app` knows, --help and --version as well, and calls `settle`, which throws Mistake. The exit
// status where there is nothing to run: 0 after help and version; after a mistake that of `about`, and stderr
// says what it was.
std::optional<int> parse(CLI::App& app, int argc, const char* const* argv, const About& about,
                         const std::function<void()>& settle);

// An option of another tool's, for whose users there is a reason instead of "not expected".
struct Refused {
  const char* names;  // as CLI11 has them: "-O,--dualport"
  bool takes_value;
  const char* why;
};
void add_refused(CLI::App& app, std::span<const Refused> refused);
// Throws Mistake for the first that was given. `tool`: whose it is.
void check_refused(const CLI::App& app, std::span<const Refused> refused, const std::string& tool);

}  // namespace plait::tools
