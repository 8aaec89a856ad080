// What is not imported, and calls that imported programs do not run.
#include <map>
#include <mutex>

#include "runtime/programs_rig.h"

namespace plait::test {
namespace {

using collectives::Collective;

TEST(ProgramsRefused, CallsThatTheyDoNotFitAreRefused) {
  const Folder folder;
  const std::string files = folder.write("a", json_of(Collective::allreduce, "ring", "a", 3)) + ":" +
                            folder.write("b", collectives::exchange::ring_allreduce(3, 0, 1).text()) + ":" +
                            folder.write("c", json_of(Collective::broadcast, "binomial", "c", 3, 1)) + ":" +
                            folder.write("d", json_of(Collective::allgather, "ring", "d", 3)) + ":" +
                            folder.write("e", json_of(Collective::allreduce, "ring", "e", 4));
  collectives::exchange::ProgramSet half =
      set_of(*collectives::find_algorithm(Collective::scatter, "linear"), "f", 3, 1);
  half.programs[0].clear();
  on_threads(3, files + ":" + folder.write("f", to_json(half)), [](Caller& r) -> std::string {
    auto refused = [&](const Case& c, const char* why) {
      const std::string words = r.refusal(c);
      return contains(words, why) ? std::string() : "not refused: " + std::string(why) + ": " + words;
    };
    RETURN_WORDS(refused({.kind = Kind::allreduce, .count = 9, .in_place = true, .algorithm = "test"},
                         "algorithm test has no program in place"));
    RETURN_WORDS(refused({.kind = Kind::broadcast, .count = 9, .root = 0, .algorithm = "c"},
                         "algorithm c is for root 1 only, not 0"));
    RETURN_WORDS(refused({.kind = Kind::scatter, .count = 9, .in_place = true, .root = 1, .algorithm = "f"},
                         "algorithm f has no programs that do whether the root is in place or not"));
    RETURN_WORDS(refused({.kind = Kind::allgather, .algorithm = "d", .counts = {1, 2, 3}},
                         "algorithm d is not for blocks of different lengths"));
    RETURN_WORDS(
        refused({.kind = Kind::allreduce, .count = 9, .algorithm = "e"}, "no algorithm \"e\" for allreduce"));
    RETURN_WORDS(r({.kind = Kind::broadcast, .count = 9, .root = 1, .algorithm = "c"}));

    plait_op_desc desc{};
    desc.struct_size = sizeof desc;
    desc.function = [](void*, const void*, const void*, void*, size_t, plait_dtype) {};
    plait_op op = 0;
    if (plait_op_create(&desc, &op) != PLAIT_OK) return plait_last_error(nullptr);
    RETURN_WORDS(refused({.kind = Kind::allreduce, .count = 9, .op = op, .algorithm = "a"},
                         "algorithm a does not fold in the order of ranks"));
    return plait_op_free(op) == PLAIT_OK ? "" : plait_last_error(nullptr);
  });
}

// What creation says on each rank.
std::map<int, std::string> creation(int size, const std::function<std::string(int rank)>& programs_of,
                                    plait_status expected) {
  const std::string job = fresh_job();
  std::map<int, std::string> words;
  std::mutex mutex;
  run_threads(0, size, size, [&](int rank, int n) -> std::string {
    Importing c(job, rank, n, programs_of(rank));
    std::lock_guard lock(mutex);
    words[rank] = c.error;
    EXPECT_EQ(c.status, expected) << "rank " << rank << ": " << c.error;
    return {};
  });
  return words;
}

TEST(ProgramsRefused, ABrokenFileIsRefused) {
  const Folder folder;
  const std::string good = json_of(Collective::allreduce, "ring", "mine", 2);
  std::string wrong = good;
  wrong.replace(wrong.find("recv_reduce"), 11, "recv");
  const std::string unproved = folder.write("wrong.json", wrong);
  const std::string garbage = folder.write("garbage.json", "{\"plait_program\": 1,\n \"nam\": 3}");
  const std::string fine = folder.write("fine.json", good);
  for (int size : {1, 2}) {
    for (auto& [rank, text] : creation(
             size, [](int) { return "/no/such/file"; }, PLAIT_ERR_SYSTEM))
      EXPECT_TRUE(contains(text, "cannot open /no/such/file")) << text;
    for (auto& [rank, text] : creation(
             size, [&](int) { return fine + ":" + garbage; }, PLAIT_ERR_INVALID))
      EXPECT_TRUE(contains(text, garbage + ":2: unknown field 'nam'")) << text;
    for (auto& [rank, text] : creation(
             size, [&](int) { return unproved; }, PLAIT_ERR_INVALID))
      EXPECT_TRUE(contains(text, unproved + ":")) << text;
  }
  // One rank alone has it: the others say which rank, and what it said.
  auto words = creation(
      3, [&](int rank) { return rank == 1 ? garbage : fine; }, PLAIT_ERR_INVALID);
  EXPECT_TRUE(words[1].starts_with(garbage + ":2: ")) << words[1];
  for (int rank : {0, 2}) {
    EXPECT_TRUE(words[rank].starts_with("rank 1 (")) << words[rank];
    EXPECT_TRUE(contains(words[rank], ") cannot use its programs: " + garbage + ":2: unknown field"))
        << words[rank];
  }
}

TEST(ProgramsRefused, RanksMustHaveTheSame) {
  const Folder folder;
  const std::string a = folder.write("a.json", json_of(Collective::allreduce, "ring", "a", 3)),
                    copy = folder.write("copy.json", json_of(Collective::allreduce, "ring", "a", 3)),
                    b = folder.write("b.json", json_of(Collective::allreduce, "direct", "a", 3));
  for (auto& [rank, text] : creation(
           3, [&](int r) { return r == 2 ? b : a; }, PLAIT_ERR_MISMATCH)) {
    EXPECT_TRUE(text.starts_with("rank 2 (")) << text;
    EXPECT_TRUE(contains(text, ") has in " + b + " other programs than rank 0 (")) << text;
    EXPECT_TRUE(contains(text, ") in " + a + ": all ranks need the same files")) << text;
  }
  for (auto& [rank, text] : creation(
           3, [&](int r) { return r == 1 ? "" : a; }, PLAIT_ERR_MISMATCH)) {
    EXPECT_TRUE(text.starts_with("rank 1 (")) << text;
    EXPECT_TRUE(contains(text, ") lacks " + a + " of rank 0 (")) << text;
  }
  for (auto& [rank, text] : creation(
           3, [&](int r) { return r == 1 ? a + ":" + b : a; }, PLAIT_ERR_MISMATCH)) {
    EXPECT_TRUE(text.starts_with("rank 0 (")) << text;
    EXPECT_TRUE(contains(text, ") lacks " + b + " of rank 1 (")) << text;
  }
  // Wherever the same file lies.
  creation(
      3, [&](int r) { return r == 1 ? "::" + copy + ":" : a; }, PLAIT_OK);
}

TEST(ProgramsRefused, NamesMustBeTheirOwn) {
  const Folder folder;
  const std::string ring = folder.write("ring.json", json_of(Collective::allreduce, "direct", "ring", 2)),
                    a = folder.write("a.json", json_of(Collective::allreduce, "ring", "a", 2)),
                    b = folder.write("b.json", json_of(Collective::allreduce, "direct", "a", 2)),
                    other = folder.write("c.json", json_of(Collective::allgather, "ring", "a", 2)),
                    more = folder.write("d.json", json_of(Collective::allreduce, "ring", "a", 3));
  for (auto& [rank, text] : creation(
           2, [&](int) { return ring; }, PLAIT_ERR_INVALID))
    EXPECT_EQ(text, ring + ": allreduce \"ring\": there is an algorithm of that name");
  for (auto& [rank, text] : creation(
           2, [&](int) { return a + ":" + b; }, PLAIT_ERR_INVALID))
    EXPECT_EQ(text, b + ": allreduce \"a\": there is an algorithm of that name");
  // Another collective's, or other numbers of ranks, are no matter.
  creation(
      2, [&](int) { return a + ":" + other + ":" + more; }, PLAIT_OK);
}

// More lanes than a link has streams.
TEST(ProgramsRefused, WhatTheMachineDoesNotRunIsRefused) {
  const Folder folder;
  collectives::exchange::ProgramSet set =
      set_of(*collectives::find_algorithm(Collective::allreduce, "ring"), "a", 2, 0);
  for (auto& programs : set.programs)
    for (auto& p : programs)
      for (auto& step : p.steps) step.lane = 99;
  const std::string file = folder.write("lanes.json", to_json(set));
  for (auto& [rank, text] : creation(
           2, [&](int) { return file; }, PLAIT_ERR_UNSUPPORTED))
    EXPECT_TRUE(text.starts_with(file + ": rank 0: lane 99, and there are ")) << text;
}

}  // namespace
}  // namespace plait::test
