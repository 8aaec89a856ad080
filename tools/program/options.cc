#include "tools/program/options.h"

#include <algorithm>

#include "tools/command_line.h"

namespace plait::program {
namespace {

constexpr int kMostRanks = 1024;

constexpr const char* kHelp =
    R"(plait-program: shows, proves, draws and converts the programs of collectives.

Usage: plait-program COMMAND [SOURCE] [OPTIONS]

  list [COLLECTIVE]     the algorithms that plait has
  show SOURCE           the steps of each rank, and what each waits for
  prove SOURCE          proves it, in place and out of place
  draw SOURCE -o FILE   a picture, SVG: a row for each rank, a column a round
  trace SOURCE -o FILE  a trace for ui.perfetto.dev: a track for each lane
  export SOURCE -o FILE the programs of all ranks, JSON
  convert FILE -o FILE  JSON of what another file has, MSCCL XML or JSON

SOURCE is a FILE (JSON or MSCCL XML; docs/exchange.md), or an ALGORITHM and a
COLLECTIVE; for prove, an ALGORITHM alone is all collectives that it can do.

  -n, --ranks N    of an ALGORITHM, 1 to 1024 (default 4)
  --root R         where the collective has one (default 0)
  --rank R         show: this rank only
  --in-place       show, draw, trace: the programs for calls in place
  --encoded        show, prove, draw, trace: an ALGORITHM with its messages
                   encoded by a codec that loses something
  --name NAME      export, convert: what the algorithm is called in the file
  -o, --output F   where to write; - is stdout
  -h, --help       this text
  --version        the version
Status 1: not proved, not readable, or not understood.

Examples:
  plait-program show ring allreduce -n 3 --rank 0
  plait-program draw direct allreduce -n 8 -o direct.svg
  plait-program convert allreduce.xml -o allreduce.json
)";

// A command: how many words it takes, and whether it writes a file.
struct Command {
  const char* name;
  size_t least, most;
  bool writes;
};
constexpr Command kCommands[] = {
    {"list", 0, 1, false}, {"show", 1, 2, false},  {"prove", 1, 2, false},  {"draw", 1, 2, true},
    {"trace", 1, 2, true}, {"export", 1, 2, true}, {"convert", 1, 1, true},
};

// What CLI11 cannot say about `o`, or an empty string.
std::string check(const Options& o) {
  if (o.command.empty())
    return "no command given; there are list, show, prove, draw, trace, export and convert";
  const auto* command = std::find_if(std::begin(kCommands), std::end(kCommands),
                                     [&](const Command& c) { return o.command == c.name; });
  if (command == std::end(kCommands))
    return "there is no command '" + o.command +
           "'; there are list, show, prove, draw, trace, export and convert";
  if (o.words.size() < command->least)
    return o.command + " needs a file, or an algorithm and a collective: plait-program " + o.command +
           " ring allreduce";
  if (o.words.size() > command->most)
    return o.command + ": '" + o.words[command->most] + "' is a word too many";
  if (command->writes && o.output.empty()) return o.command + " needs -o FILE, or -o - for stdout";
  if (!command->writes && !o.output.empty()) return o.command + " writes no file: leave out -o";
  if (o.rank && o.command != "show") return "--rank is for show";
  if (o.encoded && (o.command == "list" || o.command == "export" || o.command == "convert"))
    return "--encoded is for show, prove, draw and trace: files have no codecs";
  if (!o.name.empty() && o.command != "export" && o.command != "convert")
    return "--name is for export and convert";
  return {};
}

}  // namespace

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  Options& o = parsed.options;
  std::vector<std::string> words;
  CLI::App app;
  app.add_option("words", words);
  app.add_option("-n,--ranks", o.ranks)->check(CLI::Range(1, kMostRanks));
  app.add_option("--root", o.root)->check(CLI::Range(0, kMostRanks - 1));
  app.add_option("--rank", o.rank)->check(CLI::Range(0, 1 << 20));
  app.add_flag("--in-place", o.in_place);
  app.add_flag("--encoded", o.encoded);
  app.add_option("--name", o.name);
  app.add_option("-o,--output", o.output);
  parsed.exit_status = tools::parse(app, argc, argv, {"plait-program", kHelp, 1}, [&] {
    if (!words.empty()) {
      o.command = words.front();
      o.words.assign(words.begin() + 1, words.end());
    }
    if (const std::string wrong = check(o); !wrong.empty()) throw tools::Mistake(wrong);
  });
  return parsed;
}

}  // namespace plait::program
