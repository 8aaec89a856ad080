#include "sim/report.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace plait::sim {

namespace {

constexpr size_t kShownLinks = 5, kShownRanks = 4;

struct Words {
  const char *name, *says;
};
// By Path::Part.
constexpr Words kParts[] = {
    {"compute", "folding and copying"},
    {"overhead", "the cores' part of messages"},
    {"wire", "bytes moving as fast as a message alone would"},
    {"sharing", "bytes moving slower, as messages share links"},
    {"latency", "latency"},
    {"queue", "waiting for a core, a port, an engine or a credit"},
};

std::string percent(double share) { return fmt::format("{:.{}f} %", 100 * share, share < 0.0995 ? 1 : 0); }

double per_time(const Report& r, double seconds) {
  return r.outcome.seconds > 0 ? seconds / r.outcome.seconds : 0;
}

// Of links that carried anything, the nearest to their limits first.
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

std::string parts_text(const Report& r) {
  std::vector<int> order(Path::parts);
  std::iota(order.begin(), order.end(), 0);
  const Path& path = r.outcome.path;
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return path.seconds[size_t(a)] > path.seconds[size_t(b)]; });
  std::string text;
  for (int i : order) {
    const double share = per_time(r, path.seconds[size_t(i)]);
    if (share >= 0.005) text += fmt::format("  {:>6}  {}\n", percent(share), kParts[i].says);
  }
  return text;
}

std::string links_text(const Report& r) {
  const auto links = links_by_use(r);
  if (links.empty()) return {};
  std::string text = "Links, by what they carried of what they could have\n";
  for (size_t i = 0; i < std::min(kShownLinks, links.size()); i++) {
    const auto& use = r.outcome.links[links[i].link];
    text += fmt::format(
        "  {:>6}  {}: {} in all, something in it {} of the time, up to {} message{} at once\n",
        percent(links[i].share), name_of(*r.network, links[i].link), size_text(uint64_t(use.bytes)),
        percent(links[i].busy), use.most, use.most == 1 ? "" : "s");
  }
  double sum = 0;
  for (const Busiest& b : links) sum += b.share;
  return text + fmt::format("  {:>6}  the mean of the {} links in use\n", percent(sum / double(links.size())),
                            links.size());
}

std::string rank_line(const Report& r, size_t rank) {
  const RankUse& use = r.outcome.ranks[rank];
  std::string text = fmt::format("  rank {}: core at work {}, only sending {}, waiting {}", rank,
                                 percent(per_time(r, use.computing)), percent(per_time(r, use.sending)),
                                 percent(per_time(r, use.waiting)));
  if (use.waits_for >= 0 && use.waited > 0)
    text += fmt::format(", {} of it for rank {}", percent(use.waited / std::max(use.waiting, use.waited)),
                        use.waits_for);
  return text + fmt::format("; done at {}\n", time_text(use.finish));
}

std::string ranks_text(const Report& r) {
  const auto& ranks = r.outcome.ranks;
  std::vector<size_t> order(ranks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return ranks[a].waiting > ranks[b].waiting; });
  std::string text = "Ranks that wait most, and least\n";
  if (order.size() <= kShownRanks) {
    for (size_t rank : order) text += rank_line(r, rank);
    return text;
  }
  for (size_t i = 0; i + 1 < kShownRanks; i++) text += rank_line(r, order[i]);
  return text + rank_line(r, order.back());
}

// "2, 4 and 6", of more than a few "2, 4, 6 and 12 more".
std::string list_of(const std::vector<int32_t>& ranks) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < std::min(ranks.size(), kShown); i++)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ", ranks[i]);
  return ranks.size() <= kShown ? text : text + fmt::format(" and {} more", ranks.size() - kShown);
}

// Who never finishes: who is to blame, who waits for them, and who for these.
std::string stuck_text(const Report& r) {
  const auto& stuck = r.outcome.stuck;
  std::vector<const Stuck*> of(r.outcome.ranks.size(), nullptr);
  for (const Stuck& s : stuck) of[size_t(s.rank)] = &s;
  std::string text = fmt::format("It never ends: {} of {} ranks wait for ever.\n", stuck.size(), of.size());
  std::vector<int32_t> layer, others;
  std::vector<bool> told(of.size());
  for (const Stuck& s : stuck) {
    if (s.dead)
      text += fmt::format("  rank {} is dead\n", s.rank);
    else if (s.link != kNone)
      text +=
          fmt::format("  rank {} has messages that stand still at {}\n", s.rank, name_of(*r.network, s.link));
    else
      continue;
    layer.push_back(s.rank), told[size_t(s.rank)] = true;
  }
  for (int depth = 1; !layer.empty(); depth++) {
    std::vector<int32_t> next;
    for (const Stuck& s : stuck)
      if (!told[size_t(s.rank)] && s.peer >= 0 && std::binary_search(layer.begin(), layer.end(), s.peer))
        next.push_back(s.rank);
    for (int32_t rank : next) told[size_t(rank)] = true;
    if (!next.empty() && depth <= 4)
      text += fmt::format("  rank{} {} wait{} for {}\n", next.size() == 1 ? "" : "s", list_of(next),
                          next.size() == 1 ? "s" : "", list_of(layer));
    else
      others.insert(others.end(), next.begin(), next.end());
    layer = std::move(next);
  }
  if (!others.empty()) text += fmt::format("  {} more wait for these, one behind the other\n", others.size());
  std::vector<int32_t> rest;
  for (const Stuck& s : stuck)
    if (!told[size_t(s.rank)]) rest.push_back(s.rank);
  if (!rest.empty())
    text += fmt::format("  ranks {} wait for each other: rank {} for rank {}\n", list_of(rest), rest[0],
                        of[size_t(rest[0])]->peer);
  return text;
}

}  // namespace

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

Busiest busiest_link(const Report& r) {
  const auto links = links_by_use(r);
  return links.empty() ? Busiest{} : links.front();
}

std::string verdict(const Report& r) {
  const Path& path = r.outcome.path;
  if (!r.outcome.stuck.empty()) return "It never ends.";
  if (r.outcome.seconds == 0) return "Nothing costs anything here.";
  const auto most = size_t(std::max_element(path.seconds.begin(), path.seconds.end()) - path.seconds.begin());
  const std::string share = percent(per_time(r, path.seconds[most]));
  const Busiest b = busiest_link(r);
  std::string link;
  if (b.link != kNone)
    link =
        fmt::format("the link {} is busy {} of the time, at {} of its limit, with up to {} message{} at once",
                    name_of(*r.network, b.link), percent(b.busy), percent(b.share),
                    r.outcome.links[b.link].most, r.outcome.links[b.link].most == 1 ? "" : "s");
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

std::string words_of(const Report& r) {
  const Outcome& o = r.outcome;
  std::string text = fmt::format("{} {} of {}, {} ranks in {}", r.way, name_of(r.question.collective),
                                 size_text(r.bytes), r.question.ranks, r.room);
  for (const std::string& what : r.what_if) text += ", " + what;
  text +=
      fmt::format("\n{} messages, {} segment{}, {} distinct program{}, seed {}\n\n", o.messages, r.segments,
                  r.segments == 1 ? "" : "s", r.scripts, r.scripts == 1 ? "" : "s", r.parameters.seed);
  if (!o.stuck.empty()) return text + stuck_text(r);
  text += fmt::format("time    {}\nalgbw   {}\nbusbw   {}\n\n", time_text(o.seconds),
                      rate_text(algorithm_bandwidth(r)), rate_text(bus_bandwidth(r)));
  return text + "What limits it\n  " + verdict(r) +
         "\n\nWhere the time went, along the chain of events to its end\n" + parts_text(r) + "\n" +
         links_text(r) + (o.links.empty() ? "" : "\n") + ranks_text(r);
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
      b.link == kNone ? "-" : fmt::format("{} {}", name_of(*r.network, b.link), percent(b.share));
  return fmt::format("{:<34} {:>10} {:>11} {:>9}  {}; {} {}\n", r.way, time_text(r.outcome.seconds),
                     rate_text(bus_bandwidth(r)), r.outcome.messages, link, kParts[most].name,
                     percent(per_time(r, path.seconds[most])));
}

std::string table_gap(const std::string& way, const std::string& why) {
  return fmt::format("{:<34} {:>10} {}\n", way, "-", why);
}

std::string to_json(const Report& r) {
  using Json = nlohmann::ordered_json;
  const Outcome& o = r.outcome;
  Json path, ranks = Json::array(), links = Json::array(), stuck = Json::array();
  for (size_t i = 0; i < Path::parts; i++) path[kParts[i].name] = o.path.seconds[i];
  for (const RankUse& use : o.ranks) {
    ranks.push_back({{"finish", use.finish},
                     {"computing", use.computing},
                     {"sending", use.sending},
                     {"waiting", use.waiting},
                     {"waits_for", use.waits_for},
                     {"waited", use.waited}});
  }
  for (const Busiest& b : links_by_use(r)) {
    links.push_back({{"name", name_of(*r.network, b.link)},
                     {"share", b.share},
                     {"busy", b.busy},
                     {"bytes", o.links[b.link].bytes},
                     {"most", o.links[b.link].most}});
  }
  for (const Stuck& s : o.stuck) {
    Json entry{{"rank", s.rank}, {"dead", s.dead}, {"waits_for", s.peer}};
    if (s.link != kNone) entry["link"] = name_of(*r.network, s.link);
    stuck.push_back(entry);
  }
  const Json json{{"plait_sim", 1},
                  {"room", r.room},
                  {"collective", name_of(r.question.collective)},
                  {"way", r.way},
                  {"ranks", r.question.ranks},
                  {"bytes", r.bytes},
                  {"segments", r.segments},
                  {"what_if", r.what_if},
                  {"parameters", Json::parse(to_json(r.parameters))},
                  {"finished", o.stuck.empty()},
                  {"seconds", o.seconds},
                  {"algbw", algorithm_bandwidth(r)},
                  {"busbw", bus_bandwidth(r)},
                  {"messages", o.messages},
                  {"verdict", verdict(r)},
                  {"path", path},
                  {"links", links},
                  {"per_rank", ranks},
                  {"stuck", stuck}};
  return json.dump(1) + "\n";
}

}  // namespace plait::sim
