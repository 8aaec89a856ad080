#include "sim/report.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iterator>

namespace plait::sim {

std::string percent_text(double share) {
  return fmt::format("{:.{}f} %", 100 * share, share < 0.0995 ? 1 : 0);
}

double per_time(const Report& r, double seconds) {
  return r.outcome.seconds > 0 ? seconds / r.outcome.seconds : 0;
}

const PartWords& words_of(Path::Part part) {
  static constexpr PartWords kParts[] = {
      {"compute", "folding and copying"},
      {"overhead", "the cores' part of messages"},
      {"wire", "bytes moving as fast as a message alone would"},
      {"sharing", "bytes moving slower, as messages share links"},
      {"latency", "latency"},
      {"queue", "waiting for a core, a port, an engine or a credit"},
  };
  return kParts[part];
}

std::string time_text(double s) {
  if (s >= 1) return fmt::format("{:.4g} s", s);
  if (s >= 1e-3) return fmt::format("{:.4g} ms", s * 1e3);
  return s >= 1e-6 || s == 0 ? fmt::format("{:.4g} us", s * 1e6) : fmt::format("{:.4g} ns", s * 1e9);
}

std::string rate_text(double bytes) {
  if (bytes >= 1e12) return fmt::format("{:.4g} TB/s", bytes / 1e12);
  if (bytes >= 1e9) return fmt::format("{:.4g} GB/s", bytes / 1e9);
  return fmt::format("{:.4g} MB/s", bytes / 1e6);
}

std::string size_text(uint64_t bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); unit++) value /= 1024;
  return fmt::format("{:.4g} {}", value, units[unit]);
}

double algorithm_bandwidth(const Report& r) {
  return r.outcome.seconds > 0 ? double(r.bytes) / r.outcome.seconds : 0;
}
double bus_bandwidth(const Report& r) {
  return algorithm_bandwidth(r) * bus_factor(r.question.collective, r.question.ranks);
}

std::vector<Busiest> links_by_use(const Report& r) {
  std::vector<Busiest> links;
  for (uint32_t i = 0; i < r.outcome.links.size(); i++) {
    const auto& use = r.outcome.links[i];
    const double could = r.network->link(i).capacity * r.outcome.seconds;
    if (use.bytes > 0 || use.busy > 0)
      links.push_back({i, could > 0 ? use.bytes / could : 0, per_time(r, use.busy)});
  }
  std::stable_sort(links.begin(), links.end(),
                   [](const Busiest& a, const Busiest& b) { return a.share > b.share; });
  return links;
}

Busiest busiest_link(const Report& r) {
  const auto links = links_by_use(r);
  return links.empty() ? Busiest{} : links.front();
}

void find_crossing(Report& r, const Scripts& scripts) {
  constexpr size_t kShown = 4;
  const Busiest busiest = busiest_link(r);
  if (busiest.link == kNone) return;
  std::vector<uint32_t> way;
  for (uint32_t rank = 0; rank < scripts.ranks(); rank++) {
    const Cast& cast = scripts.cast(rank);
    for (uint32_t i = cast.sends_at; i < cast.streams.size(); i++) {
      const int32_t peer = cast.streams[i].peer;
      if (i > cast.sends_at && cast.streams[i - 1].peer == peer) continue;
      way.clear();
      r.network->route(int32_t(rank), peer, way);
      if (std::find(way.begin(), way.end(), busiest.link) == way.end()) continue;
      r.crossings++;
      if (r.crossing.size() < kShown) r.crossing.push_back({int32_t(rank), peer});
    }
  }
}

namespace {

// "; 3 pairs of ranks send over it: 0 to 1, 0 to 2, 3 to 1".
std::string crossing_text(const Report& r) {
  if (r.crossings == 0) return {};
  std::string text =
      r.crossings == 1 ? "; over it sends" : fmt::format("; {} pairs of ranks send over it:", r.crossings);
  for (size_t i = 0; i < r.crossing.size(); i++)
    text += fmt::format("{} {} to {}", i == 0 ? "" : ",", r.crossing[i].first, r.crossing[i].second);
  return r.crossings > r.crossing.size() ? text + " ..." : text;
}

}  // namespace

std::string verdict(const Report& r) {
  const Path& path = r.outcome.path;
  if (!r.outcome.stuck.empty()) return "It never ends.";
  if (r.outcome.seconds == 0) return "Nothing costs anything here.";
  const auto most = size_t(std::max_element(path.seconds.begin(), path.seconds.end()) - path.seconds.begin());
  const std::string share = percent_text(per_time(r, path.seconds[most]));
  const Busiest b = busiest_link(r);
  std::string link;
  if (b.link != kNone)
    link =
        fmt::format("the link {} is busy {} of the time, at {} of its limit, with up to {} message{} at once",
                    name_of(*r.network, b.link), percent_text(b.busy), percent_text(b.share),
                    r.outcome.links[b.link].most, r.outcome.links[b.link].most == 1 ? "" : "s");
  if (b.link != kNone) link += crossing_text(r);
  if (b.share >= 0.8)
    return fmt::format("Bandwidth of one place: {}. Only fewer bytes over it, or a faster one, would help.",
                       link);
  switch (Path::Part(most)) {
    case Path::sharing:
      return fmt::format(
          "Messages that share links hold each other up for {} of the time: {}. Ranks nearer to their "
          "partners, or another algorithm, may help.",
          share, link);
    case Path::wire:
      if (b.link == kNone)
        return fmt::format("The ports of the ranks: {} of the time bytes move through one.", share);
      return fmt::format("Bandwidth: {} of the time bytes move as fast as their links allow; {}.", share,
                         link);
    case Path::latency:
      return fmt::format(
          "Latency: {} of the time nothing but distance; fewer rounds or shorter ways help, more bandwidth "
          "does not{}.",
          share, link.empty() ? "" : "; " + link);
    case Path::compute:
      return fmt::format("The cores: {} of the time one folds or copies while others wait for the result.",
                         share);
    case Path::overhead:
      return fmt::format(
          "Messages as such: {} of the time a core sends or receives; fewer, larger ones help.", share);
    default:
      return fmt::format("Queues: {} of the time work waits for a core, a port, an engine or a credit{}.",
                         share, link.empty() ? "" : "; " + link);
  }
}

std::string table_head() {
  return fmt::format("{:<34} {:>10} {:>11} {:>9}  {}\n", "", "time", "busbw", "messages",
                     "busiest link, of its limit; most time");
}

std::string table_row(const Report& r) {
  const Path& path = r.outcome.path;
  const auto most = size_t(std::max_element(path.seconds.begin(), path.seconds.end()) - path.seconds.begin());
  const Busiest b = busiest_link(r);
  if (!r.outcome.stuck.empty()) return table_gap(r.way, "never ends");
  const std::string link =
      b.link == kNone ? "-" : fmt::format("{} {}", name_of(*r.network, b.link), percent_text(b.share));
  return fmt::format("{:<34} {:>10} {:>11} {:>9}  {}; {} {}\n", r.way, time_text(r.outcome.seconds),
                     rate_text(bus_bandwidth(r)), r.outcome.messages, link, words_of(Path::Part(most)).name,
                     percent_text(per_time(r, path.seconds[most])));
}

std::string table_gap(const std::string& way, const std::string& why) {
  return fmt::format("{:<34} {:>10} {}\n", way, "-", why);
}

}  // namespace plait::sim
