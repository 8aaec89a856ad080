// The page that plait-sim prints.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>

#include "sim/report.h"

namespace plait::sim {

namespace {

constexpr size_t kShownLinks = 5, kShownRanks = 4;

std::string parts_text(const Report& r) {
  std::vector<int> order(Path::parts);
  std::iota(order.begin(), order.end(), 0);
  const Path& path = r.outcome.path;
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return path.seconds[size_t(a)] > path.seconds[size_t(b)]; });
  std::string text;
  for (int i : order) {
    const double share = per_time(r, path.seconds[size_t(i)]);
    if (share >= 0.005)
      text += fmt::format("  {:>6}  {}\n", percent_text(share), words_of(Path::Part(i)).says);
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
        percent_text(links[i].share), name_of(*r.network, links[i].link), size_text(uint64_t(use.bytes)),
        percent_text(links[i].busy), use.most, use.most == 1 ? "" : "s");
  }
  double sum = 0;
  for (const Busiest& b : links) sum += b.share;
  return text + fmt::format("  {:>6}  the mean of the {} links in use\n",
                            percent_text(sum / double(links.size())), links.size());
}

std::string rank_line(const Report& r, size_t rank) {
  const RankUse& use = r.outcome.ranks[rank];
  std::string text =
      fmt::format("  rank {}: core at work {}, only sending {}, waiting {}", rank,
                  percent_text(per_time(r, use.computing)), percent_text(per_time(r, use.sending)),
                  percent_text(per_time(r, use.waiting)));
  if (use.waits_for >= 0 && use.waited > 0)
    text += fmt::format(", {} of it for rank {}",
                        percent_text(use.waited / std::max(use.waiting, use.waited)), use.waits_for);
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

}  // namespace plait::sim
