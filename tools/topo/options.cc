#include "tools/topo/options.h"

#include <algorithm>
#include <string_view>

#include "tools/command_line.h"

namespace plait::topo {
namespace {

constexpr const char* kHelp =
    R"(plait-topo: the map of a machine or a room of machines, and answers about it.

Usage: plait-topo [COMMAND] [FILE] [OPTIONS]

  show      what is there, as a tree (default)
  levels    which chips (or cores) are near each other, innermost first
  nics      the nearest NIC of each chip
  rings     rings through all chips that share no link
  trees     two trees over all chips that share as few links as can be
  dims      the dimensions of a multi-dimensional allreduce
  place     free chips for a job that are next to each other; JSON

FILE is a room (docs/topology.md), hwloc's XML (lstopo --of xml), or NCCL's
(NCCL_TOPO_DUMP_FILE); or a pod that runs, as icl:emu:/dev/shm/pod. Without
one: this machine.

  -r, --room TEXT   a room's text instead of FILE; ';' parts its lines
  -n, --chips N     place: how many
  -s, --shape S     place: ring (default), line, mesh AxB, connected
  --json            show: JSON; place: on one line, as without --text
  --text            place: for people
  --svg F, --dot F  show, rings, place: a picture; - is stdout
  -h, --help        this text; --version: the version
Status 1: not readable or not understood; 2: there is no such place.

Examples:
  plait-topo rings -r 'torus 4x4' --svg rings.svg
  plait-topo nics dgx.xml
  plait-topo place --chips 8 --shape ring room.txt
)";

constexpr std::string_view kCommands[] = {"show", "levels", "nics", "rings", "trees", "dims", "place"};
bool is_command(std::string_view word) {
  return std::find(std::begin(kCommands), std::end(kCommands), word) != std::end(kCommands);
}

// What CLI11 cannot say, or an empty string.
std::string check(const Options& o, bool shape_given) {
  if (!o.file.empty() && !o.room.empty()) return "a FILE and --room: give one";
  const bool draws = o.command == "show" || o.command == "rings" || o.command == "place";
  if (!draws && !(o.svg.empty() && o.dot.empty())) return "--svg and --dot are for show, rings and place";
  if (o.command != "show" && !o.dot.empty()) return "--dot is for show";
  if (o.command != "place" && (o.chips > 0 || shape_given)) return "--chips and --shape are for place";
  const bool sized = o.shape.find('x') != std::string::npos;
  if (o.command == "place" && o.chips == 0 && !sized) return "place needs --chips N";
  return {};
}

}  // namespace

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  Options& o = parsed.options;
  bool text = false;
  std::vector<std::string> words;
  CLI::App app;
  app.add_option("words", words);
  app.add_option("-r,--room", o.room);
  app.add_option("-n,--chips", o.chips)->check(CLI::Range(1, 16384));
  auto* shape = app.add_option("-s,--shape", o.shape);
  app.add_flag("--json", o.json);
  app.add_flag("--text", text);
  app.add_option("--svg", o.svg);
  app.add_option("--dot", o.dot);
  const auto settle = [&] {
    if (!words.empty() && is_command(words.front())) {
      o.command = words.front();
      words.erase(words.begin());
    }
    if (!words.empty()) {
      o.file = words.front();
      words.erase(words.begin());
    }
    if (!words.empty()) throw tools::Mistake("'" + words.front() + "' is a word too many");
    if (const std::string wrong = check(o, shape->count() > 0); !wrong.empty()) throw tools::Mistake(wrong);
    if (o.command == "place") o.json = !text;
    std::replace(o.room.begin(), o.room.end(), ';', '\n');
  };
  parsed.exit_status = tools::parse(app, argc, argv, {"plait-topo", kHelp, 1}, settle);
  return parsed;
}

}  // namespace plait::topo
