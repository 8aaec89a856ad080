#include <spdlog/fmt/fmt.h>

#include <map>
#include <set>
#include <vector>

#include "base/text.h"
#include "documents/text_file.h"
#include "documents/xml.h"
#include "topology/readers.h"
#include "topology/units.h"
#include "topology/xml_numbers.h"

namespace plait::topology {
namespace {

constexpr size_t kMostNcclBytes = size_t{16} << 20;
constexpr uint32_t kDeepestNccl = 24;
constexpr std::string_view kNvSwitchClass = "0x068000";

// Each way, of one NVLink, by the generation of the chip.
double nvlink_bytes_per_s(int64_t sm) {
  if (sm >= 100) return 50e9;
  if (sm == 86) return 14e9;
  if (sm >= 70) return 25e9;
  return 20e9;
}

class NcclReader : public documents::XmlHandler {
 public:
  std::string open(const documents::XmlElement& e) override {
    if (e.depth() > kDeepestNccl)
      return fmt::format("elements {} deep: {} is the most", e.depth(), kDeepestNccl);
    open_.resize(e.depth(), kNone);
    if (e.depth() < device_depth_) device_depth_ = 0;
    Attributes a(e);
    std::string why = element(e, a);
    return a.error().empty() ? why : a.error();
  }
  // After the last element.
  Result<Graph> finish(const std::string& file);

 private:
  struct NvLink {
    NodeId from;
    std::string target;
    bool to_switch;
    uint32_t count, line;
    double bytes_per_s;  // of all; 0: by the chip's generation
  };

  NodeId parent() const {
    for (size_t i = open_.size(); i-- > 0;) {
      if (open_[i] != kNone) return open_[i];
    }
    return 0;
  }
  NodeId add(Kind kind, std::string name) {
    const NodeId id = graph_.add(kind, parent(), std::move(name));
    open_.push_back(id);
    return id;
  }

  std::string element(const documents::XmlElement& e, Attributes& a) {
    if ((e.depth() == 0) != (e.name() == "system"))
      return e.depth() == 0 ? "the outermost element is <system>" : "<system> inside of another element";
    if (graph_.size() + links_.size() > 100000) return "more than 100000 elements";
    if (e.name() == "system") return system(a);
    const NodeId in = parent();
    const Kind kind = graph_.at(in).kind;
    if (e.name() == "cpu") return cpu(a);
    const bool in_cpu = kind == Kind::numa || kind == Kind::pci_switch;
    for (const std::string_view device : {"pci", "nic", "gpu", "net"}) {
      if (e.name() == device && !in_cpu) return outside(e, "a <cpu> or <pci>");
    }
    if (e.name() == "pci") return pci(a);
    if (e.name() == "gpu") return gpu(a);
    if (e.name() == "net") return net(a);
    if (e.name() == "nvlink" || e.name() == "c2c") {
      if (kind != Kind::chip) return outside(e, "a <gpu>");
      return e.name() == "nvlink" ? nvlink(e, a) : skip();
    }
    return skip();  // what later versions add
  }
  static std::string outside(const documents::XmlElement& e, std::string_view what) {
    return fmt::format("<{}> that is not inside of {}", e.name(), what);
  }
  std::string skip() {
    open_.push_back(kNone);
    return {};
  }

  std::string system(Attributes& a) {
    if (a.integer("version", 0, 0, 1000000) != 1)
      return a.error().empty() ? "<system> of a version other than 1" : a.error();
    open_.push_back(graph_.add(Kind::room, kNone, "system"));
    return {};
  }

  std::string cpu(Attributes& a) {
    if (parent() != 0) return "<cpu> inside of another element than <system>";
    const int64_t numa = a.integer("numaid", -1, -1, 65535);
    const std::string hash(a.text("host_hash").substr(0, 64));
    if (!numas_.emplace(hash, numa).second) return fmt::format("a second <cpu> with numaid {}", numa);
    const auto [host, fresh] = hosts_.try_emplace(hash, kNone);
    if (fresh) host->second = graph_.add(Kind::host, 0, fmt::format("host {}", hosts_.size() - 1));
    // Placed in the host though <system> holds it.
    const NodeId id = graph_.add(Kind::numa, host->second, fmt::format("NUMA node {}", numa));
    graph_.at(id).system = int32_t(numa);
    open_.push_back(id);
    return {};
  }

  std::string pci(Attributes& a) {
    const auto address = parse_pci(a.text("busid"));
    if (!address) return fmt::format("<pci> busid=\"{}\" is no PCI address", a.text("busid").substr(0, 40));
    const std::string where = to_string(*address);
    if (!addresses_.emplace(parent_host(), where).second) return fmt::format("a second <pci> at {}", where);
    const std::string_view type = a.text("class");
    const double rate = pci_bytes_per_s(a.text("link_speed"), int(a.integer("link_width", 0, 0, 64)));
    if (!type.starts_with("0x06")) {  // the device itself comes with the <gpu> or <net> within
      open_.push_back(kNone);
      device_ = *address;
      device_rate_ = rate;
      device_depth_ = uint32_t(open_.size());
      return {};
    }
    const NodeId id = add(Kind::pci_switch, "PCI " + where);
    graph_.at(id).pci = address;
    graph_.at(id).bytes_per_s = rate;
    return {};
  }
  NodeId parent_host() {
    NodeId at = parent();
    while (at != 0 && graph_.at(at).kind != Kind::host) at = graph_.at(at).parent;
    return at;
  }
  // Gives a device the address and rate of the <pci> around it.
  void place(NodeId id) {
    if (device_depth_ == 0) return;
    graph_.at(id).pci = device_;
    graph_.at(id).bytes_per_s = device_rate_;
  }

  std::string gpu(Attributes& a) {
    const int64_t dev = a.integer("dev", -1, 0, 65535), sm = a.integer("sm", 0, 0, 1000);
    if (dev < 0) return a.error().empty() ? "<gpu> without dev" : a.error();
    if (!gpus_.emplace(parent_host(), dev).second) return fmt::format("a second <gpu> with dev {}", dev);
    const NodeId id = add(Kind::chip, fmt::format("GPU {}", dev));
    graph_.at(id).system = int32_t(dev);
    place(id);
    if (graph_.at(id).pci) chips_.emplace(std::pair(host_of(id), to_string(*graph_.at(id).pci)), id);
    rate_ = nvlink_bytes_per_s(sm);
    return {};
  }
  NodeId host_of(NodeId id) {
    while (id != 0 && graph_.at(id).kind != Kind::host) id = graph_.at(id).parent;
    return id;
  }

  std::string net(Attributes& a) {
    const std::string_view name = a.text("name");
    const int64_t dev = a.integer("dev", -1, 0, 65535);
    const NodeId id =
        add(Kind::nic, name.empty() ? fmt::format("net {}", dev) : std::string(name.substr(0, kMostName)));
    graph_.at(id).system = int32_t(dev);
    place(id);
    graph_.at(id).port_bytes_per_s = double(a.integer("speed", 0, 0, 100'000'000)) * 1e6 / 8;
    a.real("latency", 0, 1e6);
    a.integer("maxconn", 1, 0, INT32_MAX);
    a.integer("gdr", 0, 0, 1);
    a.integer("port", 1, 0, 255);
    return {};
  }

  std::string nvlink(const documents::XmlElement& e, Attributes& a) {
    NvLink l{.from = parent(),
             .target = std::string(a.text("target").substr(0, 64)),
             .to_switch = a.text("tclass") == kNvSwitchClass,
             .count = 0,
             .line = e.line(),
             .bytes_per_s = rate_};
    l.count = uint32_t(a.integer("count", 1, 1, 4096));
    const auto address = parse_pci(l.target);
    if (!address && !l.to_switch) return fmt::format("<nvlink> target=\"{}\" is no PCI address", l.target);
    if (address) l.target = to_string(*address);
    links_.push_back(std::move(l));
    open_.push_back(kNone);
    return {};
  }

  GraphBuilder graph_;
  std::vector<NodeId> open_;  // by depth; kNone: not in the graph
  std::map<std::string, NodeId> hosts_;
  std::set<std::pair<std::string, int64_t>> numas_;
  std::set<std::pair<NodeId, std::string>> addresses_;
  std::set<std::pair<NodeId, int64_t>> gpus_;
  std::map<std::pair<NodeId, std::string>, NodeId> chips_;
  std::vector<NvLink> links_;
  // The <pci> of a device that is open.
  PciAddress device_;
  double device_rate_ = 0;
  uint32_t device_depth_ = 0;  // of what is in it; 0: none is open
  double rate_ = 0;
};

// Links are told from both ends; they must agree. Those to chips that are not in the file (another job's) are
// left out, those to switches go to one switch, whatever their number.
Result<Graph> NcclReader::finish(const std::string& file) {
  std::map<std::pair<NodeId, NodeId>, const NvLink*> told;
  std::map<NodeId, NodeId> switches;
  std::map<NodeId, NvLink> to_switch;
  for (const NvLink& l : links_) {
    const NodeId host = host_of(l.from);
    if (l.to_switch) {
      const auto [sum, fresh] = to_switch.try_emplace(l.from, l);
      if (!fresh) sum->second.count += l.count;
      continue;
    }
    const auto target = chips_.find({host, l.target});
    if (target == chips_.end()) continue;
    if (target->second == l.from) return documents::refuse(file, l.line, "an <nvlink> from a GPU to itself");
    if (!told.emplace(std::pair(l.from, target->second), &l).second)
      return documents::refuse(file, l.line, "a second <nvlink> to " + l.target);
  }
  for (const auto& [ends, l] : told) {
    const auto back = told.find({ends.second, ends.first});
    if (back != told.end() && back->second->count != l->count)
      return documents::refuse(
          file, l->line, fmt::format("an <nvlink> of {} links, and {} back", l->count, back->second->count));
    if (back != told.end() && ends.first > ends.second) continue;
    graph_.link({ends.first, ends.second, LinkKind::chip, l->count, 0, l->count * l->bytes_per_s,
                 l->count * l->bytes_per_s});
  }
  for (const auto& [chip, l] : to_switch) {
    const NodeId host = host_of(chip);
    if (!switches.contains(host)) switches[host] = graph_.add(Kind::fabric_switch, host, "NVSwitch");
    graph_.link({chip, switches[host], LinkKind::chip, std::min(l.count, 4096u), 0, l.count * l.bytes_per_s,
                 l.count * l.bytes_per_s});
  }
  Result<Graph> graph = graph_.build();
  if (!graph.ok()) return documents::refuse(file, 1, std::string(graph.status().text()));
  return graph;
}

}  // namespace

Result<Graph> read_nccl_xml(std::string_view text, const std::string& file) {
  if (text.size() > kMostNcclBytes)
    return documents::refuse(file, 1, fmt::format("longer than {} MiB", kMostNcclBytes >> 20));
  NcclReader reader;
  PLAIT_TRY(documents::read_xml(text, file, reader));
  return reader.finish(file);
}

}  // namespace plait::topology
