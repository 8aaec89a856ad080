#include "sim/room.h"

#include <spdlog/fmt/fmt.h>

#include "sim/networks.h"
#include "sim/words.h"

namespace plait::sim {

namespace {

// What a room's words say, whatever its kind.
struct Said {
  std::string kind;
  std::vector<int32_t> sizes;
  Clos clos;
  double rate = 0, latency = -1;
};

Status too_many() { return {Code::invalid, fmt::format("a room has at most {} places", kMostPlaces)}; }

Status read_sizes(Words& words, Said& said) {
  int64_t places = 1;
  do {
    auto size = words.take_count(kMostPlaces);
    if (!size.ok()) return size.status();
    places *= *size;
    if (places > kMostPlaces) return too_many();
    said.sizes.push_back(*size);
    if (said.sizes.size() > 8) return {Code::invalid, "a room has at most 8 dimensions"};
  } while (words.skip("x"));
  return {};
}

Status read_hosts(Words& words, Said& said) {
  said.kind = "hosts";
  Clos& c = said.clos;
  do {
    auto size = words.take_count(kMostPlaces);
    if (!size.ok()) return size.status();
    const std::string unit = words.take();
    if (unit == "leaves" || unit == "leaf" || unit == "pods" || unit == "pod")
      c.leaves = *size;
    else if (unit == "hosts" || unit == "host")
      c.hosts = *size;
    else if (unit == "chips" || unit == "chip")
      c.chips = *size;
    else if (unit == "nics" || unit == "nic")
      c.nics = *size;
    else
      return {Code::invalid,
              fmt::format("'{}' where leaves, hosts, chips or nics are expected", shown(unit))};
  } while (words.skip("x"));
  if (int64_t{c.leaves} * c.hosts > kMostPlaces ||
      int64_t{c.leaves} * c.hosts * std::max(c.chips, c.nics) > kMostPlaces)
    return too_many();
  return {};
}

Status read_kind(Words& words, Said& said) {
  if (words.number()) return read_hosts(words, said);
  said.kind = words.take();
  if (said.kind == "hybrid" && words.skip("cube") && words.skip("mesh")) return {};
  if (said.kind == "mesh" || said.kind == "torus" || said.kind == "ring" || said.kind == "ideal") {
    PLAIT_TRY(read_sizes(words, said));
    const bool flat = said.kind == "ring" || said.kind == "ideal";
    if (flat && said.sizes.size() > 1) return {Code::invalid, said.kind + " has one size"};
    return {};
  }
  return {Code::invalid,
          fmt::format("'{}' is no room: ideal, ring, mesh, torus, hybrid cube mesh, or '4 hosts x 8 chips'",
                      shown(said.kind))};
}

Status read_options(Words& words, Said& said) {
  auto put = [](Result<double> value, double& to) {
    if (value.ok()) to = *value;
    return value.status();
  };
  while (!words.done()) {
    if (words.number()) {
      Words ahead = words;
      if (auto rate = ahead.take_rate(); rate.ok()) {
        words = ahead, said.rate = *rate;
        continue;
      }
      PLAIT_TRY(put(words.take_time(), said.latency));
    } else if (said.kind == "hosts" && words.skip("inside")) {
      PLAIT_TRY(put(words.take_rate(), said.clos.inside.capacity));
    } else if (said.kind == "hosts" && words.skip("oversubscribed")) {
      PLAIT_TRY(put(words.take_number(1e6), said.clos.oversubscribed));
      if (said.clos.oversubscribed < 1)
        return {Code::invalid, "oversubscribed by 1 is not at all; less is not understood"};
    } else if (said.kind == "hosts" && words.skip("switch")) {
      PLAIT_TRY(put(words.take_rate(), said.clos.leaf_capacity));
    } else {
      return {Code::invalid, fmt::format("'{}' is not understood", shown(words.peek()))};
    }
  }
  return {};
}

Room make(const Said& said) {
  Cable cable{said.rate > 0 ? said.rate : 50e9, said.latency >= 0 ? said.latency : 3e-7};
  Room room;
  if (said.kind == "ideal") {
    room.network = ideal_network(said.sizes[0]);
  } else if (said.kind == "hybrid") {
    room.network = hybrid_cube_mesh(cable);
    room.levels = {4, 2};
  } else if (said.kind == "hosts") {
    Clos c = said.clos;
    if (said.rate > 0) c.nic.capacity = said.rate;
    if (said.latency >= 0) c.nic.latency = said.latency;
    room.network = clos(c);
    room.host = c.chips;
    for (int size : {c.chips, c.hosts, c.leaves})
      if (size > 1) room.levels.push_back(size);
  } else {
    room.network = lattice(said.sizes, said.kind != "mesh", cable);
    room.levels.assign(said.sizes.begin(), said.sizes.end());
  }
  if (room.levels.empty()) room.levels.push_back(room.network->terminals());
  return room;
}

}  // namespace

Result<Room> read_room(std::string_view text) {
  Words words(text);
  Said said;
  Status status = read_kind(words, said);
  if (status.ok()) status = read_options(words, said);
  if (!status.ok()) return Status(Code::invalid, fmt::format("room '{}': {}", shown(text), status.text()));
  return make(said);
}

Result<uint64_t> read_size(std::string_view text) {
  Words words(text);
  auto value = words.take_number(0x1p60);
  if (!value.ok()) return text == "0" ? Result<uint64_t>(uint64_t{0}) : Result<uint64_t>(value.status());
  std::string unit = words.take();
  int shift = -1;
  for (std::string_view tail : {"iB", "B", "i"})
    if (unit.size() > tail.size() && unit.ends_with(tail)) unit.resize(unit.size() - tail.size());
  if (unit.empty() || unit == "B") shift = 0;
  if (unit == "K" || unit == "k") shift = 10;
  if (unit == "M") shift = 20;
  if (unit == "G") shift = 30;
  if (shift < 0 || !words.done())
    return Status(Code::invalid, fmt::format("'{}' is no size, such as 64K, 256M or 1G", shown(text)));
  return uint64_t(*value * double(uint64_t{1} << shift));
}

Result<double> read_time(std::string_view text) {
  Words words(text);
  auto time = words.take_time();
  if (time.ok() && !words.done()) return Status(Code::invalid, fmt::format("'{}' is no time", shown(text)));
  return time;
}

}  // namespace plait::sim
