#include "topology/near.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "topology/levels.h"
#include "topology/units.h"

namespace plait::topology {
namespace {

// Slower ones make up for no distance.
constexpr double kSlowest = 0.5;  // of the fastest's rate

class Dealer {
 public:
  Dealer(const SysfsMap& map, const NearQuestion& question) : map_(map), question_(question) {}
  NearAnswer answer();

 private:
  void leave_out();
  NodeId place_of_rank(size_t rank);
  std::vector<Way> ways_of(NodeId place) const;
  void deal();
  void take_next(size_t rank);
  std::string distance(const Way& way) const;
  std::string describe(const Way& way) const;

  size_t number_of(NodeId nic) const { return size_t(std::ranges::find(map_.nics, nic) - map_.nics.begin()); }
  const std::string& name(size_t nic) const { return question_.nics[nic]; }
  double rate(size_t nic) const { return map_.graph.node(map_.nics[nic]).port_bytes_per_s; }

  const SysfsMap& map_;
  const NearQuestion& question_;
  NearAnswer answer_;
  NodeId mine_ = 0;                         // where the rank that asks is
  std::vector<bool> out_;                   // of each NIC
  std::vector<size_t> load_;                // of each NIC: ranks that took it
  std::vector<std::vector<Way>> ways_;      // of each rank, nearest first
  std::vector<std::vector<size_t>> taken_;  // by each rank
};

void Dealer::leave_out() {
  const size_t count = map_.nics.size();
  out_.resize(count);
  answer_.why.resize(count);
  answer_.placed = std::ranges::find(map_.devices, false) == map_.devices.end();
  const auto device = std::ranges::find(map_.devices, true);
  const size_t with = size_t(device - map_.devices.begin());
  size_t fastest = with < count ? with : 0;
  for (size_t i = 0; i < count; i++) {
    out_[i] = with < count && !map_.devices[i];
    if (out_[i]) answer_.why[i] = "it has no device of its own, and " + name(with) + " has one";
    if (!out_[i] && rate(i) > rate(fastest)) fastest = i;
  }
  for (size_t i = 0; i < count; i++) {
    if (out_[i] || rate(i) == 0 || rate(i) >= kSlowest * rate(fastest)) continue;
    out_[i] = true;
    answer_.why[i] = fmt::format("{}, less than half of what {} has ({})", show_bit_rate(rate(i)),
                                 name(fastest), show_bit_rate(rate(fastest)));
  }
}

NodeId Dealer::place_of_rank(size_t rank) {
  const RankPlace& its = question_.ranks[rank];
  if (!its.chip) return place_of(map_, its.cpus);
  size_t before = 0;
  for (size_t r = 0; r < rank; r++) before += question_.ranks[r].chip ? 1 : 0;
  if (map_.chips[before] != kNone) return map_.chips[before];
  if (rank == question_.mine)
    answer_.notes.push_back("there is no device at " + to_string(*its.chip) +
                            ": the NICs nearest to this rank's cores are taken");
  return place_of(map_, its.cpus);
}

std::vector<Way> Dealer::ways_of(NodeId place) const {
  const Graph& g = map_.graph;
  std::vector<Way> ways = nics_of(g, place);
  std::erase_if(ways, [&](const Way& way) { return out_[number_of(way.nic)]; });
  if (g.node(place).kind == Kind::chip) return ways;
  // Cores reach all PCI through the host bridge: what counts is how far out of the socket the way leads.
  for (Way& way : ways) way.hops = g.depth(place) - g.depth(g.common(place, way.nic));
  std::ranges::sort(ways, {}, &Way::nic);  // equally near ones in the order of the question
  std::ranges::stable_sort(ways, nearer);
  return ways;
}

void Dealer::take_next(size_t rank) {
  const auto& ways = ways_[rank];
  std::vector<size_t>& mine = taken_[rank];
  // All taken: begin anew.
  const size_t again = mine.size() / ways.size() * ways.size();
  const std::span<const size_t> had = std::span(mine).subspan(again);
  const Way* first = nullptr;
  const Way* best = nullptr;
  for (const Way& way : ways) {
    const size_t nic = number_of(way.nic);
    if (std::ranges::find(had, nic) != had.end()) continue;
    if (first == nullptr) first = &way;
    if (nearer(*first, way)) break;
    if (best == nullptr || load_[nic] < load_[number_of(best->nic)]) best = &way;
  }
  mine.push_back(number_of(best->nic));
  load_[mine.back()]++;
}

void Dealer::deal() {
  const size_t ranks = question_.ranks.size();
  load_.resize(map_.nics.size());
  taken_.resize(ranks);
  for (size_t r = 0; r < ranks; r++) {
    const NodeId place = place_of_rank(r);
    if (r == question_.mine) mine_ = place;
    ways_.push_back(ways_of(place));
  }
  for (size_t rail = 0; rail < question_.rails; rail++) {
    for (size_t r = 0; r < ranks; r++) take_next(r);
  }
  answer_.taken = taken_[question_.mine];
}

std::string Dealer::distance(const Way& way) const {
  const Graph& g = map_.graph;
  if (!map_.devices[number_of(way.nic)]) return "no device, so no distance";
  if (way.path != Path::other_numa) return std::string(name_of(way.path));
  const NodeId numa = g.within(way.nic, Kind::numa), own = g.within(mine_, Kind::numa);
  if (numa == kNone) return "NUMA node not known";
  const std::string where = "on " + g.node(numa).name;
  if (own != kNone) return where + ", this rank on " + std::to_string(g.node(own).system);
  return where + ", this rank on any" + (g.node(mine_).kind == Kind::host ? "" : " of " + g.node(mine_).name);
}

// "same NUMA node, 100 Gb/s"
std::string Dealer::describe(const Way& way) const {
  const double port = map_.graph.node(way.nic).port_bytes_per_s;
  return distance(way) + (port > 0 ? ", " + show_bit_rate(port) : "");
}

NearAnswer Dealer::answer() {
  leave_out();
  deal();
  const std::vector<Way>& ways = ways_[question_.mine];
  const Way& first = *std::ranges::find(ways, map_.nics[answer_.taken.front()], &Way::nic);
  for (const Way& way : ways) {
    const size_t nic = number_of(way.nic);
    const bool taken = std::ranges::find(answer_.taken, nic) != answer_.taken.end();
    answer_.why[nic] = describe(way);
    if (taken) continue;
    answer_.why[nic] += nearer(first, way)
                            ? "; " + name(answer_.taken.front()) + " comes first: " + describe(first)
                            : "; as near as " + name(answer_.taken.front()) + ", and left to other ranks";
  }
  answer_.notes.insert(answer_.notes.end(), map_.notes.begin(), map_.notes.end());
  return std::move(answer_);
}

}  // namespace

Result<NearAnswer> nearest_nics(const std::string& root, const NearQuestion& question) {
  if (question.nics.empty() || question.mine >= question.ranks.size() || question.rails == 0 ||
      question.rails > kMostWished)
    return Status(Code::invalid, "the nearest NICs of nobody, or of none, are asked for");
  SysfsWish wish{question.nic_class, question.nics, {}};
  for (const RankPlace& rank : question.ranks) {
    if (rank.chip) wish.chips.push_back(*rank.chip);
  }
  auto map = read_sysfs(root, wish);
  if (!map.ok()) return map.status();
  return Dealer(*map, question).answer();
}

}  // namespace plait::topology
