#include "tools/sim/options.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "collectives/collective.h"
#include "sim/words.h"
#include "tools/command_line.h"
#include "tools/sim/help.h"

namespace plait::simtool {
namespace {

struct Raw {
  std::string collective, room, chips, size = "1M", parameters, segment;
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

// A room's lines in one.
std::string in_a_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ';')) text.pop_back();
  std::string line;
  for (const char c : text) {
    if (c == '\n')
      line += "; ";
    else if (c != ' ' || !line.ends_with(' '))
      line += c;
  }
  return sim::shown(line);
}

Status read_room(const Raw& raw, Options& o, sim::Plan& plan) {
  if (raw.room.empty()) return {Code::invalid, "which room? --room 'mesh 4x4'"};
  std::string text = raw.room, file = "--room";
  std::error_code error;
  if (std::filesystem::is_regular_file(raw.room, error)) {
    auto read = read_text(raw.room);
    if (!read.ok()) return read.status();
    text = *read, file = raw.room;
  } else {
    std::replace(text.begin(), text.end(), ';', '\n');
  }
  auto room = sim::read_plan(text, file);
  if (!room.ok() && file == "--room" && raw.room.find_first_of(" ;\n") == raw.room.npos)
    return {Code::invalid,
            "--room " + sim::shown(raw.room) +
                ": there is no such file, and it describes no room: " + std::string(room.status().text())};
  if (!room.ok()) return room.status();
  o.room_text = in_a_line(std::move(text));
  plan = std::move(*room);
  return {};
}

// The text itself, a file of it, or what comes from another program.
Result<std::string> read_words(const std::string& given) {
  if (given == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::error_code error;
  if (std::filesystem::is_regular_file(given, error)) return read_text(given);
  return given;
}

Status seat_ranks(const Raw& raw, const sim::Plan& plan, Options& o) {
  std::vector<uint32_t> seats = sim::free_places(plan);
  if (!raw.chips.empty()) {
    auto words = read_words(raw.chips);
    if (!words.ok()) return words.status();
    auto chips = sim::read_seats(*words);
    if (!chips.ok()) return chips.status();
    seats = std::move(*chips);
  }
  const int most = int(seats.size());
  o.question.ranks = raw.ranks.value_or(most);
  if (o.question.ranks < 1 || o.question.ranks > most)
    return {Code::invalid,
            "-n " + std::to_string(o.question.ranks) + ": there are " + std::to_string(most) + " places"};
  seats.resize(size_t(o.question.ranks));
  auto places = sim::take_places(plan, std::move(seats));
  if (!places.ok()) return places.status();
  o.places = std::move(*places);
  o.question.levels = o.places.levels;
  o.question.order = o.places.order;
  const bool asked = std::find(o.ways.begin(), o.ways.end(), sim::kRingOfLinks) != o.ways.end();
  if (!o.all && !asked) return {};
  auto ring = sim::ring_of_links(plan, o.places.seats);
  if (ring.ok())
    o.question.ring = std::move(*ring);
  else
    o.question.no_ring = ring.status().text();
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

// Of measured times: a room and parameters, and nothing that a call has.
Status interpret_measured(const Raw& raw, Options& o) {
  if (!o.calibrate.empty() && !o.compare.empty())
    return {Code::invalid, "--calibrate or --compare, not both"};
  if (!raw.collective.empty())
    return {Code::invalid, "--calibrate and --compare are of the calls that were measured, not of one " +
                               sim::shown(raw.collective)};
  if (!o.write.empty() && o.calibrate.empty()) return {Code::invalid, "--write goes with --calibrate"};
  PLAIT_TRY(read_room(raw, o, o.plan));
  return read_parameters(raw, o);
}

Status interpret(const Raw& raw, Options& o) {
  if (!o.calibrate.empty() || !o.compare.empty()) return interpret_measured(raw, o);
  if (!o.write.empty()) return {Code::invalid, "--write goes with --calibrate"};
  PLAIT_TRY(find_collective(raw.collective, o.question.collective));
  sim::Plan plan;
  PLAIT_TRY(read_room(raw, o, plan));
  PLAIT_TRY(seat_ranks(raw, plan, o));
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
  for (const std::string& text : o.what_if_texts) PLAIT_TRY(sim::read_what_if(text, o.places, o.what_if));
  return {};
}

}  // namespace

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  Options& o = parsed.options;
  Raw raw;
  CLI::App app;
  app.add_option("collective", raw.collective);
  app.add_option("--room", raw.room);
  app.add_option("--size", raw.size);
  app.add_option("-A,--algorithm", o.ways)->expected(1)->take_all();
  app.add_flag("--all", o.all);
  app.add_option("--patience", raw.patience)->check(CLI::Range(0.0, 1e6));
  app.add_option("-n,--ranks", raw.ranks);
  app.add_option("--chips", raw.chips);
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
  app.add_option("--calibrate", o.calibrate);
  app.add_option("--compare", o.compare);
  app.add_option("--write", o.write);
  parsed.exit_status = tools::parse(app, argc, argv, {"plait-sim", kHelp, 1}, [&] {
    if (const Status status = interpret(raw, o); !status.ok())
      throw tools::Mistake(std::string(status.text()));
  });
  return parsed;
}

}  // namespace plait::simtool
