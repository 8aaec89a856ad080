#include "sim/tiers.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace plait::sim {

namespace {

uint64_t quotient_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

// Of `count` things dealt out in order to `among`, the first that the one of that number has.
uint64_t first_of(uint64_t number, uint64_t count, uint64_t among) {
  return quotient_up(number * count, among);
}

}  // namespace

Tiers::Tiers(const topology::Room& room, uint32_t nics, double bytes_per_s, int32_t hosts_at)
    : hosts_(room.hosts),
      nics_(nics),
      bytes_per_s_(bytes_per_s),
      latency_(room.nic_latency_s),
      hosts_at_(hosts_at) {
  std::vector<topology::Tier> tiers = room.tiers;
  if (tiers.empty()) tiers.push_back({.below = room.hosts});  // one that blocks nothing
  links_ = 2 * hosts_ * nics_;
  uint64_t members = hosts_;
  for (const topology::Tier& t : tiers) {
    const Level* below = levels_.empty() ? nullptr : &levels_.back();
    Level l{.groups = quotient_up(members, t.below), .latency = t.latency_s, .share = t.oversubscription};
    l.span = std::min<uint64_t>((below ? below->span : 1) * t.below, hosts_);
    if (below) {
      l.switches = t.switches;
      l.cables = std::max(below->switches, l.switches);
      l.share *= below->share;
    }
    l.nodes_at = nodes_, l.links_at = links_;
    nodes_ += l.groups * l.switches;
    links_ += 2 * members * l.cables;
    members = l.groups;
    levels_.push_back(l);
  }
}

double Tiers::up(size_t level, uint64_t group) const noexcept {
  const Level& l = levels_[level];
  const uint64_t hosts = std::min(l.span, hosts_ - std::min(hosts_, group * l.span));
  return double(hosts * nics_) * bytes_per_s_ / l.share;
}

std::string Tiers::name(uint64_t node) const {
  size_t t = levels_.size() - 1;
  while (node < levels_[t].nodes_at) t--;
  const char* kind = t == 0 ? "leaf" : t + 1 == levels_.size() ? "spine" : "aggregation";
  return fmt::format("{} {}", kind, node - levels_[t].nodes_at);
}

Link Tiers::link(uint64_t number, int32_t at) const {
  const bool down = number % 2 == 1;
  Link l;
  double low = 0, high = 0;  // the latencies of what is at either end
  if (number < 2 * hosts_ * nics_) {
    const uint64_t host = number / 2 / nics_;
    l = {hosts_at_ + int32_t(host), at + int32_t(host / levels_[0].span), bytes_per_s_, latency_};
    high = levels_[0].latency;
  } else {
    size_t t = levels_.size() - 1;
    while (number < levels_[t].links_at) t--;
    const Level &above = levels_[t], &below = levels_[t - 1];
    const uint64_t cable = (number - above.links_at) / 2, group = cable / above.cables,
                   i = cable % above.cables;
    // Groups are filled in order, so which one a group is in is said by its first host.
    const uint64_t over = group * below.span / above.span;
    l.from = at + int32_t(below.nodes_at + group * below.switches + i * below.switches / above.cables);
    l.to = at + int32_t(above.nodes_at + over * above.switches + i * above.switches / above.cables);
    l.capacity = up(t - 1, group) / double(above.cables);
    l.latency = topology::kNicLatencyS / 2;
    low = below.latency, high = above.latency;
  }
  if (down) std::swap(l.from, l.to);
  l.latency += down ? low : high;
  return l;
}

void Tiers::route(uint32_t from, uint32_t to, uint32_t first_link, std::vector<uint32_t>& links) const {
  auto push = [&](uint64_t number) { links.push_back(first_link + uint32_t(number)); };
  auto group = [&](uint32_t nic, size_t level) { return nic / nics_ / levels_[level].span; };
  push(2 * uint64_t(from));
  size_t level = 0;
  uint64_t at = 0, key = to;  // the switch of its group where the message is
  for (; level + 1 < levels_.size() && group(from, level) != group(to, level); level++) {
    const Level& above = levels_[level + 1];
    const uint64_t below = levels_[level].switches, first = first_of(at, above.cables, below),
                   choices = first_of(at + 1, above.cables, below) - first;
    const uint64_t i = first + key % choices;
    key /= choices;
    push(above.links_at + 2 * (group(from, level) * above.cables + i));
    at = i * above.switches / above.cables;
  }
  for (; level > 0; level--) {
    const Level& above = levels_[level];
    const uint64_t first = first_of(at, above.cables, above.switches),
                   choices = first_of(at + 1, above.cables, above.switches) - first;
    const uint64_t i = first + key % choices;
    push(above.links_at + 2 * (group(to, level - 1) * above.cables + i) + 1);
    at = i * levels_[level - 1].switches / above.cables;
  }
  push(2 * uint64_t(to) + 1);
}

}  // namespace plait::sim
