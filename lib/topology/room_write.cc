// The text form of rooms, as parse_room() reads it.
#include <spdlog/fmt/fmt.h>

#include "topology/room.h"
#include "topology/units.h"

namespace plait::topology {
namespace {

std::string amounts(double bytes_per_s, double latency_s) {
  return " " + write_rate(bytes_per_s) + " " + write_latency(latency_s);
}

// "0-7,12"
std::string ranges(const std::vector<uint32_t>& list) {
  std::string text;
  for (size_t i = 0; i < list.size();) {
    size_t end = i + 1;
    while (end < list.size() && list[end] == list[end - 1] + 1) end++;
    text += fmt::format("{}{}", text.empty() ? "" : ",", list[i]);
    if (end > i + 1) text += fmt::format("-{}", list[end - 1]);
    i = end;
  }
  return text;
}

// Factors of one line of text: a run, whose sizes of two in a torus are lines.
std::string shape(std::vector<Factor> factors) {
  if (factors.empty()) return {};
  std::string sizes;
  bool cycle = false, grid = true;
  for (const Factor& f : factors) {
    sizes += (sizes.empty() ? "" : "x") + std::to_string(f.size);
    cycle |= f.kind == FactorKind::cycle;
    grid &= f.kind == FactorKind::line || f.kind == FactorKind::cycle;
  }
  const std::string word =
      grid ? (cycle ? "torus " : "mesh ") + sizes : describe_run(factors, {0, factors.size()});
  return word + amounts(factors[0].bytes_per_s, factors[0].latency_s);
}

std::string tiers(const std::vector<Tier>& t) {
  if (t.empty()) return {};
  std::string text = t.size() == 2 ? fmt::format("leaf of {} hosts, {} spines", t[0].below, t[1].switches)
                                   : fmt::format("fat-tree {}", 2 * t[0].below);
  if (t[0].oversubscription != 1) {
    // A quotient of two numbers below a thousand, as it was read.
    for (uint32_t up = 1; up <= 1000; up++) {
      const double down = t[0].oversubscription * up;
      const uint32_t whole = uint32_t(down + 0.5);
      if (double(whole) / up != t[0].oversubscription) continue;
      text += fmt::format(", oversubscribed {}:{}", whole, up);
      break;
    }
  }
  return text + ", " + write_latency(t[0].latency_s) + "\n";
}

}  // namespace

std::string write_room(const Room& r) {
  const auto pod_end = r.factors.begin() + r.pod_factors;
  const std::string pod = shape({r.factors.begin(), pod_end}), inside = shape({pod_end, r.factors.end()});
  std::string text = fmt::format("{} hosts", r.hosts);
  if (r.chips_per_host > 0) text += fmt::format(" x {} chips", r.chips_per_host);
  if (r.nics_per_host > 0)
    text += fmt::format(" x {} nics", r.nics_per_host) + amounts(r.nic_bytes_per_s, r.nic_latency_s);
  if (r.sockets_per_host > 1) text += fmt::format(" x {} sockets", r.sockets_per_host);
  if (r.cores_per_host > 0) text += fmt::format(" x {} cores", r.cores_per_host);
  text += '\n';
  if (!pod.empty()) text += "pod " + pod + "\n";
  if (!inside.empty()) text += inside + "\n";
  text += tiers(r.tiers);
  if (!r.dead_chips.empty()) text += "dead chips " + ranges(r.dead_chips) + "\n";
  if (!r.dead_hosts.empty()) text += "dead hosts " + ranges(r.dead_hosts) + "\n";
  if (!r.taken_chips.empty()) text += "taken " + ranges(r.taken_chips) + "\n";
  for (const auto& [a, b] : r.dead_links) text += fmt::format("dead link {}-{}\n", a, b);
  return text;
}

}  // namespace plait::topology
