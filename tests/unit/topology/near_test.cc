#include "topology/near.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "support/sysfs_tree.h"

namespace plait::topology {
namespace {

using test::SysfsTree;

cpu_set_t cpus(unsigned first, unsigned last) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (unsigned cpu = first; cpu <= last; cpu++) CPU_SET(cpu, &set);
  return set;
}
RankPlace on(unsigned first, unsigned last) { return {cpus(first, last), {}}; }
RankPlace at(std::string_view chip) { return {cpus(0, 7), parse_pci(chip)}; }

// Which NIC each rank takes; with several rails with + between.
std::string taken(const SysfsTree& tree, NearQuestion question) {
  std::string all;
  for (size_t r = 0; r < question.ranks.size(); r++) {
    question.mine = r;
    const auto answer = nearest_nics(tree.root(), question);
    if (!answer.ok()) return std::string(answer.status().text());
    all += r == 0 ? "" : " ";
    for (size_t i = 0; i < answer->taken.size(); i++)
      all += (i == 0 ? "" : "+") + question.nics[answer->taken[i]];
  }
  return all;
}

// What one rank is told, as --show-config prints it.
std::string told(const SysfsTree& tree, const NearQuestion& question) {
  const auto answer = nearest_nics(tree.root(), question);
  if (!answer.ok()) return std::string(answer.status().text());
  std::string text;
  for (size_t i = 0; i < question.nics.size(); i++) {
    const bool mine = std::ranges::find(answer->taken, i) != answer->taken.end();
    text += question.nics[i] + (mine ? " yes " : " no ") + answer->why[i] + "\n";
  }
  const std::string root = tree.root().string();
  for (std::string note : answer->notes) {
    for (size_t begin; (begin = note.find(root)) != std::string::npos;)
      note.replace(begin, root.size(), "/sys");
    text += note + "\n";
  }
  return text;
}

// Two sockets of four CPUs, two NICs of 100 Gb/s on each, and one of 1 Gb/s on the first.
void two_sockets(SysfsTree& tree) {
  tree.numa(0, "0-3", 0, 0);
  tree.numa(1, "4-7", 4, 1);
  tree.nic("eth0", "pci0000:00/0000:00:01.0/0000:01:00.0", "0", "100000");
  tree.nic("eth1", "pci0000:00/0000:00:02.0/0000:02:00.0", "0", "100000");
  tree.nic("eth2", "pci0000:80/0000:80:01.0/0000:81:00.0", "1", "100000");
  tree.nic("eth3", "pci0000:80/0000:80:02.0/0000:82:00.0", "1", "100000");
  tree.nic("eno1", "pci0000:00/0000:00:1f.6", "0", "1000");
}
const std::vector<std::string> kFive = {"eno1", "eth0", "eth1", "eth2", "eth3"};

TEST(Near, EachSocketsRanksShareItsNics) {
  SysfsTree tree;
  two_sockets(tree);
  NearQuestion question{.nics = kFive, .ranks = {on(0, 1), on(2, 3), on(4, 5), on(6, 7)}};
  EXPECT_EQ(taken(tree, question), "eth0 eth1 eth2 eth3");
  // Placed by turns, as some launchers do.
  question.ranks = {on(0, 1), on(4, 5), on(2, 3), on(6, 7)};
  EXPECT_EQ(taken(tree, question), "eth0 eth2 eth1 eth3");
  question.ranks = {on(4, 4), on(5, 5), on(6, 6)};
  EXPECT_EQ(taken(tree, question), "eth2 eth3 eth2");
  question.ranks = {on(0, 1), on(2, 3), on(4, 5), on(6, 7)};
  question.rails = 2;
  EXPECT_EQ(taken(tree, question), "eth0+eth1 eth1+eth0 eth2+eth3 eth3+eth2");
}

TEST(Near, RanksThatRunAnywhereShareAll) {
  SysfsTree tree;
  two_sockets(tree);
  const RankPlace anywhere = on(0, 7), unknown{};
  EXPECT_EQ(taken(tree, {.nics = kFive, .ranks = {anywhere, anywhere, unknown, anywhere, anywhere}}),
            "eth0 eth1 eth2 eth3 eth0");
  EXPECT_EQ(taken(tree, {.nics = kFive, .ranks = {on(2, 3), anywhere, anywhere}}), "eth0 eth1 eth2");
}

TEST(Near, SaysWhy) {
  SysfsTree tree;
  two_sockets(tree);
  tree.no_device("docker0", "10000");
  std::vector<std::string> nics = kFive;
  nics.push_back("docker0");
  EXPECT_EQ(told(tree, {.nics = nics, .ranks = {on(0, 1), on(2, 3)}, .mine = 1}),
            "eno1 no 1 Gb/s, less than half of what eth0 has (100 Gb/s)\n"
            "eth0 no same NUMA node, 100 Gb/s; as near as eth1, and left to other ranks\n"
            "eth1 yes same NUMA node, 100 Gb/s\n"
            "eth2 no on NUMA node 1, this rank on 0, 100 Gb/s; eth1 comes first: same NUMA node, 100 Gb/s\n"
            "eth3 no on NUMA node 1, this rank on 0, 100 Gb/s; eth1 comes first: same NUMA node, 100 Gb/s\n"
            "docker0 no it has no device of its own, and eno1 has one\n");
  EXPECT_EQ(told(tree, {.nics = {"eth1", "eth3"}, .ranks = {on(0, 7)}}),
            "eth1 yes on NUMA node 0, this rank on any, 100 Gb/s\n"
            "eth3 no on NUMA node 1, this rank on any, 100 Gb/s; as near as eth1, and left to other ranks\n");
}

// A chip and a NIC behind one switch, as servers have them: a root port, the switch's port above, its ports
// below.
TEST(Near, TheNicBehindTheChipsSwitch) {
  SysfsTree tree;
  tree.numa(0, "0-7", 0, 0);
  const std::string first = "pci0000:00/0000:00:01.0/0000:01:00.0/",
                    second = "pci0000:00/0000:00:03.0/0000:05:00.0/";
  tree.device(first + "0000:02:00.0/0000:03:00.0", "0");
  tree.device(second + "0000:06:00.0/0000:07:00.0", "0");
  tree.rdma("mlx5_0", first + "0000:02:04.0/0000:04:00.0", "0", "400 Gb/sec (4X NDR)");
  tree.rdma("mlx5_1", second + "0000:06:04.0/0000:08:00.0", "0", "400 Gb/sec (4X NDR)");
  tree.rdma("mlx5_2", "pci0000:00/0000:00:05.0/0000:09:00.0", "0", "400 Gb/sec (4X NDR)");
  NearQuestion question{.nic_class = NicClass::infiniband,
                        .nics = {"mlx5_0", "mlx5_1", "mlx5_2"},
                        .ranks = {at("0000:07:00.0"), at("0000:03:00.0")}};
  EXPECT_EQ(taken(tree, question), "mlx5_1 mlx5_0");
  EXPECT_EQ(told(tree, question),
            "mlx5_0 no host bridge, 400 Gb/s; mlx5_1 comes first: same PCI switch, 400 Gb/s\n"
            "mlx5_1 yes same PCI switch, 400 Gb/s\n"
            "mlx5_2 no host bridge, 400 Gb/s; mlx5_1 comes first: same PCI switch, 400 Gb/s\n");
  // To cores all three are equally near, behind a switch or not.
  question.ranks = {on(0, 1), on(2, 3), on(4, 5), at("0000:0a:00.0")};
  EXPECT_EQ(taken(tree, question), "mlx5_0 mlx5_1 mlx5_2 mlx5_0");
  question.mine = 3;
  EXPECT_NE(told(tree, question)
                .find("there is no device at 0000:0a:00.0: the NICs nearest to this rank's cores are taken"),
            std::string::npos);
}

TEST(Near, NodesOfTheSameSocketComeBeforeOthers) {
  SysfsTree tree;
  for (int node = 0; node < 4; node++)
    tree.numa(node, std::to_string(2 * node) + "-" + std::to_string(2 * node + 1), 2 * node, node / 2);
  tree.nic("near", "pci0000:20/0000:20:01.0/0000:21:00.0", "1", "100000");
  tree.nic("far", "pci0000:40/0000:40:01.0/0000:41:00.0", "2", "100000");
  EXPECT_EQ(taken(tree, {.nics = {"far", "near"}, .ranks = {on(0, 1)}}), "near");
  EXPECT_EQ(taken(tree, {.nics = {"far", "near"}, .ranks = {on(6, 7)}}), "far");
  EXPECT_EQ(taken(tree, {.nics = {"far", "near"}, .ranks = {on(4, 7)}}), "far") << "a socket's, any node";
}

TEST(Near, WithoutNumaInformationAllAreEquallyNear) {
  SysfsTree one, none, virtual_only;
  one.numa(0, "0-7", 0, 0);
  for (SysfsTree* tree : {&one, &none}) {
    tree->nic("eth0", "pci0000:00/0000:00:03.0/virtio2", "-1", "-1");
    tree->nic("eth1", "pci0000:00/0000:00:04.0", "-1", "-1");
    EXPECT_EQ(taken(*tree, {.nics = {"eth0", "eth1"}, .ranks = {on(0, 3), on(4, 7), on(0, 7)}}),
              "eth0 eth1 eth0");
  }
  two_sockets(virtual_only);
  for (const char* name : {"veth0", "veth1"}) virtual_only.no_device(name, "10000");
  EXPECT_EQ(taken(virtual_only, {.nics = {"veth0", "veth1"}, .ranks = {on(0, 1), on(2, 3), on(4, 5)}}),
            "veth0 veth1 veth0");
  EXPECT_EQ(told(virtual_only, {.nics = {"veth0", "veth1"}, .ranks = {on(0, 1)}}),
            "veth0 yes no device, so no distance, 10 Gb/s\n"
            "veth1 no no device, so no distance, 10 Gb/s; as near as veth0, and left to other ranks\n");
}

// A VLAN, a bond of two ports of one card, one across sockets.
TEST(Near, InterfacesAboveOthersAreWhereTheseAre) {
  SysfsTree tree;
  two_sockets(tree);
  tree.nic("eth4", "pci0000:80/0000:80:01.0/0000:81:00.1", "1", "100000");
  const std::pair<const char*, const char*> above[] = {
      {"eth2.100", "eth2"}, {"bond0", "eth2"}, {"bond0", "eth4"}, {"bond1", "eth0"}, {"bond1", "eth2"}};
  for (const auto& [name, lower] : above)
    tree.link("class/net/" + std::string(name) + "/lower_" + lower, tree.root() / "class/net" / lower);
  for (const char* name : {"eth2.100", "bond0", "bond1"})
    tree.put(std::string("class/net/") + name + "/speed", "100000");
  EXPECT_EQ(taken(tree, {.nics = {"eth0", "eth2.100"}, .ranks = {on(4, 5), on(0, 1)}}), "eth2.100 eth0");
  EXPECT_EQ(taken(tree, {.nics = {"eth0", "bond0"}, .ranks = {on(4, 5), on(0, 1)}}), "bond0 eth0");
  EXPECT_EQ(taken(tree, {.nics = {"bond1", "eth0"}, .ranks = {on(0, 1)}}), "eth0");
  EXPECT_EQ(told(tree, {.nics = {"bond1", "eth0"}, .ranks = {on(0, 1)}}),
            "bond1 no NUMA node not known, 100 Gb/s; eth0 comes first: same NUMA node, 100 Gb/s\n"
            "eth0 yes same NUMA node, 100 Gb/s\n");
}

TEST(Near, BrokenFilesAreLeftOutByLine) {
  SysfsTree tree;
  tree.numa(0, "0-3", 0, 0);
  tree.numa(1, "4-4000000000", 4, 1);
  tree.numa(2, "5,x", 5, 99999999);
  tree.nic("eth0", "pci0000:00/0000:00:01.0", "4000000000", "1e300");
  tree.nic("eth1", "pci0000:00/0000:00:02.0", "17", "nonsense");
  tree.nic("eth2", "pci0000:00/0000:00:03.0", "0", "25000");
  tree.link("class/net/loop/device", "device");
  tree.link("class/net/gone/device", "../../../nowhere");
  tree.link("class/net/out/device", "/");
  tree.link("class/net/up0/lower_up1", tree.root() / "class/net/up1");
  tree.link("class/net/up1/lower_up0", tree.root() / "class/net/up0");
  EXPECT_EQ(told(tree, {.nics = {"eth0", "eth1", "eth2", "loop", "gone", "out", "up0", "../x", ".."},
                        .ranks = {on(0, 1)}}),
            "eth0 no NUMA node not known; eth2 comes first: same NUMA node, 25 Gb/s\n"
            "eth1 no NUMA node not known; eth2 comes first: same NUMA node, 25 Gb/s\n"
            "eth2 yes same NUMA node, 25 Gb/s\n"
            "loop no it has no device of its own, and eth0 has one\n"
            "gone no it has no device of its own, and eth0 has one\n"
            "out no it has no device of its own, and eth0 has one\n"
            "up0 no it has no device of its own, and eth0 has one\n"
            "../x no it has no device of its own, and eth0 has one\n"
            ".. no it has no device of its own, and eth0 has one\n"
            "/sys/devices/system/node/node1/cpulist:1: '4-4000000000' is no list of CPUs below 1024\n"
            "/sys/devices/system/node/node2/cpulist:1: '5,x' is no list of CPUs below 1024\n"
            "/sys/devices/pci0000:00/0000:00:01.0/numa_node:1: '4000000000' is no number from -1 to 1023\n"
            "/sys/devices/pci0000:00/0000:00:02.0/numa_node:1: there is no NUMA node 17\n"
            "/sys/class/net/loop/device:1: a link that leads nowhere: Too many levels of symbolic links\n"
            "/sys/class/net/gone/device:1: a link that leads nowhere: No such file or directory\n"
            "/sys/class/net/out/device:1: a link out of /sys/devices\n");
}

TEST(Near, NothingAtAllIsNoError) {
  const auto answer = nearest_nics("/nowhere", {.nics = {"a", "b"}, .ranks = {{}, {}}, .mine = 1});
  ASSERT_TRUE(answer.ok()) << answer.status().text();
  EXPECT_EQ(answer->taken, std::vector<size_t>{1});
  EXPECT_EQ(nearest_nics("/nowhere", {.nics = {}, .ranks = {{}}}).status().code(), Code::invalid);
  EXPECT_EQ(nearest_nics("/nowhere", {.nics = {"a"}, .ranks = {}}).status().code(), Code::invalid);
  EXPECT_EQ(nearest_nics("/nowhere", {.nics = {"a"}, .ranks = {{}}, .rails = 0}).status().code(),
            Code::invalid);
}

// Where there are fewer NICs than rails they begin anew.
TEST(Near, MoreRailsThanNics) {
  SysfsTree tree;
  two_sockets(tree);
  EXPECT_EQ(taken(tree, {.nics = {"eth0", "eth3"}, .ranks = {on(0, 1)}, .rails = 3}), "eth0+eth3+eth0");
}

}  // namespace
}  // namespace plait::topology
