// Files of machines: what is understood, and what is refused by line.
#include "topology/readers.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "documents/text_file.h"
#include "topology/levels.h"
#include "topology/report.h"
#include "topology/units.h"

namespace plait::topology {
namespace {

std::string nccl(const std::string& inside) { return "<system version=\"1\">\n" + inside + "\n</system>"; }
std::string refusal(const Result<Graph>& g) { return g.ok() ? "understood" : std::string(g.status().text()); }
std::string nccl_refusal(const std::string& text) { return refusal(read_nccl_xml(text, "t.xml")); }
std::string hwloc(const std::string& inside) {
  return "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\"><object type=\"Machine\">\n" +
         inside + "\n</object></topology>";
}
std::string hwloc_refusal(const std::string& text) { return refusal(read_hwloc_xml(text, "t.xml")); }

TEST(NcclXml, RefusesByLine) {
  EXPECT_EQ(nccl_refusal("<graphs version=\"1\"/>"), "t.xml:1: the outermost element is <system>");
  EXPECT_EQ(nccl_refusal("<system version=\"2\"/>"), "t.xml:1: <system> of a version other than 1");
  EXPECT_EQ(nccl_refusal(nccl("<gpu dev=\"0\"/>")), "t.xml:2: <gpu> that is not inside of a <cpu> or <pci>");
  EXPECT_EQ(nccl_refusal(nccl("<cpu numaid=\"0\"/>\n<cpu numaid=\"0\"/>")),
            "t.xml:3: a second <cpu> with numaid 0");
  EXPECT_EQ(nccl_refusal(nccl("<cpu numaid=\"many\"/>")),
            "t.xml:2: <cpu> numaid=\"many\" is not a number from -1 to 65535");
  EXPECT_EQ(nccl_refusal(nccl("<cpu numaid=\"0\"><pci busid=\"nowhere\"/></cpu>")),
            "t.xml:2: <pci> busid=\"nowhere\" is no PCI address");
  const std::string gpu =
      "<cpu numaid=\"0\"><pci busid=\"0000:07:00.0\" class=\"0x030200\">\n<gpu dev=\"0\" sm=\"80\">";
  EXPECT_EQ(nccl_refusal(nccl(
                gpu + "<nvlink target=\"0000:07:00.0\" count=\"1\" tclass=\"0x030200\"/></gpu></pci></cpu>")),
            "t.xml:3: an <nvlink> from a GPU to itself");
  EXPECT_EQ(nccl_refusal(nccl(gpu + "<nvlink target=\"0000:08:00.0\" count=\"4097\"/></gpu></pci></cpu>")),
            "t.xml:3: <nvlink> count=\"4097\" is not a number from 1 to 4096");
  EXPECT_EQ(nccl_refusal(nccl(gpu)), "t.xml:4: not XML: mismatched tag");
  EXPECT_EQ(nccl_refusal("<!DOCTYPE a [<!ENTITY b \"c\">]><system version=\"1\"/>"),
            "t.xml:1: a document type, which this file does not need: it could expand without bound");
}

TEST(NcclXml, LinksToChipsElsewhereAreLeftOut) {
  const auto g = read_nccl_xml(
      nccl("<cpu numaid=\"0\"><pci busid=\"0000:07:00.0\" class=\"0x030200\" "
           "link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"0\" sm=\"80\">"
           "<nvlink target=\"0000:0f:00.0\" count=\"2\" tclass=\"0x030200\"/></gpu></pci></cpu>"),
      "t.xml");
  ASSERT_TRUE(g.ok()) << g.status().text();
  EXPECT_TRUE(g->links().empty());
  const Node& chip = g->node(g->of(Kind::chip)[0]);
  EXPECT_EQ(to_string(*chip.pci), "0000:07:00.0");
  EXPECT_NEAR(chip.bytes_per_s, 31.5e9, 0.1e9);
}

TEST(HwlocXml, RefusesByLine) {
  EXPECT_EQ(hwloc_refusal("<topology/>"),
            "t.xml:1: hwloc XML of version '1', not 2: export it with lstopo of hwloc 2");
  EXPECT_EQ(hwloc_refusal("<system/>"), "t.xml:1: the outermost element is <topology>");
  EXPECT_EQ(hwloc_refusal("<topology version=\"2.0\"/>"), "t.xml:1: no Machine in it");
  EXPECT_EQ(hwloc_refusal(hwloc("<object type=\"Machine\"/>")), "t.xml:3: a second Machine");
  EXPECT_EQ(hwloc_refusal(hwloc("<object/>")), "t.xml:3: an <object> without type");
  EXPECT_EQ(hwloc_refusal(hwloc("<object type=\"Core\" os_index=\"-3\"/>")),
            "t.xml:3: <object> os_index=\"-3\" is not a number from 0 to 2147483647");
  EXPECT_EQ(hwloc_refusal(hwloc("<object type=\"PCIDev\" pci_busid=\"1\"/>")),
            "t.xml:3: a PCIDev at '1', which is no PCI address");
  EXPECT_EQ(hwloc_refusal("<!DOCTYPE a [<!ENTITY b \"c\">]><topology version=\"2.0\"/>"),
            "t.xml:1: a document type, which this file does not need: it could expand without bound");
  std::string deep;
  for (int i = 0; i < 70; i++) deep += "<object type=\"Group\">";
  EXPECT_EQ(hwloc_refusal(hwloc(deep)), "t.xml:3: elements 65 deep: 64 is the most");
}

TEST(Live, ThisMachineHasCores) {
#ifdef PLAIT_SANITIZED
  GTEST_SKIP() << "hwloc's plugin for PCI leaks, and is unloaded then, so that no suppression names it";
#endif
  const auto g = read_this_machine();
  if (!g.ok() && g.status().code() == Code::unsupported) GTEST_SKIP() << g.status().text();
  ASSERT_TRUE(g.ok()) << g.status().text();
  EXPECT_EQ(g->of(Kind::host).size(), 1u);
  EXPECT_GE(g->of(Kind::core).size(), 1u);
}

// As the kernel lays it out: class/net/NAME and class/infiniband/NAME with a link to the device.
void put_file(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  ASSERT_TRUE(documents::write_file(path, text).ok());
}
TEST(Sysfs, NicsHaveNamesAndRates) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(testing::TempDir()) / "plait-sysfs";
  fs::remove_all(root);
  for (const char* device : {"0000:05:00.0", "0000:85:00.0", "0000:00:1f.6"})
    fs::create_directories(root / "devices" / device);
  put_file(root / "class/net/eno1/speed", "1000\n");
  put_file(root / "class/net/down0/speed", "-1\n");
  put_file(root / "class/net/lo/speed", "nonsense\n");
  put_file(root / "class/infiniband/mlx5_9/ports/1/rate", "200 Gb/sec (4X HDR)\n");
  fs::create_directory_symlink("../../../devices/0000:00:1f.6", root / "class/net/eno1/device");
  fs::create_directory_symlink("../../../devices/0000:85:00.0", root / "class/net/down0/device");
  fs::create_directory_symlink("../../../devices/0000:05:00.0", root / "class/infiniband/mlx5_9/device");
  const auto text = documents::read_file(PLAIT_GOLDEN "/gpu-server.hwloc.xml", 1 << 20);
  const auto before = read_hwloc_xml(*text, "x");
  ASSERT_TRUE(before.ok());
  const auto g = with_network(*before, root);
  ASSERT_TRUE(g.ok()) << g.status().text();
  ASSERT_EQ(g->nodes().size(), before->nodes().size());
  std::string all;
  for (const NodeId nic : g->of(Kind::nic))
    all += g->node(nic).name + " " + show_bit_rate(g->node(nic).port_bytes_per_s) + "; ";
  EXPECT_EQ(all, "mlx5_9 200 Gb/s; eno1 1 Gb/s; down0 ?; ");
  EXPECT_TRUE(with_network(*before, root / "nowhere").ok());
  fs::remove_all(root);
}

TEST(Nics, NodesOfOneHostOnly) {
  const auto map = read_map("2 hosts x 4 chips x 2 nics x 2 sockets\nring 4", "room.txt");
  ASSERT_TRUE(map.ok());
  const auto g = map->graph();
  const auto all = rails(*g);
  ASSERT_EQ(all.size(), 8u);
  for (size_t i = 0; i < all.size(); i++) {
    EXPECT_EQ(g->node(all[i].nic).index, i / 2);
    EXPECT_EQ(all[i].path, Path::same_numa);
  }
}

}  // namespace
}  // namespace plait::topology
