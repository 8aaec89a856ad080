// What plait-sim reads: rooms, faults and sizes in words, parameters as JSON.
#include <string>

#include "fuzz.h"
#include "sim/what_if.h"

namespace plait::fuzz {
namespace {

using namespace sim;

void check_network(const Network& network) {
  const int32_t last = network.terminals() - 1;
  require(last >= 0 && last < kMostPlaces, "a room has places");
  if (last == 0) return;
  std::vector<uint32_t> way;
  network.route(0, last, way);
  int32_t at = 0;
  for (uint32_t link : way) {
    require(link < network.links(), "routes are of links");
    require(network.link(link).from == at, "that follow each other");
    at = network.link(link).to;
  }
  require(way.empty() ? network.links() == 0 : at == last, "to where they lead");
}

void try_words(const std::string& text) {
  auto room = read_room(text);
  if (room.ok()) {
    check_network(*room->network);
  } else {
    require(is_printable(room.status().text()), "a reason can be printed");
  }
  static const auto kRoom = read_room("2 hosts x 4 chips");
  WhatIf what_if;
  const Status status = read_what_if(text, *kRoom, 8, what_if);
  require(status.ok() || is_printable(status.text()), "a reason can be printed");
  for (const Change& c : what_if.changes)
    require(c.target < (c.kind == Change::Kind::link ? kRoom->network->links() : 8), "what changes is there");
  (void)read_size(text);
  (void)read_time(text);
  Parameters parameters = default_parameters();
  const Status read = read_parameters(text, "file", parameters);
  require(read.ok() ? check(parameters).ok() : is_printable(read.text()), "parameters are sound");
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < (1 << 12)) plait::fuzz::try_words({reinterpret_cast<const char*>(data), size});
  return 0;
}
