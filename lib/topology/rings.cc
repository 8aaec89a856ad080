#include "topology/rings.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "topology/cycles.h"

namespace plait::topology {
namespace {

Allowed working(const Fabric& f) {
  Allowed all(f.chips());
  for (uint32_t c = 0; c < f.chips(); c++) all[c] = f.up(c);
  return all;
}

// Each ring takes two of the links of every chip.
uint32_t bound_rings(const Fabric& f) {
  uint64_t all = 0, least = UINT64_MAX;
  for (uint32_t c = 0; c < f.chips(); c++) {
    if (!f.up(c)) continue;
    uint64_t links = 0;
    for (const uint32_t e : f.edges_of(c)) links += f.edges()[e].count;
    least = std::min(least, links / 2);
    all += links;
  }
  return f.ups() < 3 ? 0 : uint32_t(std::min(least, all / 2 / f.ups()));
}

// Sets of rings of a small fabric: one after the other, all ways.
class Packing {
 public:
  Packing(const Fabric& fabric, uint32_t bound, uint64_t effort)
      : fabric_(fabric), allowed_(working(fabric)), bound_(bound), effort_(effort) {
    for (const auto& e : fabric.edges()) left_.push_back(e.count);
  }
  // Returns whether all was searched, or the bound met.
  bool run() { return more(); }
  std::vector<Cycle> best;

 private:
  bool more() {
    if (now_.size() > best.size()) best = now_;
    if (best.size() == bound_) return true;
    const Fabric rest = remaining();
    if (now_.size() + bound_rings(rest) <= best.size()) return true;
    bool whole = true;
    const bool ended = each_cycle(rest, allowed_, fabric_.ups(), effort_, [&](const Cycle& cycle) {
      use(cycle, -1);
      now_.push_back(cycle);
      whole = more() && whole;
      now_.pop_back();
      use(cycle, 1);
      return best.size() < bound_ && effort_ > 0;
    });
    return best.size() == bound_ || (ended && whole);
  }
  Fabric remaining() const {
    std::vector<Fabric::Edge> edges;
    for (size_t i = 0; i < left_.size(); i++) {
      Fabric::Edge e = fabric_.edges()[i];
      if ((e.count = left_[i]) > 0) edges.push_back(e);
    }
    return {allowed_, allowed_, std::move(edges)};
  }
  void use(const Cycle& cycle, int by) {
    for (size_t i = 0; i < cycle.size(); i++)
      left_[fabric_.edge(cycle[i], cycle[(i + 1) % cycle.size()])] += uint32_t(by);
  }

  const Fabric& fabric_;
  Allowed allowed_;
  const uint32_t bound_;
  uint64_t effort_;
  std::vector<uint32_t> left_;
  std::vector<Cycle> now_;
};

std::vector<Cycle> constructed(const Fabric& f) {
  const auto& factors = f.lattice().factors();
  auto all = [&](FactorKind kind) {
    return std::all_of(factors.begin(), factors.end(), [&](const Factor& x) { return x.kind == kind; });
  };
  if (!f.whole() || f.chips() > 4096) return {};
  if (all(FactorKind::cycle)) return torus_rings(f.lattice());
  if (all(FactorKind::full) && factors.size() == 1) return full_rings(f.chips());
  // Most other shapes have a mesh in them, of as many chips; not those of hybrid cube meshes and of switches.
  Cycle one = mesh_ring(f.lattice());
  if (!one.empty() && check_rings(f, {one}).empty()) return {std::move(one)};
  return {};
}

// One after the other, each among the links that are left.
void search_large(const Fabric& f, Rings& result, uint64_t effort) {
  const Allowed allowed = working(f);
  std::vector<uint32_t> left;
  for (const auto& e : f.edges()) left.push_back(e.count);
  auto use = [&](const Cycle& c) {
    for (size_t i = 0; i < c.size(); i++) left[f.edge(c[i], c[(i + 1) % c.size()])]--;
  };
  for (const Cycle& c : result.cycles) use(c);
  while (result.cycles.size() < result.bound) {
    std::vector<Fabric::Edge> edges;
    for (size_t i = 0; i < left.size(); i++) {
      if (left[i] > 0) edges.push_back({f.edges()[i].a, f.edges()[i].b, left[i], f.edges()[i].bytes_per_s});
    }
    const Fabric rest(allowed, allowed, std::move(edges));
    Cycle c = grow_cycle(rest, allowed, f.ups(), effort);
    if (c.size() < f.ups()) return;
    use(c);
    result.cycles.push_back(std::move(c));
  }
}

}  // namespace

Rings rings(const Fabric& f, uint64_t effort) {
  Rings result;
  if (f.ups() < 3) {
    result.proven = true;
    result.why = fmt::format("{} chips make no ring", f.ups());
    return result;
  }
  if (f.switched) {
    Cycle order;
    for (uint32_t c = 0; c < f.chips(); c++) {
      if (f.up(c)) order.push_back(c);
    }
    result = {.cycles = {order}, .bound = 1, .proven = true, .why = "chips behind a switch have a port each"};
    return result;
  }
  const CycleBound longest = bound_cycle(f, working(f));
  result.bound = longest.most < f.ups() ? 0 : bound_rings(f);
  if (result.bound == 0) {
    result.proven = true;
    result.why = longest.most < f.ups()
                     ? "no ring visits all " + std::to_string(f.ups()) + " chips: " + longest.why
                     : "a chip has fewer than two links";
    return result;
  }
  result.cycles = constructed(f);
  bool searched = false;
  if (result.cycles.size() < result.bound && f.ups() <= 20) {
    Packing packing(f, result.bound, effort);
    searched = packing.run();
    if (packing.best.size() >= result.cycles.size()) result.cycles = std::move(packing.best);
  } else if (result.cycles.size() < result.bound) {
    search_large(f, result, effort);
  }
  result.proven = searched || result.cycles.size() == result.bound;
  if (result.cycles.size() < result.bound)
    result.why = searched ? "no more exist: all ways were tried"
                          : fmt::format("{} found; {} would be the most; none further was found by search",
                                        result.cycles.size(), result.bound);
  return result;
}

std::string check_rings(const Fabric& f, const std::vector<Cycle>& cycles) {
  if (f.switched) return {};
  std::vector<uint32_t> used(f.edges().size(), 0);
  for (size_t k = 0; k < cycles.size(); k++) {
    std::vector<bool> seen(f.chips(), false);
    const Cycle& c = cycles[k];
    if (c.size() != f.ups() || c.size() < 3)
      return fmt::format("ring {} has {} chips of {}", k, c.size(), f.ups());
    for (size_t i = 0; i < c.size(); i++) {
      const uint32_t a = c[i], b = c[(i + 1) % c.size()];
      if (a >= f.chips() || !f.up(a) || seen[a]) return fmt::format("ring {} visits chip {} wrongly", k, a);
      seen[a] = true;
      const uint32_t e = b < f.chips() ? f.edge(a, b) : UINT32_MAX;
      if (e == UINT32_MAX) return fmt::format("ring {}: no link joins {} and {}", k, a, b);
      if (++used[e] > f.edges()[e].count) return fmt::format("link {}-{} is used {} times", a, b, used[e]);
    }
  }
  return {};
}

}  // namespace plait::topology
