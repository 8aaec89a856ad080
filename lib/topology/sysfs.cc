// What the kernel tells of network interfaces and RDMA devices.
#include <filesystem>
#include <map>

#include "base/text.h"
#include "topology/readers.h"
#include "topology/sysfs_files.h"

namespace plait::topology {
namespace {

namespace fs = std::filesystem;

struct Port {
  std::string name;
  double bytes_per_s = 0;
};
using Ports = std::map<PciAddress, Port>;

constexpr size_t kMostDevices = 4096;

// Adds the rates of the devices of a class: `rate` of a device's folder, bytes a second.
template <class F>
void look(const fs::path& folder, Ports& ports, F&& rate) {
  std::error_code error;
  size_t count = 0;
  for (fs::directory_iterator at(folder, error), end; !error && at != end && count < kMostDevices;
       at.increment(error), count++) {
    std::error_code none;
    const fs::path device = fs::read_symlink(at->path() / "device", none);
    const auto address = none ? std::nullopt : parse_pci(device.filename().string());
    if (!address) continue;
    Port& port = ports[*address];
    const double its = rate(at->path());
    // Several ports of one device, in the order of names: the first, or the fastest.
    const std::string name = at->path().filename().string();
    if (port.name.empty() || its > port.bytes_per_s || (its == port.bytes_per_s && name < port.name))
      port = {name, its};
  }
}

}  // namespace

Result<Graph> with_network(const Graph& graph, const std::string& root) {
  Ports net, rdma;
  look(fs::path(root) / "class/net", net, [](const fs::path& p) { return number_in(p / "speed") * 1e6 / 8; });
  // "200 Gb/sec (4X HDR)"
  look(fs::path(root) / "class/infiniband", rdma,
       [](const fs::path& p) { return number_in(p / "ports/1/rate") * 1e9 / 8; });
  GraphBuilder builder;
  for (const Node& n : graph.nodes()) {
    const NodeId id = builder.add(n.kind, n.parent, n.name);
    builder.at(id) = n;
    if (n.kind != Kind::nic || !n.pci) continue;
    for (const Ports* ports : {&net, &rdma}) {  // the RDMA device's name and rate, where there is one
      const auto found = ports->find(*n.pci);
      if (found == ports->end()) continue;
      builder.at(id).name = found->second.name.substr(0, kMostName);
      make_printable(builder.at(id).name);
      if (found->second.bytes_per_s > 0) builder.at(id).port_bytes_per_s = found->second.bytes_per_s;
    }
  }
  for (const Link& l : graph.links()) builder.link(l);
  return builder.build();
}

}  // namespace plait::topology
