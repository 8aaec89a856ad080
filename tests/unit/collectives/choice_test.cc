// The choice among programs: what the model says, what measured times say, and that it costs little.
#include "collectives/choice/choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "collectives/choice/outline.h"
#include "collectives/choice/rooms.h"

namespace plait::collectives {
namespace {

Seating one_host(int32_t ranks, int32_t cores = 0) { return {.ranks = ranks, .cores = cores}; }
Seating spread(int32_t hosts, int32_t each) {
  Seating s{.ranks = hosts * each};
  for (int32_t r = 0; r < s.ranks; r++) s.host_of.push_back(r / each);
  return s;
}
Question allreduce(uint64_t bytes, bool in_place = true) {
  return {.collective = Collective::allreduce, .bytes = bytes, .in_place = in_place};
}
Question question(Collective collective, uint64_t bytes) {
  Question q;
  q.collective = collective;
  q.bytes = bytes;
  return q;
}
// Chooses among the rows of the table.
Chooser chooser_of(const Seating& seating, Chooser::Runs runs = {}) {
  static std::map<int32_t, Methods> methods;
  return {room_of(seating), methods.try_emplace(seating.ranks, seating.ranks).first->second, std::move(runs)};
}
std::string_view name_of_choice(Chooser& chooser, const Question& question) {
  const Method* chosen = chooser.choose(question);
  return chosen == nullptr ? "none" : chosen->name;
}

TEST(Choice, RoomsAreSound) {
  for (int32_t n : {1, 2, 8}) {
    EXPECT_TRUE(check_room(room_of(one_host(n, n > 2 ? 2 : 0))).ok());
    EXPECT_TRUE(check_room(room_of(spread(n, 3))).ok());
  }
}

// No byte crosses faster than the link that was told, and what was fitted stays where that is slower.
TEST(Choice, LinksAreAsFastAsTold) {
  Seating seating = spread(2, 2);
  const Room unknown = room_of(seating);
  seating.link_Bps = 125e6;
  const Room slow = room_of(seating);
  EXPECT_TRUE(check_room(slow).ok());
  for (const Delivery& d : slow.between.deliveries) EXPECT_DOUBLE_EQ(d.byte, 8e-9);
  EXPECT_DOUBLE_EQ(slow.between.host_byte, 8e-9);
  EXPECT_DOUBLE_EQ(slow.inside.host_byte, unknown.inside.host_byte);
  seating.link_Bps = 1e15;
  EXPECT_DOUBLE_EQ(room_of(seating).between.host_byte, unknown.between.host_byte);
}

TEST(Choice, SizeClasses) {
  EXPECT_EQ(size_class(0), 0);
  EXPECT_EQ(size_class(1), 1);
  EXPECT_EQ(size_class(2), 2);
  EXPECT_EQ(size_class(1023), size_class(1024));
  EXPECT_NE(size_class(1024), size_class(1025));
  EXPECT_EQ(size_class(UINT64_MAX), 65);
}

// What was measured (docs/performance.md): with a core each one exchange up to 1 KiB, two above.
TEST(Choice, TwoRanksOfOneHost) {
  Chooser host = chooser_of(one_host(2));
  for (uint64_t bytes : {8u, 64u, 512u, 1024u})
    EXPECT_EQ(name_of_choice(host, allreduce(bytes)), "all_to_all") << bytes;
  for (uint64_t bytes : {1025u, 4096u, 65536u, 1u << 20, 16u << 20, 1u << 30})
    EXPECT_EQ(name_of_choice(host, allreduce(bytes)), "direct") << bytes;
}

// The same where they share two cores, and each wait costs a turn of all: least waits, then least work.
TEST(Choice, Crowd) {
  for (int32_t n : {4, 8}) {
    Chooser crowd = chooser_of(one_host(n, 2));
    for (bool in_place : {false, true}) {
      for (uint64_t bytes : {8u, 64u, 256u})
        EXPECT_EQ(name_of_choice(crowd, allreduce(bytes, in_place)), "all_to_all")
            << n << " ranks, " << bytes;
      for (uint64_t bytes : {8192u, 16384u})
        EXPECT_EQ(name_of_choice(crowd, allreduce(bytes, in_place)), "star") << n << " ranks, " << bytes;
      for (uint64_t bytes : {131072u, 1u << 20, 16u << 20, 1u << 30})
        EXPECT_EQ(name_of_choice(crowd, allreduce(bytes, in_place)), "direct") << n << " ranks, " << bytes;
    }
    for (uint64_t bytes : {64u, 4096u, 65536u, 1u << 20}) {
      for (Collective c : {Collective::reduce_scatter, Collective::allgather})
        EXPECT_EQ(name_of_choice(crowd, question(c, bytes)), "direct") << bytes;
      if (n == 4) continue;  // a tree of arity 4 is the same there
      for (Collective c : {Collective::gather, Collective::scatter})
        EXPECT_EQ(name_of_choice(crowd, question(c, bytes)), "linear") << bytes;
    }
    EXPECT_EQ(name_of_choice(crowd, question(Collective::barrier, 0)), "dissemination");
    EXPECT_FALSE(crowd.candidates(allreduce(4096))[0].simulated);
  }
}

// Where they have commons, no turns are spared by a star.
TEST(Choice, CrowdWithCommons) {
  for (int32_t n : {4, 8}) {
    Seating seating = one_host(n, 2);
    seating.commons = true;
    Chooser crowd = chooser_of(seating);
    for (uint64_t bytes : {8u, 512u, 1024u})
      EXPECT_EQ(name_of_choice(crowd, allreduce(bytes)), "all_to_all") << n << " ranks, " << bytes;
    for (uint64_t bytes : {16384u, 65536u, 131072u, 1u << 20, 16u << 20})
      EXPECT_EQ(name_of_choice(crowd, allreduce(bytes)), "direct") << n << " ranks, " << bytes;
    // Operators that do not commute have none.
    Question ordered = allreduce(16384);
    ordered.commutes = false;
    EXPECT_EQ(crowd.candidates(ordered)[0].predicted,
              chooser_of(one_host(n, 2)).candidates(ordered)[0].predicted);
  }
}

TEST(Choice, TwoHosts) {
  Chooser chooser = chooser_of(spread(2, 1));
  for (uint64_t bytes : {8u, 4096u, 32768u})
    EXPECT_EQ(name_of_choice(chooser, allreduce(bytes)), "all_to_all") << bytes;
}

TEST(Choice, EveryCollectiveHasOne) {
  for (int32_t n : {1, 2, 3, 7, 8, 64, 65, 1000}) {
    for (int32_t each : {1, 2}) {
      if (n % each != 0) continue;
      Chooser chooser = chooser_of(each == 1 ? one_host(n) : spread(n / each, each));
      for (uint32_t c = 0; c < kCollectives; c++) {
        for (uint64_t bytes : {uint64_t{0}, uint64_t{8}, uint64_t{1} << 20, uint64_t{1} << 40, UINT64_MAX}) {
          EXPECT_NE(chooser.choose({.collective = Collective(c), .bytes = bytes}), nullptr)
              << name_of(Collective(c)) << " of " << n;
        }
      }
    }
  }
}

TEST(Choice, KeepsTheOrderOfRanksWhereItMust) {
  for (int32_t n : {2, 5, 100}) {
    Chooser chooser = chooser_of(one_host(n));
    for (Collective c : {Collective::allreduce, Collective::reduce_scatter, Collective::reduce}) {
      for (uint64_t bytes : {8u, 1u << 20}) {
        const Method* chosen = chooser.choose({.collective = c, .bytes = uint64_t(bytes), .commutes = false});
        ASSERT_NE(chosen, nullptr);
        EXPECT_TRUE(chosen->rank_order) << chosen->name;
        chosen = chooser.choose({.collective = c, .bytes = uint64_t(bytes), .deterministic = true});
        ASSERT_NE(chosen, nullptr);
        EXPECT_TRUE(chosen->deterministic) << chosen->name;
      }
    }
  }
}

TEST(Choice, SkipsWhatDoesNotRun) {
  std::vector<std::string_view> asked;
  Chooser chooser = chooser_of(one_host(4), [&](const Method& a, const Question&) {
    asked.push_back(a.name);
    return a.name == "ring";
  });
  EXPECT_EQ(name_of_choice(chooser, allreduce(8)), "ring");
  EXPECT_GE(asked.size(), 2u);
  EXPECT_EQ(asked.front(), "all_to_all");
  asked.clear();
  EXPECT_EQ(name_of_choice(chooser, allreduce(8)), "ring");
  EXPECT_TRUE(asked.empty());  // known now
}

TEST(Choice, NothingFits) {
  Chooser chooser = chooser_of(one_host(4), [](const Method&, const Question&) { return false; });
  EXPECT_EQ(chooser.choose(allreduce(8)), nullptr);
}

// Where one rank is apart, only that one knows whether its buffers are in place.
TEST(Choice, RootedCallsAreChosenAlikeInPlaceOrNot) {
  Chooser one = chooser_of(one_host(5)), other = chooser_of(one_host(5));
  for (Collective c : {Collective::broadcast, Collective::reduce, Collective::gather, Collective::scatter}) {
    for (uint64_t bytes = 1; bytes < 1 << 24; bytes *= 4) {
      EXPECT_EQ(one.choose({.collective = c, .bytes = bytes, .in_place = true}),
                other.choose({.collective = c, .bytes = bytes, .in_place = false}));
    }
  }
}

std::shared_ptr<Tuning> tuning(std::initializer_list<TuningRow> rows) {
  auto tuning = std::make_shared<Tuning>();
  tuning->cases[{Collective::allreduce, 4, 1, true}] = rows;
  return tuning;
}

TEST(Choice, MeasuredTimesDecide) {
  Chooser chooser = chooser_of(one_host(4));
  EXPECT_EQ(name_of_choice(chooser, allreduce(8)), "all_to_all");
  chooser.use(tuning({{8, {{"ring", 1e-6}, {"direct", 2e-6}, {"all_to_all", 3e-6}, {"no such", 1e-9}}},
                      {1024, {{"ring", 9e-6}, {"direct", 8e-6}}}}));
  EXPECT_EQ(name_of_choice(chooser, allreduce(8)), "ring");
  EXPECT_EQ(name_of_choice(chooser, allreduce(1024)), "direct");
  EXPECT_EQ(name_of_choice(chooser, allreduce(1 << 20)), "direct");
  // What was not measured is as before.
  EXPECT_EQ(name_of_choice(chooser, allreduce(8, false)), "all_to_all");
  const auto list = chooser.candidates(allreduce(8));
  EXPECT_EQ(list[0].method->name, "ring");
  EXPECT_DOUBLE_EQ(*list[0].measured, 1e-6);
  EXPECT_DOUBLE_EQ(*list[1].measured, 2e-6);
  chooser.use(nullptr);
  EXPECT_EQ(name_of_choice(chooser, allreduce(8)), "all_to_all");
}

// Times that are alike within the noise leave it to what folds in the order of ranks.
TEST(Choice, WhatIsAlikeKeepsTheOrderOfRanks) {
  Chooser chooser = chooser_of(one_host(4));
  chooser.use(tuning({{8, {{"ring", 1e-6}, {"direct", 1.01e-6}}}}));
  EXPECT_EQ(name_of_choice(chooser, allreduce(8)), "direct");
  chooser.use(tuning({{8, {{"ring", 1e-6}, {"direct", 1.1e-6}}}}));
  EXPECT_EQ(name_of_choice(chooser, allreduce(8)), "ring");
}

// Bytes of many ranks queue at the NIC of their host.
TEST(Choice, ManyDoNotAllSendToAll) {
  Chooser chooser = chooser_of(spread(64, 8));
  const auto list = chooser.candidates(allreduce(uint64_t{1} << 30));
  auto time_of = [&](std::string_view name) {
    auto found = std::find_if(list.begin(), list.end(), [&](auto& c) { return c.method->name == name; });
    return found == list.end() ? -1 : found->predicted;
  };
  EXPECT_LT(time_of("ring"), time_of("direct"));
  EXPECT_LT(time_of("ring"), time_of("all_to_all"));
  EXPECT_LT(time_of("ring"), time_of("recursive_doubling"));
}

// What has not been measured where others have waits for a tuning file.
TEST(Choice, WhatIsNotProvenIsNotTaken) {
  Chooser chooser = chooser_of(one_host(8));
  for (const Candidate& c : chooser.candidates(allreduce(4096)))
    EXPECT_EQ(c.proven,
              c.method->name == "ring" || c.method->name == "direct" || c.method->name == "all_to_all");
  auto measured = std::make_shared<Tuning>();
  measured->cases[{Collective::allreduce, 8, 1, true}] = {{4096, {{"star", 1e-6}, {"direct", 2e-6}}}};
  chooser.use(measured);
  EXPECT_EQ(name_of_choice(chooser, allreduce(4096)), "star");
}

TEST(Choice, CandidatesAreSimulatedWhereThatIsCheap) {
  Chooser few = chooser_of(one_host(4)), many = chooser_of(one_host(1024));
  EXPECT_TRUE(few.candidates(allreduce(4096))[0].simulated);
  const auto list = many.candidates(allreduce(4096));
  EXPECT_FALSE(list[0].simulated);
  EXPECT_GT(list[0].predicted, 0);
}

}  // namespace
}  // namespace plait::collectives
