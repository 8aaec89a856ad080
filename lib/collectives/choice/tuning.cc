#include "collectives/choice/tuning.h"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "collectives/choice/json_tree.h"

namespace plait::collectives {

namespace {

using Kind = JsonNode::Kind;

constexpr double kMicrosecond = 1e-6;
constexpr int kVersion = 1;
constexpr double kMostExact = 9007199254740992.0;  // 2^53: beyond, a double leaves whole numbers out

// Takes a tree apart. The first thing that is wrong is remembered; what is read after it does not count.
class Checker {
 public:
  Result<Tuning> run(const JsonNode& root) {
    Tuning tuning;
    object(root, "a tuning", {"plait_tuning", "machine", "cases"});
    whole(root, "plait_tuning", kVersion, kVersion);
    if (const JsonNode* machine = need(root, "machine", Kind::object))
      tuning.machine = read_machine(*machine);
    if (const JsonNode* cases = need(root, "cases", Kind::array)) {
      most(*cases, kMostTuningCases, "cases");
      for (size_t i = 0; i < cases->items.size() && ok(); i++) read_case(cases->items[i], tuning);
    }
    if (!ok()) return status_;
    return tuning;
  }

 private:
  bool ok() const { return status_.ok(); }
  void wrong(const JsonNode& at, const std::string& reason) {
    if (ok()) status_ = Status(Code::invalid, fmt::format("line {}: {}", at.line, reason));
  }
  static std::string quoted(std::string name) {
    make_printable(name);
    if (name.size() > kMostTuningName) name = name.substr(0, kMostTuningName) + "...";
    return "\"" + name + "\"";
  }

  void object(const JsonNode& node, const char* what, std::initializer_list<std::string_view> known) {
    if (node.kind != Kind::object)
      return wrong(node, fmt::format("{} is {}, not an object", what, describe(node.kind)));
    for (size_t i = 0; i < node.names.size(); i++) {
      if (std::find(known.begin(), known.end(), node.names[i]) == known.end())
        wrong(node.items[i], fmt::format("{} has no {}", what, quoted(node.names[i])));
    }
  }
  void most(const JsonNode& node, size_t limit, const char* what) {
    if (node.items.size() > limit)
      wrong(node, fmt::format("{} {}; {} at most", node.items.size(), what, limit));
  }
  // Null, and wrong, where it is not there or something else.
  const JsonNode* need(const JsonNode& from, const char* name, Kind kind) {
    if (!ok()) return nullptr;
    const JsonNode* item = from.find(name);
    if (item == nullptr) return wrong(from, fmt::format("\"{}\" is missing", name)), nullptr;
    if (item->kind == kind) return item;
    return wrong(*item, fmt::format("\"{}\" is {}, not {}", name, describe(item->kind), describe(kind))),
           nullptr;
  }
  uint64_t whole(const JsonNode& from, const char* name, double least, double limit) {
    const JsonNode* item = need(from, name, Kind::number);
    if (item == nullptr) return 0;
    if (item->number >= least && item->number <= limit && item->number == std::floor(item->number))
      return uint64_t(item->number);
    wrong(*item,
          fmt::format("\"{}\" is a whole number from {} to {}, not {}", name, least, limit, item->number));
    return 0;
  }
  std::string text(const JsonNode& from, const char* name) {
    const JsonNode* item = need(from, name, Kind::text);
    if (item == nullptr) return {};
    if (item->text.size() > kMostTuningText) wrong(*item, fmt::format("\"{}\" is too long", name));
    return item->text;
  }

  TuningMachine read_machine(const JsonNode& node) {
    object(node, "a machine", {"cpu", "date", "cores", "hosts"});
    TuningMachine machine{.cpu = text(node, "cpu"), .date = text(node, "date")};
    make_printable(machine.cpu);
    make_printable(machine.date);
    machine.cores = uint32_t(whole(node, "cores", 1, 1 << 20));
    machine.hosts = uint32_t(whole(node, "hosts", 1, kMostTuningRanks));
    return machine;
  }

  void read_case(const JsonNode& node, Tuning& tuning) {
    object(node, "a case", {"collective", "ranks", "hosts", "in_place", "times"});
    TuningCase what;
    what.collective = collective(node);
    what.ranks = int32_t(whole(node, "ranks", 1, kMostTuningRanks));
    what.hosts = int32_t(whole(node, "hosts", 1, what.ranks));
    if (const JsonNode* in_place = need(node, "in_place", Kind::boolean)) what.in_place = in_place->boolean;
    const JsonNode* times = need(node, "times", Kind::array);
    if (times == nullptr) return;
    most(*times, kMostTuningRows, "sizes");
    std::vector<TuningRow> rows;
    for (const JsonNode& row : times->items) {
      if (!ok()) return;
      rows.push_back(read_row(row));
      if (rows.size() > 1 && rows.back().bytes <= rows[rows.size() - 2].bytes)
        wrong(row, "sizes do not ascend");
    }
    if (rows.empty()) wrong(*times, "a case without times");
    if (ok() && !tuning.cases.emplace(what, std::move(rows)).second) wrong(node, "the case comes twice");
  }

  Collective collective(const JsonNode& node) {
    const JsonNode* name = need(node, "collective", Kind::text);
    if (name == nullptr) return Collective::barrier;
    for (uint32_t c = 0; c < kCollectives; c++)
      if (name_of(Collective(c)) == name->text) return Collective(c);
    wrong(*name, "no collective " + quoted(name->text));
    return Collective::barrier;
  }

  TuningRow read_row(const JsonNode& node) {
    object(node, "a size", {"bytes", "us"});
    TuningRow row{.bytes = whole(node, "bytes", 0, kMostExact)};
    const JsonNode* times = need(node, "us", Kind::object);
    if (times == nullptr) return row;
    most(*times, kMostTuningNames, "algorithms");
    if (times->items.empty()) wrong(*times, "a size without times");
    for (size_t i = 0; i < times->items.size() && ok(); i++) {
      const JsonNode& time = times->items[i];
      const std::string& name = times->names[i];
      if (name.empty() || name.size() > kMostTuningName)
        wrong(time, "no algorithm has the name " + quoted(name));
      if (time.kind != Kind::number || !(time.number >= 1e-6) || time.number > 1e12)
        wrong(time, "the time of " + quoted(name) + " is no number of microseconds from 1e-6 to 1e12");
      row.seconds[name] = time.number * kMicrosecond;
    }
    return row;
  }

  Status status_;
};

Result<std::string> contents(const std::string& path) {
  auto refused = [&](int error) { return Status::system(error, "tuning file " + path); };
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return refused(errno);
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return refused(errno);
  if (!S_ISREG(about.st_mode)) return Status(Code::invalid, "tuning file " + path + ": not a regular file");
  std::string text(kMostTuningBytes + 1, '\0');
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refused(errno);
    if (got == 0) break;
    have += size_t(got);
  }
  text.resize(have);
  return text;
}

}  // namespace

std::optional<double> Tuning::seconds(const TuningCase& what, std::string_view algorithm,
                                      uint64_t bytes) const {
  auto found = cases.find(what);
  if (found == cases.end()) return {};
  const std::vector<TuningRow>& rows = found->second;
  auto above = std::lower_bound(rows.begin(), rows.end(), bytes,
                                [](const TuningRow& row, uint64_t size) { return row.bytes < size; });
  const TuningRow& high = above == rows.end() ? rows.back() : *above;
  const TuningRow& low = above == rows.begin() || high.bytes == bytes ? high : *(above - 1);
  auto a = low.seconds.find(algorithm), b = high.seconds.find(algorithm);
  if (a == low.seconds.end() || b == high.seconds.end()) return {};
  if (above == rows.end()) return b->second * (double(bytes) / std::max(1.0, double(high.bytes)));
  if (low.bytes == high.bytes) return a->second;
  const double share = double(bytes - low.bytes) / double(high.bytes - low.bytes);
  return a->second + share * (b->second - a->second);
}

Result<Tuning> parse_tuning(std::string_view text) {
  auto refused = [](const Status& why) {
    return Status(Code::invalid, fmt::format("tuning: {}", why.text()));
  };
  if (text.size() > kMostTuningBytes)
    return refused({Code::invalid, fmt::format("more than {} bytes", kMostTuningBytes)});
  auto tree = parse_json(text);
  if (!tree.ok()) return refused(tree.status());
  auto tuning = Checker().run(*tree);
  return tuning.ok() ? std::move(tuning) : refused(tuning.status());
}

Result<Tuning> read_tuning(const std::string& path) {
  auto text = contents(path);
  if (!text.ok()) return text.status();
  auto tuning = parse_tuning(*text);
  if (!tuning.ok()) return Status(Code::invalid, fmt::format("{}: {}", path, tuning.status().text()));
  return tuning;
}

std::string write_tuning(const Tuning& tuning) {
  using Json = nlohmann::ordered_json;
  Json cases = Json::array();
  for (const auto& [what, rows] : tuning.cases) {
    Json times = Json::array();
    for (const TuningRow& row : rows) {
      Json us = Json::object();
      for (const auto& [name, seconds] : row.seconds) us[name] = seconds / kMicrosecond;
      times.push_back({{"bytes", row.bytes}, {"us", std::move(us)}});
    }
    cases.push_back({{"collective", name_of(what.collective)},
                     {"ranks", what.ranks},
                     {"hosts", what.hosts},
                     {"in_place", what.in_place},
                     {"times", std::move(times)}});
  }
  const TuningMachine& m = tuning.machine;
  const Json all = {{"plait_tuning", kVersion},
                    {"machine", {{"cpu", m.cpu}, {"date", m.date}, {"cores", m.cores}, {"hosts", m.hosts}}},
                    {"cases", std::move(cases)}};
  return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plait::collectives
