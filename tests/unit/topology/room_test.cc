// Rooms as text, the rules they are, and the graphs they become.
#include "topology/room.h"

#include <gtest/gtest.h>

#include <random>

namespace plait::topology {
namespace {

Room room_of(std::string_view text) {
  auto room = parse_room(text, "room.txt");
  EXPECT_TRUE(room.ok()) << room.status().text();
  return room.ok() ? *room : Room{};
}
std::string refusal(std::string_view text) {
  const auto room = parse_room(text, "room.txt");
  return room.ok() ? "understood" : std::string(room.status().text());
}

TEST(RoomText, SaysWhatIsThere) {
  EXPECT_EQ(describe(room_of("4 hosts x 2 nics 100Gb/s")), "4 hosts, 2 NICs each of 100 Gb/s");
  EXPECT_EQ(describe(room_of("ring 8")), "1 host of 8 chips (ring 8)");
  EXPECT_EQ(describe(room_of("mesh 4x4 112Gb/s 300ns")), "1 host of 16 chips (mesh 4x4)");
  EXPECT_EQ(describe(room_of("torus 4x4x4")), "1 host of 64 chips (torus 4x4x4)");
  EXPECT_EQ(describe(room_of("2 hosts\nhybrid cube mesh")), "2 hosts of 8 chips (hybrid cube mesh)");
  EXPECT_EQ(describe(room_of("full 4")), "1 host of 4 chips (full 4)");
  EXPECT_EQ(describe(room_of("pod 32x32 mesh of hosts with 4 chips")),
            "1024 hosts of 4 chips (mesh 32x32 of full 4)");
  EXPECT_EQ(describe(room_of("mesh 32x32\nhosts of 4 chips x 2 nics\n")),
            "256 hosts of 4 chips (mesh 32x32), 2 NICs each of 100 Gb/s");
}

TEST(RoomText, IsWrittenAsItIsRead) {
  for (const char* text :
       {"4 hosts x 2 nics 100Gb/s", "ring 8", "ring 2", "mesh 4x4 112Gb/s 300ns", "torus 2x4x3",
        "full 4 25GB/s", "3 hosts x 2 chips x 1 nics\nhybrid cube mesh",
        "pod 32x32 mesh of hosts with 4 chips and 1 nics", "pod torus 4x4 10GB/s of hosts\nring 4",
        "mesh 16x16\nhosts of 4 chips\ndead chips 5,9-12\ntaken 100-255",
        "mesh 4x4\ndead link 3-2\ndead link 0-4",
        "64 hosts x 8 chips x 8 nics 400Gb/s\nswitch 8 450GB/s\n"
        "leaf of 16 hosts, 4 spines, oversubscribed 3:2, 600ns",
        "16 hosts x 1 nics\nfat-tree 4\ndead host 3"}) {
    const auto room = parse_room(text, "x");
    if (!room.ok() && std::string_view(text).starts_with("3 hosts x 2"))
      continue;  // refused: 2 chips are not 8
    ASSERT_TRUE(room.ok()) << text << ": " << room.status().text();
    const std::string written = write_room(*room);
    const auto again = parse_room(written, "again");
    ASSERT_TRUE(again.ok()) << written << again.status().text();
    EXPECT_TRUE(*again == *room) << text << "\n" << written << write_room(*again);
  }
}

TEST(RoomText, RefusesByLine) {
  EXPECT_EQ(refusal(""), "room.txt:1: a room without hosts or chips");
  EXPECT_EQ(refusal("ring 8\nring 4"), "room.txt:2: a second shape of chips");
  EXPECT_EQ(refusal("# so\n4 hosts x 2 wheels"),
            "room.txt:2: hosts have chips, nics, sockets and cores, not 'wheels'");
  EXPECT_EQ(refusal("mesh 4x4\ndead chip 16"), "room.txt:2: chip 16 of 16, which are numbered from 0");
  EXPECT_EQ(refusal("mesh 4x4\ndead link 0-5"), "room.txt:2: no link joins chips 0 and 5");
  EXPECT_EQ(refusal("4 hosts x 2 chips\nring 7"),
            "room.txt:2: the shape has 7 chips, a host has 2, and all 4 hosts have 8");
  EXPECT_EQ(refusal("mesh 65536x65536"), "room.txt:1: 16777217 chips: a room has at most 16777216");
  EXPECT_EQ(refusal("99999999999 hosts"), "room.txt:1: '99999999999' is no number of hosts");
  EXPECT_EQ(refusal("0 hosts"), "room.txt:1: 0 hosts");
  EXPECT_EQ(refusal("taken 5-2"), "room.txt:1: '5-2' is neither a number nor a range such as 0-7");
  EXPECT_EQ(refusal("4 hosts\nleaf of 2 hosts"),
            "room.txt:2: switches, and no host has a NIC: say '... hosts x 1 nics'");
  EXPECT_EQ(refusal("fat-tree 5"),
            "room.txt:1: a fat-tree is of switches with an even number of ports, 2 to 128: 'fat-tree 16'");
}

TEST(Room, GraphOfALeafSpineNetwork) {
  const auto graph =
      expand(room_of("64 hosts x 8 chips x 2 nics 100Gb/s\nswitch 8 450GB/s\n"
                     "leaf of 16 hosts, 4 spines, oversubscribed 2:1"));
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  EXPECT_EQ(graph->of(Kind::host).size(), 64u);
  EXPECT_EQ(graph->of(Kind::rack).size(), 4u);
  EXPECT_EQ(graph->of(Kind::fabric_switch).size(), 64u);
  EXPECT_EQ(graph->of(Kind::network_switch).size(), 8u);
  const NodeId leaf = graph->of(Kind::network_switch)[0];
  double down = 0, up = 0;
  for (const uint32_t i : graph->links_of(leaf)) {
    const Link& l = graph->links()[i];
    (graph->node(graph->other(l, leaf)).kind == Kind::nic ? down : up) += l.forward_bytes_per_s;
  }
  EXPECT_DOUBLE_EQ(down, 2 * up);
}

TEST(Room, FatTreesAndHostsInAnyOrder) {
  EXPECT_EQ(room_of("fat-tree 4\n13 hosts x 1 nics"), room_of("13 hosts x 1 nics\nfat-tree 4"));
  EXPECT_EQ(room_of("fat-tree 4\nhosts of 2 chips x 1 nics\nring 8").hosts, 4u);
  EXPECT_EQ(refusal("fat-tree 4\n17 hosts x 1 nics"),
            "room.txt:2: a fat-tree of 4 ports has 16 hosts, the room 17");
}

TEST(Room, FatTreeIsNotBlocked) {
  const auto graph = expand(room_of("16 hosts x 1 nics\nfat-tree 4"));
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  EXPECT_EQ(graph->of(Kind::network_switch).size(), 8u + 8 + 4);
  for (const NodeId s : graph->of(Kind::network_switch)) EXPECT_EQ(graph->links_of(s).size(), 4u);
}

TEST(Room, LargeByRule) {
  const Room room =
      room_of("65536 hosts x 8 chips x 8 nics 400Gb/s\nhybrid cube mesh\nleaf of 64 hosts, 32 spines");
  EXPECT_EQ(room.chips(), 524288u);
  EXPECT_EQ(room.host_of(524287), 65535u);
  const auto graph = expand(room);
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  EXPECT_EQ(graph->of(Kind::nic).size(), 524288u);
  EXPECT_FALSE(expand(room_of("1048576 hosts x 8 chips")).ok());
}

TEST(Graph, RefusesWhatIsNone) {
  GraphBuilder b;
  const NodeId root = b.add(Kind::room, kNone, "room");
  const NodeId x = b.add(Kind::host, root, "x"), y = b.add(Kind::host, root, "y");
  b.link({x, y});
  b.link({y, x});
  EXPECT_EQ(b.build().status().text(),
            "not a map of machines: two links between 'x' and 'y', which one with a count should be");
  b.add(Kind::room, kNone, "room");
  b.link({0, 7});
  EXPECT_EQ(b.build().status().text(), "not a map of machines: a link from node 0 to node 7 of 1");
  b.add(Kind::room, kNone, "room");
  b.add(Kind::host, 5, "lost");
  EXPECT_EQ(b.build().status().text(), "not a map of machines: node 1 ('lost') is in nothing that there is");
  EXPECT_FALSE(b.build().ok());
}

TEST(Graph, PciAddresses) {
  EXPECT_EQ(to_string(*parse_pci("3b:00.1")), "0000:3b:00.1");
  EXPECT_EQ(to_string(*parse_pci("0000:af:1f.7")), "0000:af:1f.7");
  for (const char* wrong :
       {"", "3b", "0000:3b:20.0", "0000:3b:00.", "x:3b:00.0", "0000:3b:00.0 ", "123:3b:000.0"})
    EXPECT_FALSE(parse_pci(wrong)) << wrong;
}

}  // namespace
}  // namespace plait::topology
