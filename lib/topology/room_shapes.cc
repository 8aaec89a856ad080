// The lines of a room's text that say how chips are joined, and what switches there are.
#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "topology/room_reader.h"

namespace plait::topology::room_text {

std::string Reader::shape_sizes(Line& l, std::string_view word, std::vector<Factor>& factors) {
  if (word == "hybrid") {
    if (!l.take("cube") || !l.take("mesh")) return "say 'hybrid cube mesh'";
    uint32_t eight = 8;
    l.take_number(eight);
    if (eight != 8) return "a hybrid cube mesh has 8 chips";
    factors.push_back({FactorKind::cube_mesh, 8});
    return {};
  }
  const Words sizes = split(l.next(), "x");
  if (sizes.empty())
    return fmt::format("'{}' needs a size, such as '{} {}'", word, word, word == "mesh" ? "4x4" : "4");
  const bool grid = word == "mesh" || word == "torus";
  if (sizes.size() > (grid ? kMostFactors : 1u))
    return fmt::format("{} dimensions of a {}", sizes.size(), word);
  for (const std::string_view size : sizes) {
    uint32_t n = 0;
    if (!number(size, n) || n < 1 || n > kMostChips) return quoted(size) + " is no size of a shape";
    FactorKind kind = FactorKind::line;
    if (word == "full") kind = FactorKind::full;
    if (word == "switch") kind = FactorKind::switched;
    if ((word == "ring" || word == "torus") && n > 2) kind = FactorKind::cycle;
    factors.push_back({kind, n});
  }
  return {};
}

std::string Reader::shape(Line& l, bool pod) {
  std::vector<Factor>& factors = pod ? pod_ : room_.factors;
  if (!factors.empty()) return pod ? "a second pod" : "a second shape of chips";
  std::string_view word = l.next();
  if (!word.empty() && word.front() >= '0' && word.front() <= '9' && l.peek().starts_with("host"))
    return quoted(word) + " is no number of hosts";
  Line turned({});
  if (l.peek() == "mesh" || l.peek() == "torus") {  // "4x4 mesh"
    turned = Line({word});
    word = l.next();
  }
  Line& sizes = turned.done() ? l : turned;
  static constexpr std::string_view kShapes[] = {"ring", "line", "mesh", "torus", "full", "switch", "hybrid"};
  if (std::find(std::begin(kShapes), std::end(kShapes), word) == std::end(kShapes))
    return "not understood: " + quoted(word) +
           "; lines begin with a number of hosts, ring, line, mesh, torus, full, switch, hybrid cube mesh, "
           "pod, "
           "leaf, fat-tree, dead or taken";
  if (std::string why = shape_sizes(sizes, word, factors); !why.empty()) return why;
  double rate = kChipBytesPerS, latency = kChipLatencyS;
  l.take_amounts(&rate, &latency);
  for (Factor& f : factors) f.bytes_per_s = rate, f.latency_s = latency;
  if (!pod) return {};
  if (l.take("of")) {
    if (!l.take_noun("host")) return "a pod is 'of hosts', not of " + quoted(l.peek());
    return parts(l);
  }
  return {};
}

// "oversubscribed 2:1", "8 spines", "600ns"
std::string Reader::tier_words(Line& l, Tier& tier, uint32_t* spines) {
  tier.latency_s = kSwitchLatencyS;
  while (!l.done()) {
    uint32_t value = 0;
    if (l.take("oversubscribed")) {
      const Words sides = split(l.next(), ":");
      uint32_t down = 0, up = 1;
      if (sides.empty() || sides.size() > 2 || !number(sides[0], down) ||
          (sides.size() == 2 && !number(sides[1], up)) || up == 0)
        return "say 'oversubscribed 2:1'";
      tier.oversubscription = double(down) / up;
    } else if (spines != nullptr && l.take_number(value)) {
      if (!l.take_noun("spine")) return "a number of spines, not of " + quoted(l.peek());
      *spines = value;
    } else if (parse_latency(l.peek())) {
      l.take_amounts(nullptr, &tier.latency_s);
    } else {
      return "not understood of switches: " + quoted(l.peek());
    }
  }
  return {};
}

std::string Reader::leaf(Line& l) {
  if (!room_.tiers.empty()) return "a second network";
  l.take("of");
  Tier leaf;
  uint32_t spines = 1;
  if (!l.take_number(leaf.below) || !l.take_noun("host")) return "say 'leaf of 32 hosts, 4 spines'";
  if (std::string why = tier_words(l, leaf, &spines); !why.empty()) return why;
  room_.tiers = {
      leaf, {.below = kMostHosts, .switches = spines, .oversubscription = 1, .latency_s = leaf.latency_s}};
  return {};
}

std::string Reader::fat_tree(Line& l) {
  if (!room_.tiers.empty()) return "a second network";
  uint32_t ports = 0;
  if (!l.take_number(ports) || ports < 2 || ports > 128 || ports % 2 != 0)
    return "a fat-tree is of switches with an even number of ports, 2 to 128: 'fat-tree 16'";
  const uint32_t half = ports / 2;
  Tier tier;
  if (std::string why = tier_words(l, tier, nullptr); !why.empty()) return why;
  const uint64_t most = uint64_t(half) * half * ports;
  tree_ports_ = ports, tree_hosts_ = uint32_t(most);
  room_.tiers = {{half, 1, tier.oversubscription, tier.latency_s},
                 {half, half, 1, tier.latency_s},
                 {kMostHosts, half * half, 1, tier.latency_s}};
  return {};
}

}  // namespace plait::topology::room_text
