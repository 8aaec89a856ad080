#include "tools/sim/options.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "collectives/collective.h"
#include "plait/plait.h"
#include "sim/words.h"

namespace plait::simtool {
namespace {

// Written by hand: CLI11's own is wider than a terminal and has no examples.
constexpr const char* kHelp =
    R"(plait-sim: how long a collective takes in a room that nobody has built.

Usage: plait-sim COLLECTIVE --room ROOM --size BYTES (-A WAY... | --all)

  --room ROOM        in words, or a file of them: 'ring 8', 'torus 8x8x4',
                     'mesh 32x32 400Gb/s 1us', 'hybrid cube mesh', 'ideal 8',
                     '2 leaves x 4 hosts x 8 chips x 4 nics oversubscribed 2'
  --size BYTES       of the vector: 64K, 256M, 1G (default 1M)
  -A, --algorithm W  ring, swing, ...; over levels ring/direct, inner first
  --all              every algorithm and hierarchy that fits, in a table
  --patience S       give up a way after S seconds (with --all 10; 0: never)
  -n, --ranks N      on the first N places (default: all)
  --root R           where the collective has one (default 0)
  --what-if WORDS    'cut link 3-4', 'cut link 3-4 at 2ms', 'slow host 2 by 3',
                     'slow link 3-4 to 25%', 'kill rank 5 at 1ms'; repeatable
  --parameters FILE  of endpoints, JSON (docs/sim.md); --seed N, --jitter F,
                     --credits N and --segment BYTES change one of them
  --json F, --trace F, --svg F   the result; for ui.perfetto.dev; a picture
  -h, --help, --version

Examples:
  plait-sim allreduce --room 'mesh 32x32' --size 256M -A ring
  plait-sim allreduce --room '4 hosts x 8 chips' --size 64M --all
  plait-sim allreduce --room 'ring 8' -A ring --what-if 'kill rank 3 at 10us'
)";

int complain(const std::string& what) {
  std::fprintf(stderr, "plait-sim: %s\nTry: plait-sim --help\n", what.c_str());
  return 1;
}

struct Raw {
  std::string collective, room, size = "1M", parameters, segment;
  std::optional<int> ranks;
  std::optional<uint64_t> seed;
  std::optional<double> jitter, patience;
  std::optional<uint32_t> credits;
};

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(1 << 16, '\0');
  file.read(text.data(), std::streamsize(text.size()));
  if (!file.is_open() || file.bad()) return Status(Code::invalid, path + " cannot be read");
  if (file.gcount() == std::streamsize(text.size()))
    return Status(Code::invalid, path + " is too long for what it should be");
  text.resize(size_t(file.gcount()));
  return text;
}

Status find_collective(const std::string& name, collectives::Collective& collective) {
  std::string names;
  for (uint32_t c = 0; c < collectives::kCollectives; c++) {
    const auto each = collectives::Collective(c);
    if (name_of(each) == name) return collective = each, Status();
    names += (c == 0 ? "" : ", ") + std::string(name_of(each));
  }
  return {Code::invalid, name.empty() ? "which collective? One of " + names
                                      : "there is no collective '" + name + "'; there are " + names};
}

Status read_room(const Raw& raw, Options& o) {
  if (raw.room.empty()) return {Code::invalid, "which room? --room 'mesh 4x4'"};
  o.room_text = raw.room;
  std::error_code error;
  if (std::filesystem::is_regular_file(raw.room, error)) {
    auto text = read_text(raw.room);
    if (!text.ok()) return text.status();
    o.room_text = *text;
    while (!o.room_text.empty() && o.room_text.back() == '\n') o.room_text.pop_back();
  }
  auto room = sim::read_room(o.room_text);
  if (!room.ok()) return room.status();
  o.room_text = sim::shown(o.room_text);
  o.room = std::move(*room);
  return {};
}

Status read_parameters(const Raw& raw, Options& o) {
  o.parameters = sim::default_parameters();
  if (!raw.parameters.empty()) {
    auto text = read_text(raw.parameters);
    if (!text.ok()) return text.status();
    PLAIT_TRY(sim::read_parameters(*text, raw.parameters, o.parameters));
  }
  o.parameters.seed = raw.seed.value_or(o.parameters.seed);
  o.parameters.jitter = raw.jitter.value_or(o.parameters.jitter);
  o.parameters.credits = raw.credits.value_or(o.parameters.credits);
  if (!raw.segment.empty()) {
    auto segment = sim::read_size(raw.segment);
    if (!segment.ok()) return segment.status();
    o.parameters.segment = *segment;
  }
  return sim::check(o.parameters);
}

Status interpret(const Raw& raw, Options& o) {
  PLAIT_TRY(find_collective(raw.collective, o.question.collective));
  PLAIT_TRY(read_room(raw, o));
  const int places = o.room.network->terminals();
  o.question.ranks = raw.ranks.value_or(places);
  if (o.question.ranks < 1 || o.question.ranks > places)
    return {Code::invalid, "-n " + std::to_string(o.question.ranks) + ": the room has " +
                               std::to_string(places) + " places"};
  o.question.levels = o.room.levels;
  if (o.question.ranks != places) o.question.levels = {o.question.ranks};
  if (o.question.root < 0 || o.question.root >= o.question.ranks)
    return {Code::invalid, "--root: there is no such rank"};
  auto bytes = sim::read_size(raw.size);
  if (!bytes.ok()) return bytes.status();
  o.bytes = o.question.collective == collectives::Collective::barrier ? 0 : *bytes;
  PLAIT_TRY(read_parameters(raw, o));
  o.patience = raw.patience.value_or(o.all ? 10 : 0);
  if (o.all == !o.ways.empty()) return {Code::invalid, "say -A WAY, such as -A ring, or --all"};
  if (o.all && !(o.trace + o.svg + o.json).empty())
    return {Code::invalid, "--trace, --svg and --json are of one way: -A"};
  if (o.ways.size() > 1 && !(o.trace + o.svg + o.json).empty())
    return {Code::invalid, "--trace, --svg and --json are of one way: one -A"};
  for (const std::string& text : o.what_if_texts)
    PLAIT_TRY(sim::read_what_if(text, o.room, o.question.ranks, o.what_if));
  return {};
}

}  // namespace

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  Options& o = parsed.options;
  Raw raw;
  bool help = false, version = false;

  CLI::App app;
  app.set_help_flag();
  app.add_flag("-h,--help", help);
  app.add_flag("--version", version);
  app.add_option("collective", raw.collective);
  app.add_option("--room", raw.room);
  app.add_option("--size", raw.size);
  app.add_option("-A,--algorithm", o.ways)->expected(1)->take_all();
  app.add_flag("--all", o.all);
  app.add_option("--patience", raw.patience)->check(CLI::Range(0.0, 1e6));
  app.add_option("-n,--ranks", raw.ranks);
  app.add_option("--root", o.question.root);
  app.add_option("--what-if", o.what_if_texts)->expected(1)->take_all();
  app.add_option("--parameters", raw.parameters);
  app.add_option("--seed", raw.seed);
  app.add_option("--jitter", raw.jitter);
  app.add_option("--credits", raw.credits);
  app.add_option("--segment", raw.segment);
  app.add_option("--json", o.json);
  app.add_option("--trace", o.trace);
  app.add_option("--svg", o.svg);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    parsed.exit_status = complain(e.what());
    return parsed;
  }
  if (help || version) {
    if (help) std::fputs(kHelp, stdout);
    if (version)
      std::printf("plait-sim %d.%d.%d\n", PLAIT_VERSION_MAJOR, PLAIT_VERSION_MINOR, PLAIT_VERSION_PATCH);
    parsed.exit_status = 0;
    return parsed;
  }
  if (Status status = interpret(raw, o); !status.ok())
    parsed.exit_status = complain(std::string(status.text()));
  return parsed;
}

}  // namespace plait::simtool
