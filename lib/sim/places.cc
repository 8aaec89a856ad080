#include "sim/places.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>

#include "sim/networks.h"
#include "sim/words.h"
#include "topology/levels.h"
#include "topology/rings.h"

namespace plait::sim {

namespace {

using topology::Room;

constexpr uint64_t kMostMapped = 1024;  // chips of a host whose map is looked at

// Only as the grammar of rooms has no word for it.
std::optional<Result<Plan>> read_ideal(std::string_view text) {
  Words words(text);
  if (!words.skip("ideal")) return std::nullopt;
  auto count = words.take_count(int64_t{kMostPlaces});
  if (!count.ok()) return Result<Plan>(count.status());
  if (!words.done())
    return Result<Plan>(Status(Code::invalid, fmt::format("'{}' is too much", shown(words.peek()))));
  Plan plan;
  plan.ideal = uint32_t(*count);
  return Result<Plan>(std::move(plan));
}

// The groups of a lattice's dimensions, the innermost first.
void add_dimensions(const Room& room, std::vector<uint64_t>& sizes) {
  uint64_t group = 1;
  for (size_t f = room.factors.size(); f-- > 0;) {
    if (room.factors[f].kind == topology::FactorKind::cube_mesh) sizes.push_back(group * 4);
    sizes.push_back(group *= room.factors[f].size);
  }
}

// As the map of one host has them; all are alike.
void add_host(const Room& room, std::vector<uint64_t>& sizes) {
  sizes.push_back(room.chips_per_host);
  if (room.chips_per_host > kMostMapped) return;
  Room one;
  one.chips_per_host = room.chips_per_host;
  one.sockets_per_host = room.sockets_per_host;
  one.factors.assign(room.factors.begin() + room.pod_factors, room.factors.end());
  if (topology::Lattice(one.factors).size() != room.chips_per_host) one.factors.clear();
  const auto graph = topology::expand(one);
  if (!graph.ok()) return;
  for (const topology::Level& level : topology::levels(*graph))
    if (level.smallest == level.largest) sizes.push_back(level.largest);
}

// One level of a hierarchy: how many groups of the level before are in each. `group`: of each of those, in
// order.
std::vector<int> count_members(std::vector<uint64_t>& group, uint64_t size) {
  std::vector<int> counts;
  std::vector<uint64_t> groups;
  for (const uint64_t g : group) {
    if (groups.empty() || groups.back() != g / size) groups.push_back(g / size), counts.push_back(0);
    counts.back()++;
  }
  group = std::move(groups);
  return counts;
}

void find_levels(const std::vector<uint64_t>& sizes, Places& places) {
  std::vector<int32_t> order(places.seats.size());
  std::iota(order.begin(), order.end(), 0);
  auto by_seat = [&](int32_t a, int32_t b) { return places.seats[size_t(a)] < places.seats[size_t(b)]; };
  if (!std::is_sorted(order.begin(), order.end(), by_seat)) {
    std::sort(order.begin(), order.end(), by_seat);
    places.order = order;
  }
  std::vector<uint64_t> group;
  for (const int32_t rank : order) group.push_back(places.seats[size_t(rank)]);
  uint64_t before = 1;
  for (const uint64_t size : sizes) {
    auto counts = count_members(group, size / before);
    if (size == sizes.back() && group.size() > 1)
      counts = {int(std::accumulate(counts.begin(), counts.end(), 0))};
    before = size;
    if (std::any_of(counts.begin(), counts.end(), [](int n) { return n > 1; }))
      places.levels.push_back(std::move(counts));
  }
  if (places.levels.empty()) places.levels.push_back({int(places.seats.size())});
}

Status check_seats(const Plan& plan, const std::vector<uint32_t>& seats) {
  if (seats.empty()) return {Code::invalid, "no place is free"};
  std::vector<bool> seen(plan.places());
  for (const uint32_t seat : seats) {
    if (seat >= plan.places())
      return {Code::invalid,
              fmt::format("there is no place {}; the room has {} to {}", seat, 0, plan.places() - 1)};
    if (seen[seat]) return {Code::invalid, fmt::format("place {} twice", seat)};
    seen[seat] = true;
    if (!plan.room) continue;
    const Room& room = *plan.room;
    const uint32_t host = room.chips_per_host > 0 ? room.host_of(seat) : seat;
    if (std::binary_search(room.dead_hosts.begin(), room.dead_hosts.end(), host) ||
        (room.chips_per_host > 0 && room.is_dead(seat)))
      return {Code::invalid, fmt::format("{} is dead", seat)};
  }
  return plan.room ? check_joined(*plan.room, seats) : Status();
}

bool is_prefix(const std::vector<uint32_t>& seats) {
  for (size_t i = 0; i < seats.size(); i++)
    if (seats[i] != i) return false;
  return true;
}

// A whole lattice has a ring without any search, most often.
topology::Cycle find_ring(const topology::Fabric& fabric, std::string& why) {
  if (fabric.whole()) {
    auto cycle = topology::mesh_ring(fabric.lattice());
    if (!cycle.empty() && topology::check_rings(fabric, {cycle}).empty()) return cycle;
  }
  auto found = topology::rings(fabric);
  if (!found.cycles.empty()) return std::move(found.cycles.front());
  why = found.why;
  return {};
}

Result<topology::Fabric> fabric_of_job(const Plan& plan, std::span<const uint32_t> seats) {
  auto fabric = topology::fabric_of(*plan.room);
  if (!fabric.ok() || seats.size() == fabric->ups()) return fabric;
  std::vector<bool> up(fabric->chips());
  for (const uint32_t seat : seats) up[seat] = true;
  std::vector<topology::Fabric::Edge> edges(fabric->edges().begin(), fabric->edges().end());
  topology::Fabric job(up, up, std::move(edges));
  job.switched = fabric->switched;
  return job;
}

}  // namespace

uint64_t Plan::places() const noexcept {
  if (!room) return ideal;
  return room->chips_per_host > 0 ? room->chips() : room->hosts;
}

Result<Plan> read_plan(std::string_view text, const std::string& file) {
  if (auto ideal = read_ideal(text)) {
    if (ideal->ok()) return std::move(*ideal);
    return Status(Code::invalid, fmt::format("{}: {}", file, ideal->status().text()));
  }
  auto room = topology::parse_room(text, file);
  if (!room.ok()) return room.status();
  Plan plan;
  plan.room = std::move(*room);
  if (plan.places() > kMostPlaces)
    return Status(Code::unsupported, fmt::format("{}: {} places; a simulation has at most {}", file,
                                                 plan.places(), kMostPlaces));
  return plan;
}

std::vector<uint32_t> free_places(const Plan& plan) {
  std::vector<uint32_t> places;
  const Room* room = plan.room ? &*plan.room : nullptr;
  for (uint32_t i = 0; i < plan.places(); i++) {
    const bool chips = room && room->chips_per_host > 0;
    if (chips && (room->is_dead(i) || room->is_taken(i))) continue;
    if (room && !chips && std::binary_search(room->dead_hosts.begin(), room->dead_hosts.end(), i)) continue;
    places.push_back(i);
  }
  return places;
}

std::vector<uint64_t> group_sizes(const Room& room) {
  std::vector<uint64_t> sizes;
  const uint64_t chips = std::max(1u, room.chips_per_host), all = room.hosts * chips;
  add_dimensions(room, sizes);
  if (room.chips_per_host > 0) add_host(room, sizes);
  if (!room.tiers.empty() && room.pod_factors == 0) sizes.push_back(room.tiers[0].below * chips);
  std::sort(sizes.begin(), sizes.end());
  std::vector<uint64_t> chain;
  for (const uint64_t size : sizes) {
    const uint64_t before = chain.empty() ? 1 : chain.back();
    if (size > before && size < all && size % before == 0) chain.push_back(size);
  }
  chain.push_back(all);
  return chain;
}

Result<Places> take_places(const Plan& plan, std::vector<uint32_t> seats) {
  PLAIT_TRY(check_seats(plan, seats));
  Places places;
  places.host = plan.host();
  if (plan.room) {
    auto network = room_network(*plan.room);
    if (!network.ok()) return network.status();
    places.network = std::move(*network);
  } else {
    places.network = ideal_network(int32_t(plan.ideal));
  }
  if (!is_prefix(seats)) places.network = seated(std::move(places.network), seats);
  places.seats = std::move(seats);
  find_levels(plan.room ? group_sizes(*plan.room) : std::vector<uint64_t>{plan.ideal}, places);
  return places;
}

Result<std::vector<int32_t>> ring_of_links(const Plan& plan, std::span<const uint32_t> seats) {
  if (!plan.room || plan.room->factors.empty())
    return Status(Code::unsupported, "no links join chips in this room");
  auto fabric = fabric_of_job(plan, seats);
  if (!fabric.ok()) return fabric.status();
  if (fabric->ups() != seats.size())
    return Status(Code::unsupported, "a ring of links is through all places of the job");
  std::string why;
  const topology::Cycle cycle = find_ring(*fabric, why);
  if (cycle.empty()) return Status(Code::unsupported, "no ring of links: " + why);
  std::vector<int32_t> rank(fabric->chips(), -1), order;
  for (size_t r = 0; r < seats.size(); r++) rank[seats[r]] = int32_t(r);
  for (const uint32_t chip : cycle) order.push_back(rank[chip]);
  return order;
}

}  // namespace plait::sim
