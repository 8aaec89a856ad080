// The text form of rooms, line by line.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "topology/room.h"
#include "topology/units.h"

namespace plait::topology {
namespace {

using Words = std::vector<std::string_view>;

constexpr size_t kMostBytes = size_t{16} << 20;

Words split(std::string_view line, std::string_view at) {
  Words words;
  while (!line.empty()) {
    const size_t end = std::min(line.find_first_of(at), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

bool number(std::string_view word, uint32_t& value) {
  uint32_t read = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), read);
  if (error != std::errc() || end != word.data() + word.size()) return false;
  value = read;
  return true;
}

std::string quoted(std::string_view word) { return fmt::format("'{}'", word.substr(0, 40)); }

// A line, word by word. What does not fit is an error of the first thing only.
class Line {
 public:
  explicit Line(Words words) : words_(std::move(words)) {}
  bool done() const { return at_ == words_.size(); }
  std::string_view peek() const { return done() ? std::string_view() : words_[at_]; }
  std::string_view next() { return done() ? std::string_view() : words_[at_++]; }
  bool take(std::string_view word) {
    if (done() || peek() != word) return false;
    at_++;
    return true;
  }
  // "chip" and "chips".
  bool take_noun(std::string_view one) {
    if (!peek().starts_with(one) || (peek().substr(one.size()) != "s" && peek() != one)) return false;
    at_++;
    return true;
  }
  bool take_number(uint32_t& value) {
    if (!number(peek(), value)) return false;
    at_++;
    return true;
  }
  // Rates and latencies in any order.
  void take_amounts(double* bytes_per_s, double* latency_s) {
    for (; !done(); at_++) {
      const auto rate = parse_rate(peek());
      const auto time = parse_latency(peek());
      if (rate && bytes_per_s != nullptr)
        *bytes_per_s = *rate;
      else if (time && latency_s != nullptr)
        *latency_s = *time;
      else
        return;
    }
  }

 private:
  Words words_;
  size_t at_ = 0;
};

class Reader {
 public:
  // Why the line is refused; empty: it was understood.
  std::string line(std::string_view text);
  Result<Room> finish();

 private:
  std::string machines(Line& line);
  std::string parts(Line& line);
  std::string shape(Line& line, bool pod);
  std::string shape_sizes(Line& line, std::string_view word, std::vector<Factor>& factors);
  std::string leaf(Line& line);
  std::string fat_tree(Line& line);
  std::string tier_words(Line& line, Tier& tier, uint32_t* spines);
  std::string dead(Line& line);
  std::string list(Line& line, std::vector<uint32_t>& into);
  std::string links(Line& line);
  std::string count(uint32_t value, uint32_t& into, bool& given, std::string_view what);

  Room room_;
  std::vector<Factor> pod_;
  uint32_t tree_ports_ = 0, tree_hosts_ = 0;  // of a fat-tree; 0: there is none
  bool hosts_given_ = false, chips_given_ = false, anything_ = false, spread_ = false;
  bool nics_given_ = false, cores_given_ = false, sockets_given_ = false;
};

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

std::string Reader::list(Line& l, std::vector<uint32_t>& into) {
  if (l.done()) return "of which? Say '0-7,12'";
  while (!l.done()) {
    const std::string_view word = l.next();
    const Words ends = split(word, "-");
    uint32_t first = 0, last = 0;
    if (ends.empty() || ends.size() > 2 || !number(ends.front(), first) || !number(ends.back(), last) ||
        last < first || last >= kMostChips)
      return quoted(word) + " is neither a number nor a range such as 0-7";
    if (into.size() + (last - first) > kMostChips) return "too many";
    for (uint32_t i = first; i <= last; i++) into.push_back(i);
  }
  std::sort(into.begin(), into.end());
  into.erase(std::unique(into.begin(), into.end()), into.end());
  return {};
}

std::string Reader::links(Line& l) {
  if (l.done()) return "between which chips? Say 'dead link 3-4'";
  while (!l.done()) {
    const std::string_view word = l.next();
    const Words ends = split(word, "-");
    uint32_t a = 0, b = 0;
    if (ends.size() != 2 || !number(ends[0], a) || !number(ends[1], b) || a == b)
      return quoted(word) + " is no link: say 'dead link 3-4'";
    room_.dead_links.emplace_back(std::min(a, b), std::max(a, b));
  }
  std::sort(room_.dead_links.begin(), room_.dead_links.end());
  room_.dead_links.erase(std::unique(room_.dead_links.begin(), room_.dead_links.end()),
                         room_.dead_links.end());
  return {};
}

std::string Reader::dead(Line& l) {
  if (l.take_noun("chip")) return list(l, room_.dead_chips);
  if (l.take_noun("host")) return list(l, room_.dead_hosts);
  if (l.take_noun("link")) return links(l);
  return "chips, hosts and links can be dead, not " + quoted(l.peek());
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

}  // namespace

Result<Room> parse_room(std::string_view text, const std::string& file) {
  auto refuse = [&](size_t line, std::string why) {
    make_printable(why);
    return Status(Code::invalid, fmt::format("{}:{}: {}", file, line, why));
  };
  if (text.size() > kMostBytes) return refuse(1, fmt::format("longer than {} MiB", kMostBytes >> 20));
  Reader reader;
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
