// This machine: libhwloc looks, and its XML is read like anybody's.
#include "topology/readers.h"

#if PLAIT_HWLOC
#include <hwloc.h>

#include <memory>
#endif

namespace plait::topology {

#if PLAIT_HWLOC
Result<Graph> read_this_machine() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0)
    return Status(Code::memory, "hwloc has no memory to look at this machine");
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> topology(raw,
                                                                                    hwloc_topology_destroy);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  char* xml = nullptr;
  int bytes = 0;
  if (hwloc_topology_load(raw) != 0 || hwloc_topology_export_xmlbuffer(raw, &xml, &bytes, 0) != 0)
    return Status(Code::system, "hwloc could not look at this machine: is /sys mounted?");
  Result<Graph> graph = read_hwloc_xml({xml, size_t(bytes > 0 ? bytes - 1 : 0)}, "this machine");
  hwloc_free_xmlbuffer(raw, xml);
  if (!graph.ok()) return graph;
  return with_network(*graph, "/sys");
}
#else
Result<Graph> read_this_machine() {
  return Status(
      Code::unsupported,
      "this plait was built without hwloc and cannot look at the machine: install libhwloc-dev and build it "
      "again, or give it a file of lstopo --of xml");
}
#endif

}  // namespace plait::topology
