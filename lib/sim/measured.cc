#include "sim/measured.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

#include "sim/room_network.h"
#include "sim/words.h"

namespace plait::sim {

namespace {

using collectives::Collective;
using nlohmann::json;

constexpr size_t kMostRows = 100'000;
constexpr uint64_t kMostBytes = uint64_t{1} << 48;

bool whole(const json& row, const char* name, uint64_t most, uint64_t& value) {
  const auto it = row.find(name);
  if (it == row.end() || !it->is_number_unsigned() || it->get<uint64_t>() > most) return false;
  value = it->get<uint64_t>();
  return true;
}

std::string text(const json& row, const char* name) {
  const auto it = row.find(name);
  return it != row.end() && it->is_string() ? it->get<std::string>() : std::string();
}

// Why it is refused; empty: it was understood.
std::string read_row(const json& row, Measured& m) {
  if (!row.is_object()) return "no object, as plait-perf --json writes";
  const std::string name = text(row, "collective");
  uint32_t c = 0;
  while (c < collectives::kCollectives && name_of(Collective(c)) != name) c++;
  if (c == collectives::kCollectives)
    return fmt::format("there is nothing to simulate of collective '{}'", shown(name));
  m.collective = Collective(c);
  uint64_t ranks = 0, root = 0;
  if (!whole(row, "ranks", kMostPlaces, ranks) || ranks == 0) return "\"ranks\" is no number of ranks";
  m.ranks = int32_t(ranks);
  if (rooted(m.collective) && (!whole(row, "root", ranks - 1, root))) return "\"root\" is none of the ranks";
  m.root = int32_t(root);
  if (!whole(row, "bytes", kMostBytes, m.bytes)) return "\"bytes\" is no number of bytes";
  m.way = text(row, "algorithm");
  if (m.way.empty()) return "\"algorithm\" is missing";
  const auto place = row.find("in_place");
  m.in_place = place != row.end() && place->is_boolean() && place->get<bool>();
  const auto time = row.find("time_us_median");
  if (time == row.end() || !time->is_number()) return "\"time_us_median\" is missing";
  m.seconds = time->get<double>() * 1e-6;
  if (!std::isfinite(m.seconds) || m.seconds <= 0) return "\"time_us_median\" is no time";
  return {};
}

auto call(const Measured& m) { return std::tie(m.collective, m.way, m.ranks, m.root, m.bytes); }
auto order(const Measured& m) { return std::tuple_cat(call(m), std::tuple(!m.in_place, m.seconds)); }

}  // namespace

bool Measured::is_like(const Measured& o) const noexcept {
  return std::tie(collective, way, ranks, root) == std::tie(o.collective, o.way, o.ranks, o.root);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<Measured> merged(std::vector<Measured> rows) {
  std::sort(rows.begin(), rows.end(),
            [](const Measured& a, const Measured& b) { return order(a) < order(b); });
  std::vector<Measured> all;
  for (size_t i = 0; i < rows.size();) {
    std::vector<double> times;
    size_t end = i;
    for (; end < rows.size() && call(rows[end]) == call(rows[i]); end++)
      if (rows[end].in_place == rows[i].in_place) times.push_back(rows[end].seconds);
    all.push_back(rows[i]);
    all.back().seconds = median(std::move(times));
    i = end;
  }
  return all;
}

Result<std::vector<Measured>> read_measured(std::string_view text, const std::string& file) {
  const json rows = json::parse(text, nullptr, false);
  if (!rows.is_array() || rows.empty() || rows.size() > kMostRows)
    return Status(
        Code::invalid,
        fmt::format("{}: no JSON array of 1 to {} rows, as `plait-perf --json` writes", file, kMostRows));
  std::vector<Measured> all(rows.size());
  for (size_t i = 0; i < rows.size(); i++) {
    if (const std::string why = read_row(rows[i], all[i]); !why.empty())
      return Status(Code::invalid, fmt::format("{}: row {}: {}", file, i + 1, why));
  }
  return all;
}

}  // namespace plait::sim
