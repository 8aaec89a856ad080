// What plait-sim reads: rooms, places, faults and sizes in words, parameters and measured times as JSON.
#include <string>

#include "fuzz.h"
#include "sim/measured.h"
#include "sim/what_if.h"
#include "sim/words.h"

namespace plait::fuzz {
namespace {

using namespace sim;

void check_route(const Network& network, int32_t from, int32_t to) {
  std::vector<uint32_t> way;
  network.route(from, to, way);
  int32_t at = from;
  for (uint32_t link : way) {
    require(link < network.links(), "routes are of links");
    require(network.link(link).from == at, "that follow each other");
    at = network.link(link).to;
    require(at >= 0 && at < network.nodes(), "over nodes");
  }
  // A rank needs no link to itself, and ideal rooms have none.
  require(way.empty() ? from == to || network.links() == 0 : at == to, "to where they lead");
}

void check_places(const Places& places) {
  const int32_t last = int32_t(places.seats.size()) - 1;
  require(last >= 0 && last < places.network->terminals(), "each rank has a place");
  if (last > 0) check_route(*places.network, 0, last);
  if (last > 1) check_route(*places.network, last / 2, 1);
}

void try_words(const std::string& text) {
  auto plan = read_plan(text, "room");
  auto seats = read_seats(text);
  require(seats.ok() || is_printable(seats.status().text()), "a reason can be printed");
  if (plan.ok() && plan->places() <= 4096) {
    auto places = take_places(*plan, free_places(*plan));
    if (places.ok()) check_places(*places);
    require(places.ok() || is_printable(places.status().text()), "a reason can be printed");
  } else if (!plan.ok()) {
    require(is_printable(plan.status().text()), "a reason can be printed");
  }
  static const auto kPlan = read_plan("2 hosts x 4 chips x 1 nic", "room");
  static const auto kPlaces = take_places(*kPlan, free_places(*kPlan));
  WhatIf what_if;
  const Status status = read_what_if(text, *kPlaces, what_if);
  require(status.ok() || is_printable(status.text()), "a reason can be printed");
  for (const Change& c : what_if.changes)
    require(c.target < (c.kind == Change::Kind::link ? kPlaces->network->links() : 8),
            "what changes is there");
  (void)read_size(text);
  (void)read_time(text);
  Parameters parameters = default_parameters();
  const Status read = read_parameters(text, "file", parameters);
  require(read.ok() ? check(parameters).ok() : is_printable(read.text()), "parameters are sound");
  const auto rows = read_measured(text, "file");
  require(rows.ok() || is_printable(rows.status().text()), "a reason can be printed");
  if (!rows.ok()) return;
  for (const Measured& m : merged(*rows))
    require(m.seconds > 0 && m.root >= 0 && m.root < m.ranks, "calls can be simulated");
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < (1 << 12)) plait::fuzz::try_words({reinterpret_cast<const char*>(data), size});
  return 0;
}
