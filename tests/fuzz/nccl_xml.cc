// Maps of machines in NCCL's XML.
#include "map.h"
#include "topology/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait;
  const auto graph = topology::read_nccl_xml({reinterpret_cast<const char*>(data), size}, "x");
  if (!fuzz::refused(graph)) fuzz::check_graph(*graph);
  return 0;
}
