#include "topology/fabric.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "topology/room.h"

namespace plait::topology {
namespace {

Status too_many(uint64_t chips) {
  return {Code::unsupported,
          fmt::format("{} chips in one fabric; rings, trees and places are searched among {}", chips,
                      kMostFabricChips)};
}

}  // namespace

Fabric::Fabric(std::vector<bool> up, std::vector<bool> is_free, std::vector<Edge> edges, Lattice lattice)
    : up_(std::move(up)), free_(std::move(is_free)), lattice_(std::move(lattice)) {
  for (const Edge& e : edges) {
    if (up_[e.a] && up_[e.b]) edges_.push_back(e);
  }
  whole_ = regular() && edges_.size() == edges.size();
  for (uint32_t c = 0; c < chips(); c++) {
    ups_ += up_[c] ? 1 : 0;
    if (!up_[c]) free_[c] = whole_ = false;
  }
  std::sort(edges_.begin(), edges_.end(),
            [](const Edge& x, const Edge& y) { return std::pair(x.a, x.b) < std::pair(y.a, y.b); });
  first_.assign(chips() + 1, 0);
  for (const Edge& e : edges_) first_[e.a + 1]++, first_[e.b + 1]++;
  for (uint32_t c = 0; c < chips(); c++) first_[c + 1] += first_[c];
  to_.resize(2 * edges_.size());
  edge_.resize(2 * edges_.size());
  std::vector<uint32_t> at(first_.begin(), first_.end());
  // The smaller neighbours of a chip come first, and both kinds ascend.
  for (const bool smaller : {true, false}) {
    for (uint32_t i = 0; i < edges_.size(); i++) {
      const uint32_t from = smaller ? edges_[i].b : edges_[i].a, to = smaller ? edges_[i].a : edges_[i].b;
      edge_[at[from]] = i;
      to_[at[from]++] = to;
    }
  }
}

uint32_t Fabric::edge(uint32_t a, uint32_t b) const noexcept {
  const auto all = neighbours(a);
  const auto found = std::lower_bound(all.begin(), all.end(), b);
  if (found == all.end() || *found != b) return UINT32_MAX;
  return edges_of(a)[size_t(found - all.begin())];
}

Result<Fabric> fabric_of(const Room& room) {
  const uint64_t n = room.chips();
  if (n > kMostFabricChips) return too_many(n);
  std::vector<bool> up(n, true), is_free(n, true);
  for (uint32_t c : room.dead_chips) up[c] = false;
  for (uint32_t h : room.dead_hosts)
    std::fill_n(up.begin() + int64_t(h) * room.chips_per_host, room.chips_per_host, false);
  for (uint32_t c : room.taken_chips) is_free[c] = false;
  const Lattice lattice(room.factors);
  std::vector<Fabric::Edge> edges;
  bool links_whole = true;
  for (uint32_t c = 0; c < n && !room.factors.empty(); c++) {
    const uint64_t base = c / lattice.size() * lattice.size();
    for (size_t f = 0; f < room.factors.size(); f++) {
      lattice.each_neighbour(c - base, f, [&](uint64_t to) {
        to += base;
        if (to < c || edges.size() >= kMostFabricLinks) return;
        if (room.is_dead_link(c, uint32_t(to)))
          links_whole = false;
        else
          edges.push_back({c, uint32_t(to), 1, room.factors[f].bytes_per_s});
      });
    }
  }
  if (edges.size() >= kMostFabricLinks)
    return Status(Code::unsupported, fmt::format("more than {} links between chips", kMostFabricLinks));
  const bool one = lattice.size() == n;
  if (!links_whole) {  // still a lattice, not a whole one
    Fabric holed(std::move(up), std::move(is_free), std::move(edges), one ? lattice : Lattice());
    holed.mark_holed();
    return holed;
  }
  Fabric fabric(std::move(up), std::move(is_free), std::move(edges), one ? lattice : Lattice());
  fabric.switched = one && room.factors.size() == 1 && room.factors[0].kind == FactorKind::switched;
  return fabric;
}

Result<Fabric> fabric_of(const Graph& graph) {
  const auto chips = graph.of(Kind::chip);
  if (chips.size() > kMostFabricChips) return too_many(chips.size());
  std::vector<bool> up(chips.size()), is_free(chips.size());
  for (size_t i = 0; i < chips.size(); i++) {
    up[i] = !graph.node(chips[i]).dead;
    is_free[i] = up[i] && !graph.node(chips[i]).taken;
  }
  std::vector<Fabric::Edge> edges;
  size_t switched = 0;
  for (const NodeId chip : chips) {
    bool by_switch = false;
    for (const uint32_t i : graph.links_of(chip)) {
      const Link& l = graph.links()[i];
      const Node &other = graph.node(graph.other(l, chip)), &self = graph.node(chip);
      by_switch |= other.kind == Kind::fabric_switch;
      if (other.kind != Kind::chip || l.a != chip) continue;
      const double rate = std::min(l.forward_bytes_per_s, l.backward_bytes_per_s) / l.count;
      edges.push_back({self.index, other.index, l.count, rate});
    }
    switched += by_switch ? 1 : 0;
  }
  Fabric fabric(std::move(up), std::move(is_free), std::move(edges));
  fabric.switched =
      fabric.edges().empty() && switched > 1 && switched == chips.size() && graph.of(Kind::host).size() < 2;
  return fabric;
}

}  // namespace plait::topology
