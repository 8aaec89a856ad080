// The cost machine: what a message, a fold and a wait cost, one thing at a time.
#include "collectives/machine/cost.h"

#include "unit/collectives/programs.h"

namespace plait::collectives {
namespace {

Sizes sizes_of(uint64_t per_chunk, uint32_t chunks, uint32_t segments = 1) {
  return even_sizes(per_chunk * chunks, chunks, (per_chunk + segments - 1) / segments);
}

// Rank 0 does what `append` says, and so do the others, of a broadcast of one chunk from rank 0.
std::vector<Program> broadcast(int n, const Append& append) {
  return programs_of(Collective::broadcast, n, 1, false, append);
}
std::vector<Program> one_message() {
  return broadcast(2, [](Builder& b, const Group& g) {
    if (g.me == 0) return b.send(1, {0, 1});
    b.recv(0, {0, 1});
  });
}

Room room_of(int ranks, Delivery delivery) {
  Room room;
  room.ranks = ranks;
  room.inside.deliveries = room.between.deliveries = {delivery};
  return room;
}

double seconds(std::span<const Program> programs, const Sizes& l, const Room& room) {
  auto result = cost(programs, l, room);
  EXPECT_TRUE(result.ok()) << result.status().text();
  return result.ok() ? result->seconds : -1;
}

TEST(Cost, OfOneMessage) {
  Room room = room_of(
      2, {.latency = 1, .send = 2, .recv = 4, .send_byte = .5, .recv_byte = .25, .gap = 8, .byte = .125});
  room.copy = 1;
  auto result = cost(one_message(), sizes_of(16, 1), room, true);
  ASSERT_TRUE(result.ok()) << result.status().text();
  const double left = 2 + 16 * .5, there = left + 8 + 16 * .125 + 1, end = there + 4 + 16 * 1.25;
  EXPECT_EQ(result->messages, 1u);
  EXPECT_DOUBLE_EQ(result->seconds, end);
  EXPECT_DOUBLE_EQ(result->finish[1], end);
  // The root copies its input to its output, too, before or after it sends.
  EXPECT_GE(result->finish[0], left + 8 + 16 * .125);
  EXPECT_DOUBLE_EQ(result->at(1, 0).begin, there);
  EXPECT_DOUBLE_EQ(result->at(1, 0).end, end);
}

TEST(Cost, OfPiecesThatMoveOnByThemselves) {
  Room room = room_of(2, {.send_byte = 1, .recv_byte = 1, .byte = 1, .piece = 10});
  // Three stages of 100 each, a tenth at a time; the root's own copy takes nothing.
  EXPECT_DOUBLE_EQ(seconds(one_message(), sizes_of(100, 1), room), 120);
  room.inside.deliveries[0].byte = 3;  // the slowest stage, a piece before it and one behind
  EXPECT_DOUBLE_EQ(seconds(one_message(), sizes_of(100, 1), room), 320);
  room.inside.deliveries[0].piece = 100;
  EXPECT_DOUBLE_EQ(seconds(one_message(), sizes_of(100, 1), room), 500);
}

TEST(Cost, AcknowledgedSourcesStay) {
  auto finish = [](bool acknowledged) {
    Room room = room_of(2, {.latency = 1, .recv_byte = 1, .acknowledged = acknowledged});
    return cost(one_message(), sizes_of(8, 1), room)->finish[0];
  };
  EXPECT_DOUBLE_EQ(finish(false), 0);
  EXPECT_DOUBLE_EQ(finish(true), 10);
}

// Delivery by size: the first whose `most` is not exceeded.
TEST(Cost, DeliveriesBySize) {
  Room room = room_of(2, {.latency = 5});
  room.inside.deliveries.insert(room.inside.deliveries.begin(), {.most = 64, .latency = 1});
  EXPECT_DOUBLE_EQ(seconds(one_message(), sizes_of(64, 1), room), 1);
  EXPECT_DOUBLE_EQ(seconds(one_message(), sizes_of(65, 1), room), 5);
}

// A program that needs a credit is buffered: nothing stays where it is (rule 5).
TEST(Cost, BufferedProgramsAreCopied) {
  Room room = room_of(2, {.latency = 5});
  room.inside.deliveries.insert(room.inside.deliveries.begin(), {.latency = 1, .acknowledged = true});
  auto programs = one_message();
  EXPECT_DOUBLE_EQ(seconds(programs, sizes_of(64, 1), room), 2);
  programs[0].min_credits = programs[1].min_credits = 1;
  EXPECT_DOUBLE_EQ(seconds(programs, sizes_of(64, 1), room), 5);
}

// Two ranks of host 0 send to two of host 1.
std::vector<Program> two_pairs() {
  return programs_of(Collective::allreduce, 4, 1, true, [](Builder& b, const Group& g) {
    if (g.me < 2) return b.send(g.me + 2, {0, 1});
    b.recv_reduce(g.me - 2, {0, 1});
  });
}

TEST(Cost, HostsShareTheirNic) {
  Room room = room_of(4, {.latency = 1, .byte = 1});
  EXPECT_DOUBLE_EQ(seconds(two_pairs(), sizes_of(100, 1), room), 101);
  room.host_of = {0, 0, 1, 1};
  EXPECT_DOUBLE_EQ(seconds(two_pairs(), sizes_of(100, 1), room), 101);
  room.between.host_byte = 1;
  EXPECT_DOUBLE_EQ(seconds(two_pairs(), sizes_of(100, 1), room), 201);
  room.between.host_byte = .5;  // it keeps up with two
  EXPECT_DOUBLE_EQ(seconds(two_pairs(), sizes_of(100, 1), room), 151);
  room.host_of = {0, 1, 2, 3};  // a NIC each
  EXPECT_DOUBLE_EQ(seconds(two_pairs(), sizes_of(100, 1), room), 101);
}

TEST(Cost, PortsServeOneAtATime) {
  auto star = programs_of(algorithm(Collective::broadcast, "star"), 5, true);
  EXPECT_DOUBLE_EQ(seconds(star, sizes_of(10, 1), textbook_room(5, 1, 1, 0)), 4 * 11);
}

TEST(Cost, RanksShareCores) {
  Room room = room_of(4, {.send = 1, .recv = 1});
  auto direct = programs_of(algorithm(Collective::allreduce, "all_to_all"), 4, true);
  EXPECT_DOUBLE_EQ(seconds(direct, sizes_of(8, 1), room), 6);
  room.cores = 4;
  EXPECT_DOUBLE_EQ(seconds(direct, sizes_of(8, 1), room), 6);
  room.cores = 2;
  EXPECT_DOUBLE_EQ(seconds(direct, sizes_of(8, 1), room), 12);
  room.task_switch = 10;  // to the other and back, and what is left to the other
  EXPECT_GE(seconds(direct, sizes_of(8, 1), room), 12 + 20);
  EXPECT_LE(seconds(direct, sizes_of(8, 1), room), 12 + 40);
}

// A chain folds when all of its operands are there (rule 7).
TEST(Cost, AChainIsOneEvent) {
  Room room = textbook_room(4, 1, 0, 1);
  auto direct = programs_of(algorithm(Collective::allreduce, "all_to_all"), 4, true);
  EXPECT_DOUBLE_EQ(seconds(direct, sizes_of(8, 1), room), 3 + 3 * 8);
}

TEST(Cost, AResultIsSentInTheSamePass) {
  Room room = room_of(2, {.recv_byte = 1, .acknowledged = true, .fused = true, .placed = true});
  room.fold = 1, room.copy = 1, room.store = .5;
  auto direct = programs_of(algorithm(Collective::allreduce, "direct"), 2, true);
  // The operand lies at the peer: 10 to get, 10 to fold; then 5 to store the result there.
  EXPECT_DOUBLE_EQ(seconds(direct, sizes_of(10, 2), room), 25);
  room.inside.deliveries[0].placed = false;  // then it is fetched and copied
  EXPECT_DOUBLE_EQ(seconds(direct, sizes_of(10, 2), room), 45);
  room.inside.deliveries[0].fused = false;
  EXPECT_DOUBLE_EQ(seconds(direct, sizes_of(10, 2), room), 40);
}

// Segments fill the pipe of a chain of ranks (rule 1).
TEST(Cost, SegmentsOverlap) {
  auto chain = broadcast(4, [](Builder& b, const Group& g) {
    if (g.me > 0) b.recv(g.me - 1, {0, 1});
    if (g.me < 3) b.send(g.me + 1, {0, 1});
  });
  Room room = textbook_room(4, 0, 1, 0);
  EXPECT_DOUBLE_EQ(seconds(chain, sizes_of(6400, 1), room), 3 * 6400);
  room.windows = 8;
  auto result = cost(chain, sizes_of(6400, 1, 10), room, true);
  ASSERT_TRUE(result.ok());
  EXPECT_DOUBLE_EQ(result->seconds, 6400 + 2 * 640);
  EXPECT_EQ(result->messages, 30u);
  EXPECT_DOUBLE_EQ(result->at(3, 0, 9).end, result->seconds);
  room.windows = 1;  // the root goes on when it has sent, and so does each
  EXPECT_DOUBLE_EQ(seconds(chain, sizes_of(6400, 1, 10), room), 6400 + 2 * 640);
  room.inside.deliveries[0].acknowledged = true;
  room.inside.deliveries[0].recv = 640;
  const double one = seconds(chain, sizes_of(6400, 1, 10), room);
  room.windows = 4;
  EXPECT_LT(seconds(chain, sizes_of(6400, 1, 10), room), one);
}

TEST(Cost, OfOneRank) {
  Room room = textbook_room(1, 1, 1, 1);
  room.copy = 2;
  auto alone = programs_of(algorithm(Collective::allreduce, "ring"), 1, false);
  EXPECT_DOUBLE_EQ(seconds(alone, sizes_of(8, 1), room), 16);
  alone = programs_of(algorithm(Collective::allreduce, "ring"), 1, true);
  EXPECT_DOUBLE_EQ(seconds(alone, sizes_of(8, 1), room), 0);
}

std::string refusal(std::span<const Program> programs, const Room& room) {
  auto result = cost(programs, sizes_of(8, 1), room);
  return result.ok() ? "" : std::string(result.status().text());
}

TEST(Cost, RefusesWhatDoesNotFit) {
  auto programs = one_message();
  const Room two = textbook_room(2, 1, 1, 1);
  EXPECT_EQ(refusal(programs, two), "");
  EXPECT_EQ(refusal(programs, textbook_room(3, 1, 1, 1)), "2 programs in a room of 3 ranks");
  std::swap(programs[0], programs[1]);
  EXPECT_EQ(refusal(programs, two), "program 0 is that of rank 1");
  std::swap(programs[0], programs[1]);
  programs[0].steps[0].peer = 2;
  EXPECT_NE(refusal(programs, two).find("no such peer"), std::string::npos);
  programs = one_message();
  programs[1].steps.clear();
  programs[1].dep_begin = {0};
  EXPECT_NE(refusal(programs, two).find("no receive meets this send"), std::string::npos);
}

TEST(Cost, NamesStepsThatNeverHappen) {
  auto programs = one_message();
  programs[1].steps[0].src = kNowhere;
  programs[1].dep_begin = {0, 1};
  programs[1].deps = {0};
  EXPECT_NE(refusal(programs, textbook_room(2, 1, 1, 1)).find("rank 1 step 0 (recv"), std::string::npos);
}

// Rule 13: a flat ring of 65,536 ranks is 8.6e9 messages, and nobody waits for its programs to be built.
TEST(Cost, RefusesTheAbsurdAtOnce) {
  const Algorithm& ring = algorithm(Collective::allreduce, "ring");
  const Room room = textbook_room(65536, 1, 1, 1);
  int built = 0;
  auto program_of = [&](int32_t rank) { return built++, ring.build(65536, rank, 0, true); };
  auto result = cost(ProgramBuilder(program_of), sizes_of(8, 65536), room);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::unsupported);
  EXPECT_NE(result.status().text().find("8.6e+09 messages"), std::string::npos) << result.status().text();
  EXPECT_LT(built, 4);
}

TEST(Cost, RefusesRoomsThatAreNone) {
  const Room sound = textbook_room(2, 1, 1, 1);
  EXPECT_TRUE(check_room(sound).ok());
  auto refused = [&](auto spoil) {
    Room room = sound;
    spoil(room);
    return !check_room(room).ok();
  };
  EXPECT_TRUE(refused([](Room& r) { r.ranks = 0; }));
  EXPECT_TRUE(refused([](Room& r) { r.host_of = {0}; }));
  EXPECT_TRUE(refused([](Room& r) { r.host_of = {0, 2}; }));
  EXPECT_TRUE(refused([](Room& r) { r.host_of = {-1, 0}; }));
  EXPECT_TRUE(refused([](Room& r) { r.inside.deliveries.clear(); }));
  EXPECT_TRUE(refused([](Room& r) { r.between.deliveries[0].most = 7; }));
  EXPECT_TRUE(refused([](Room& r) { r.inside.deliveries[0].latency = -1; }));
  EXPECT_TRUE(refused([](Room& r) { r.inside.deliveries[0].piece = 0; }));
  EXPECT_TRUE(refused([](Room& r) { r.inside.host_byte = 0.0 / 0.0; }));
  EXPECT_TRUE(refused([](Room& r) { r.fold = 1e300 * 1e300; }));
  EXPECT_TRUE(refused([](Room& r) { r.windows = 0; }));
}

TEST(Cost, DescribesRooms) {
  Room room = textbook_room(5, 1, 1, 1);
  EXPECT_EQ(describe(room), "1 host of 5 ranks");
  room.host_of = {0, 0, 1, 1, 1};
  EXPECT_EQ(describe(room), "2 hosts of 2 to 3 ranks");
}

}  // namespace
}  // namespace plait::collectives
