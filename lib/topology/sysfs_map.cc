#include "topology/sysfs_map.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>

#include "topology/sysfs_files.h"

namespace plait::topology {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostNuma = 1023, kMostPackages = 65535;
constexpr size_t kMostBelow = 64;  // interfaces below one

bool is_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos;
}

class SysfsReader {
 public:
  explicit SysfsReader(const std::string& root) : root_(root) {
    std::error_code none;
    devices_ = fs::canonical(root_ / "devices", none);
    graph_.add(Kind::host, kNone, "host");
  }

  void read_parts();
  void add_nic(NicClass nic_class, const std::string& name);
  void add_chip(const PciAddress& address);
  Result<SysfsMap> finish();

 private:
  struct Spot {
    NodeId in = 0;
    std::optional<PciAddress> pci;
    bool found = false;
  };

  NodeId package_of(const cpu_set_t& cpus);
  std::optional<fs::path> device_of(const fs::path& link);
  Spot spot_of_link(const fs::path& link);
  Spot spot_of_interface(const std::string& name);
  NodeId numa_of(const fs::path& device);
  Spot spot_of(const fs::path& device);
  NodeId part_at(NodeId in, const fs::path& path, Kind kind, const std::string& name);
  NodeId common(NodeId a, NodeId b);

  fs::path root_, devices_;
  Notes notes_;
  GraphBuilder graph_;
  SysfsMap map_;
  std::map<int64_t, NodeId> packages_, numa_;
  std::map<std::pair<NodeId, std::string>, NodeId> parts_;
};

// NUMA nodes, each in the socket of its first CPU.
void SysfsReader::read_parts() {
  const fs::path folder = root_ / "devices/system/node";
  for (int64_t number = 0; number <= kMostNuma; number++) {
    const fs::path at = folder / fmt::format("node{}", number);
    std::error_code none;
    if (!fs::is_directory(at, none)) continue;
    const cpu_set_t cpus = cpus_in(at / "cpulist", notes_);
    const NodeId id = graph_.add(Kind::numa, package_of(cpus), fmt::format("NUMA node {}", number));
    graph_.at(id).system = int32_t(number);
    numa_[number] = id;
    map_.numa.push_back({id, cpus});
  }
}

NodeId SysfsReader::package_of(const cpu_set_t& cpus) {
  int cpu = 0;
  while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &cpus)) cpu++;
  if (cpu == CPU_SETSIZE) return 0;
  const auto number =
      whole_number_in(root_ / fmt::format("devices/system/cpu/cpu{}/topology/physical_package_id", cpu), -1,
                      kMostPackages, notes_);
  if (number.value_or(-1) < 0) return 0;
  const auto [at, is_new] = packages_.try_emplace(*number, kNone);
  if (is_new) {
    at->second = graph_.add(Kind::package, 0, fmt::format("socket {}", *number));
    graph_.at(at->second).system = int32_t(*number);
  }
  return at->second;
}

// The folder in ROOT/devices that a link of a class leads to. Nothing: there is no such link, or a broken
// one.
std::optional<fs::path> SysfsReader::device_of(const fs::path& link) {
  std::error_code error;
  if (!fs::is_symlink(link, error)) return std::nullopt;
  fs::path device = fs::canonical(link, error);
  if (error) {
    notes_.add(link, "a link that leads nowhere: " + error.message());
    return std::nullopt;
  }
  const auto [end, unused] = std::ranges::mismatch(devices_, device);
  if (!devices_.empty() && end == devices_.end()) return device;
  notes_.add(link, "a link out of " + devices_.string());
  return std::nullopt;
}

// kNone: not known.
NodeId SysfsReader::numa_of(const fs::path& device) {
  for (fs::path at = device; at != devices_; at = at.parent_path()) {
    const auto number = whole_number_in(at / "numa_node", -1, kMostNuma, notes_);
    if (number.value_or(-1) < 0) continue;
    if (const auto found = numa_.find(*number); found != numa_.end()) return found->second;
    notes_.add(at / "numa_node", fmt::format("there is no NUMA node {}", *number));
  }
  return numa_.size() == 1 ? numa_.begin()->second : kNone;
}

NodeId SysfsReader::part_at(NodeId in, const fs::path& path, Kind kind, const std::string& name) {
  const auto [at, is_new] = parts_.try_emplace({in, path.string()}, kNone);
  if (is_new) at->second = graph_.add(kind, in, name);
  return at->second;
}

// A device's path names the ports of the bridges above it. Behind the root port they come in pairs: where a
// switch begins, and which of its ports it is.
SysfsReader::Spot SysfsReader::spot_of(const fs::path& device) {
  const NodeId numa = numa_of(device);
  Spot spot{numa == kNone ? 0 : numa, {}, true};
  std::vector<fs::path> ports;
  fs::path at = devices_;
  for (const fs::path& part : device.lexically_relative(devices_)) {
    at /= part;
    const std::string name = part.string();
    if (const auto address = parse_pci(name)) {
      spot.pci = address;
      ports.push_back(at);
    } else if (name.starts_with("pci") && ports.empty()) {
      spot.in = part_at(spot.in, at, Kind::bridge, "host bridge " + name.substr(3));
    }
  }
  for (size_t i = 1; i + 1 < ports.size(); i += 2) {
    const std::string name = ports[i].filename().string();
    spot.in = part_at(spot.in, ports[i], Kind::pci_switch, "PCI " + name);
    graph_.at(spot.in).pci = parse_pci(name);
  }
  return spot;
}

NodeId SysfsReader::common(NodeId a, NodeId b) {
  while (a != b) (a > b ? a : b) = graph_.at(std::max(a, b)).parent;
  return a;
}

SysfsReader::Spot SysfsReader::spot_of_link(const fs::path& link) {
  const auto device = device_of(link);
  return device ? spot_of(*device) : Spot();
}

// VLANs, bonds and bridges have no device; they are where what is below them is, or what all of that is in.
SysfsReader::Spot SysfsReader::spot_of_interface(const std::string& name) {
  Spot spot;
  std::vector<std::string> names = {name};
  for (size_t i = 0; i < names.size(); i++) {
    const fs::path at = root_ / "class/net" / names[i];
    if (const Spot its = spot_of_link(at / "device"); its.found) {
      const bool same = spot.pci == its.pci;
      spot = spot.found ? Spot{common(spot.in, its.in), same ? its.pci : std::nullopt, true} : its;
      continue;
    }
    std::error_code error;
    for (fs::directory_iterator file(at, error), end; !error && file != end; file.increment(error)) {
      const std::string entry = file->path().filename().string();
      if (!entry.starts_with("lower_") || names.size() == kMostBelow) continue;
      if (std::ranges::find(names, entry.substr(6)) == names.end()) names.push_back(entry.substr(6));
    }
  }
  return spot;
}

void SysfsReader::add_nic(NicClass nic_class, const std::string& name) {
  const bool net = nic_class == NicClass::net;
  // "eth0:1" is an alias of eth0, "mlx5_0/2" the second port.
  const size_t cut = std::min(name.find(net ? ':' : '/'), name.size());
  const std::string device = name.substr(0, cut);
  const std::string port = net || cut == name.size() ? "1" : name.substr(cut + 1);
  const bool is_name = is_file_name(device) && is_file_name(port);
  const fs::path at = root_ / (net ? "class/net" : "class/infiniband") / (is_name ? device : "-");
  const Spot spot = !is_name ? Spot() : net ? spot_of_interface(device) : spot_of_link(at / "device");
  const NodeId id = graph_.add(Kind::nic, spot.in, name.substr(0, kMostName));
  Node& node = graph_.at(id);
  node.pci = spot.pci;
  node.port_bytes_per_s =
      net ? number_in(at / "speed") * 1e6 / 8 : number_in(at / "ports" / port / "rate") * 1e9 / 8;
  map_.nics.push_back(id);
  map_.devices.push_back(spot.found);
}

void SysfsReader::add_chip(const PciAddress& address) {
  const Spot spot = spot_of_link(root_ / "bus/pci/devices" / to_string(address));
  if (!spot.found) return map_.chips.push_back(kNone);
  map_.chips.push_back(graph_.add(Kind::chip, spot.in, to_string(address)));
  graph_.at(map_.chips.back()).pci = address;
}

Result<SysfsMap> SysfsReader::finish() {
  auto graph = graph_.build();
  if (!graph.ok()) return graph.status();
  map_.graph = std::move(graph).value();
  map_.notes = notes_.take();
  return std::move(map_);
}

}  // namespace

Result<SysfsMap> read_sysfs(const std::string& root, const SysfsWish& wish) {
  if (wish.nics.size() > kMostWished || wish.chips.size() > kMostWished)
    return Status(Code::invalid, fmt::format("more than {} NICs or chips are asked for", kMostWished));
  SysfsReader reader(root);
  reader.read_parts();
  for (const std::string& nic : wish.nics) reader.add_nic(wish.nic_class, nic);
  for (const PciAddress& chip : wish.chips) reader.add_chip(chip);
  return reader.finish();
}

NodeId place_of(const SysfsMap& map, const cpu_set_t& cpus) {
  NodeId place = kNone;
  cpu_set_t left = cpus;
  for (const SysfsMap::NumaCpus& numa : map.numa) {
    cpu_set_t both;
    CPU_AND(&both, &cpus, &numa.cpus);
    if (CPU_COUNT(&both) == 0) continue;
    place = place == kNone ? numa.node : map.graph.common(place, numa.node);
    CPU_XOR(&left, &left, &both);
  }
  return place == kNone || CPU_COUNT(&left) != 0 ? 0 : place;
}

}  // namespace plait::topology
