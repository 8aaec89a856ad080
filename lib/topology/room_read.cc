// The text form of rooms, line by line.
#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/text.h"
#include "topology/room_reader.h"

namespace plait::topology {
namespace room_text {

std::string Reader::count(uint32_t value, uint32_t& into, bool& given, std::string_view what) {
  if (given && into != value) return fmt::format("{} {}, and a line before said {}", value, what, into);
  if (value == 0 || value > kMostChips) return fmt::format("{} {}", value, what);
  into = value;
  given = true;
  return {};
}

// "x 2 nics 100Gb/s 1us and 4 chips"
std::string Reader::parts(Line& l) {
  while (l.take("x") || l.take("with") || l.take("and")) {
    uint32_t value = 0;
    if (!l.take_number(value))
      return "a number of chips, nics, sockets or cores must follow, not " + quoted(l.peek());
    std::string why;
    if (l.take_noun("chip")) {
      why = count(value, room_.chips_per_host, chips_given_, "chips a host");
    } else if (l.take_noun("nic")) {
      why = count(value, room_.nics_per_host, nics_given_, "nics a host");
      l.take_amounts(&room_.nic_bytes_per_s, &room_.nic_latency_s);
    } else if (l.take_noun("socket")) {
      why = count(value, room_.sockets_per_host, sockets_given_, "sockets a host");
    } else if (l.take_noun("core")) {
      why = count(value, room_.cores_per_host, cores_given_, "cores a host");
    } else {
      why = "hosts have chips, nics, sockets and cores, not " + quoted(l.peek());
    }
    if (!why.empty()) return why;
  }
  return {};
}

std::string Reader::machines(Line& l) {
  uint32_t value = 0;
  if (l.take("hosts")) {  // "hosts of 4 chips"
    if (!l.take("of") || !l.take_number(value) || !l.take_noun("chip")) return "say 'hosts of 4 chips'";
    spread_ = true;
    std::string why = count(value, room_.chips_per_host, chips_given_, "chips a host");
    return why.empty() ? parts(l) : why;
  }
  l.take_number(value);
  if (!l.take_noun("host")) return "a number is followed by 'hosts' here, not by " + quoted(l.peek());
  if (std::string why = count(value, room_.hosts, hosts_given_, "hosts"); !why.empty()) return why;
  return parts(l);
}

std::string Reader::line(std::string_view text) {
  Line l(split(text.substr(0, text.find('#')), " \t\r,"));
  if (l.done()) return {};
  anything_ = true;
  std::string why;
  if (l.take("dead")) {
    why = dead(l);
  } else if (l.take("taken")) {
    l.take_noun("chip");
    why = list(l, room_.taken_chips);
  } else if (l.take("leaf")) {
    why = leaf(l);
  } else if (l.take("fat-tree")) {
    why = fat_tree(l);
  } else if (l.take("pod")) {
    why = shape(l, true);
  } else if (uint32_t n = 0; l.peek() == "hosts" || number(l.peek(), n)) {
    why = machines(l);
  } else {
    why = shape(l, false);
  }
  if (why.empty() && !l.done()) why = quoted(l.peek()) + " is not understood here";
  return why;
}

Result<Room> Reader::finish() {
  if (!anything_) return Status(Code::invalid, "a room without hosts or chips");
  auto size = [](const std::vector<Factor>& factors) {
    uint64_t all = 1;
    for (const Factor& f : factors) all = std::min<uint64_t>(all * f.size, kMostChips + 1);
    return all;
  };
  Room& r = room_;
  if (!pod_.empty() && !hosts_given_) r.hosts = uint32_t(size(pod_));
  if (pod_.empty() && !hosts_given_ && !spread_ && tree_hosts_ > 0) r.hosts = tree_hosts_;
  if (spread_ && !pod_.empty())
    return Status(Code::invalid, "'hosts of ... chips' and a pod: say 'pod ... of hosts with 4 chips'");
  const uint64_t shaped = size(r.factors);
  if (spread_ && !hosts_given_) {
    if (shaped % r.chips_per_host != 0)
      return Status(Code::invalid, fmt::format("{} chips are not hosts of {}", shaped, r.chips_per_host));
    r.hosts = uint32_t(shaped / r.chips_per_host);
  }
  if (tree_hosts_ > 0 && r.hosts > tree_hosts_)
    return Status(Code::invalid, fmt::format("a fat-tree of {} ports has {} hosts, the room {}", tree_ports_,
                                             tree_hosts_, r.hosts));
  if (!r.factors.empty() && !chips_given_) r.chips_per_host = uint32_t(shaped);
  if (!pod_.empty()) {
    if (r.chips_per_host == 0) r.chips_per_host = 1;
    if (r.factors.empty() && r.chips_per_host > 1)
      r.factors.push_back({FactorKind::full, r.chips_per_host, kChipBytesPerS, kChipLatencyS});
    r.pod_factors = uint32_t(pod_.size());
    r.factors.insert(r.factors.begin(), pod_.begin(), pod_.end());
  }
  if (r.nics_per_host > 0 && r.nic_bytes_per_s == 0) r.nic_bytes_per_s = kNicBytesPerS;
  if (r.nics_per_host > 0 && r.nic_latency_s == 0) r.nic_latency_s = kNicLatencyS;
  if (Status fits = check_room(r); !fits.ok()) return fits;
  return std::move(room_);
}

}  // namespace room_text

constexpr size_t kMostRoomBytes = size_t{16} << 20;

Result<Room> parse_room(std::string_view text, const std::string& file) {
  auto refuse = [&](size_t line, std::string why) {
    make_printable(why);
    return Status(Code::invalid, fmt::format("{}:{}: {}", file, line, why));
  };
  if (text.size() > kMostRoomBytes) return refuse(1, fmt::format("longer than {} MiB", kMostRoomBytes >> 20));
  room_text::Reader reader;
  size_t count = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    count++;
    if (std::string why = reader.line(text.substr(0, end)); !why.empty())
      return refuse(count, std::move(why));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  Result<Room> room = reader.finish();
  if (!room.ok()) return refuse(std::max<size_t>(count, 1), std::string(room.status().text()));
  return room;
}

}  // namespace plait::topology
