#include <spdlog/fmt/fmt.h>

#include <set>
#include <vector>

#include "documents/text_file.h"
#include "documents/xml.h"
#include "topology/readers.h"
#include "topology/units.h"
#include "topology/xml_numbers.h"

namespace plait::topology {
namespace {

constexpr size_t kMostHwlocBytes = size_t{64} << 20;
constexpr uint32_t kDeepestHwloc = 64;

// hwloc's numbers of what the operating system calls a device.
enum class OsDevice : int64_t { block, gpu, network, openfabrics, dma, coprocessor };

class HwlocReader : public documents::XmlHandler {
 public:
  std::string open(const documents::XmlElement& e) override {
    if (e.depth() > kDeepestHwloc)
      return fmt::format("elements {} deep: {} is the most", e.depth(), kDeepestHwloc);
    if (e.depth() == 0) return root(e);
    open_.resize(e.depth(), kNone);
    if (e.name() == "object") return object(e);
    if (e.name() == "info") info(e);
    return {};
  }
  Result<Graph> finish(const std::string& file) {
    if (graph_.size() < 2) return documents::refuse(file, 1, "no Machine in it");
    Result<Graph> graph = graph_.build();
    if (!graph.ok()) return documents::refuse(file, 1, std::string(graph.status().text()));
    return graph;
  }

 private:
  std::string root(const documents::XmlElement& e) {
    if (e.name() != "topology") return "the outermost element is <topology>";
    const std::string_view version = e.find("version").value_or("1");
    if (!version.starts_with("2.") && version != "2")
      return "hwloc XML of version '" + std::string(version.substr(0, 16)) +
             "', not 2: export it with lstopo of hwloc 2";
    graph_.add(Kind::room, kNone, "room");
    return {};
  }
  NodeId parent() const {
    for (size_t i = open_.size(); i-- > 0;) {
      if (open_[i] != kNone) return open_[i];
    }
    return 0;
  }
  NodeId add(Kind kind, std::string name, int64_t system = -1) {
    const NodeId id = graph_.add(kind, parent(), std::move(name));
    graph_.at(id).system = int32_t(system);
    open_.push_back(id);
    return id;
  }

  std::string object(const documents::XmlElement& e) {
    Attributes a(e);
    if (graph_.size() > 1000000) return "more than 1000000 objects";
    const std::string_view type = a.text("type");
    const int64_t number = a.integer("os_index", -1, 0, INT32_MAX);
    if (!a.error().empty()) return a.error();
    if (type.empty()) return "an <object> without type";
    if (type == "Machine") {
      if (machine_ != kNone) return "a second Machine";
      machine_ = add(Kind::host, "host");
      return {};
    }
    if (machine_ == kNone) return "an <object> before the Machine";
    const Kind in = graph_.at(parent()).kind;
    const bool device = in == Kind::bridge || in == Kind::pci_switch || in == Kind::chip || in == Kind::nic;
    if (device && type != "Bridge" && type != "PCIDev" && type != "OSDev" && type != "Misc")
      return fmt::format("a {} behind PCI", type.substr(0, 20));
    return part(a, type, number);
  }

  std::string part(Attributes& a, std::string_view type, int64_t number) {
    if (type == "Package") {
      add(Kind::package, fmt::format("socket {}", number), number);
    } else if (type == "NUMANode") {
      numa(number);
    } else if (type == "L3Cache" || type == "L4Cache") {
      add(Kind::cache, std::string(type.substr(0, 2)), number);
    } else if (type == "Core") {
      if (!cores_.emplace(parent(), number).second)
        return fmt::format("a second core {} in one place", number);
      add(Kind::core, fmt::format("core {}", number), number);
    } else if (type == "Bridge") {
      return bridge(a);
    } else if (type == "PCIDev") {
      return device(a);
    } else if (type == "OSDev") {
      return os_device(a);
    }
    return {};  // groups, small caches, hardware threads, memory behind caches
  }

  // hwloc has memory beside the cores that are near it; here they are inside, and so is what follows in the
  // same parent.
  void numa(int64_t number) {
    const uint32_t depth = uint32_t(open_.size());
    const NodeId id = add(Kind::numa, fmt::format("NUMA node {}", number), number);
    // The parent's place in the stack now leads to the node; the element itself is empty.
    if (depth > 0 && graph_.at(graph_.at(id).parent).kind < Kind::numa) open_[depth - 1] = id;
  }

  std::string bridge(Attributes& a) {
    const bool host = a.text("bridge_type").starts_with("0-");
    if (host) {
      add(Kind::bridge, "host bridge");
      return {};
    }
    const auto address = parse_pci(a.text("pci_busid"));
    if (!address)
      return fmt::format("a Bridge at '{}', which is no PCI address", a.text("pci_busid").substr(0, 40));
    const NodeId id = add(Kind::pci_switch, "PCI " + to_string(*address));
    graph_.at(id).pci = address;
    return speed(a, id);
  }
  std::string speed(Attributes& a, NodeId id) {
    // GB/s each way.
    const double rate = a.real("pci_link_speed", 0, 10000);
    graph_.at(id).bytes_per_s = rate * 1e9;
    return a.error();
  }

  std::string device(Attributes& a) {
    const auto address = parse_pci(a.text("pci_busid"));
    if (!address)
      return fmt::format("a PCIDev at '{}', which is no PCI address", a.text("pci_busid").substr(0, 40));
    if (!addresses_.insert(*address).second) return fmt::format("a second PCIDev at {}", to_string(*address));
    // "0302 [10de:20b0] ...": 0300 is a screen, 0302 and 12xx compute.
    const std::string_view type = a.text("pci_type");
    const bool chip = type.starts_with("0302") || type.starts_with("12") || type.starts_with("0380");
    const bool nic = type.starts_with("02");
    if (!chip && !nic) return {};
    const NodeId id = add(chip ? Kind::chip : Kind::nic, to_string(*address));
    graph_.at(id).pci = address;
    return speed(a, id);
  }

  // Names the device that it is in; the RDMA device's name goes before the interface's.
  std::string os_device(Attributes& a) {
    const auto type = OsDevice(a.integer("osdev_type", 0, 0, 64));
    if (!a.error().empty()) return a.error();
    const NodeId in = parent();
    const std::string name(a.text("name").substr(0, kMostName));
    if (graph_.at(in).kind == Kind::nic && !name.empty() &&
        (type == OsDevice::openfabrics || !named_.contains(in))) {
      if (type == OsDevice::network || type == OsDevice::openfabrics) {
        graph_.at(in).name = printable(name);
        named_.insert(in);
      }
    }
    if (graph_.at(in).kind == Kind::chip && (type == OsDevice::coprocessor || type == OsDevice::gpu) &&
        !name.empty())
      graph_.at(in).name = printable(name);
    return {};
  }
  static std::string printable(std::string name) {
    for (char& c : name) c = static_cast<unsigned char>(c) < 32 || c == 127 ? '?' : c;
    return name;
  }

  void info(const documents::XmlElement& e) {
    if (e.find("name") == "HostName" && machine_ != kNone)
      graph_.at(machine_).name =
          printable(std::string(e.find("value").value_or("host").substr(0, kMostName)));
  }

  GraphBuilder graph_;
  std::vector<NodeId> open_;  // by depth; kNone: not in the graph
  NodeId machine_ = kNone;
  std::set<std::pair<NodeId, int64_t>> cores_;
  std::set<PciAddress> addresses_;
  std::set<NodeId> named_;
};

}  // namespace

Result<Graph> read_hwloc_xml(std::string_view text, const std::string& file) {
  if (text.size() > kMostHwlocBytes)
    return documents::refuse(file, 1, fmt::format("longer than {} MiB", kMostHwlocBytes >> 20));
  HwlocReader reader;
  PLAIT_TRY(documents::read_xml(text, file, reader, documents::DocumentType::named));
  return reader.finish(file);
}

}  // namespace plait::topology
