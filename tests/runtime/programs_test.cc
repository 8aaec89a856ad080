// Imported programs run: as calls of their names, as choices, in children.
#include "runtime/programs_rig.h"

namespace plait::test {
namespace {

using collectives::Collective;

std::string run_many_sizes(Caller& r, Kind kind, const char* name, int root = 0) {
  int k = 0;
  for (size_t count : {0u, 1u, 2u, 3u, 14u, 100u, 1000u, 4099u, 70'001u, 200'000u}) {
    for (bool in_place : {false, true}) {
      const How how = How(k++ % 3);
      RETURN_WORDS(
          r({.kind = kind, .count = count, .in_place = in_place, .root = root, .algorithm = name, .how = how},
            how == How::plan ? 2 : 1));
    }
  }
  return {};
}

std::string run_types(Caller& r, Kind kind, const char* name) {
  for (int t = 0; t <= int(PLAIT_BFLOAT16); t++) {
    for (plait_op op : {PLAIT_SUM, PLAIT_MAX, PLAIT_AVG}) {
      for (bool in_place : {false, true}) {
        RETURN_WORDS(r({.kind = kind,
                        .count = 777,
                        .dtype = plait_dtype(t),
                        .op = op,
                        .in_place = in_place,
                        .algorithm = name}));
      }
    }
  }
  return {};
}

// Narrow floats, averages that scale on the way and premultiplied sums: the bits of the algorithm that it is.
std::string run_like(Caller& r, const char* name, const char* like) {
  const float weight = 1.5F - 0.25F * float(r.rank);
  plait_op_desc desc{};
  desc.struct_size = sizeof desc;
  desc.scaling = &weight;
  desc.dtype = PLAIT_FLOAT32;
  plait_op scaled = 0;
  if (plait_op_create(&desc, &scaled) != PLAIT_OK) return plait_last_error(nullptr);
  constexpr size_t kBytes = 40'000;
  for (auto [dtype, op] : {std::pair(PLAIT_FLOAT8_E4M3, plait_op(PLAIT_AVG)),
                           {PLAIT_FLOAT8_E5M2, PLAIT_SUM},
                           {PLAIT_FLOAT16, PLAIT_AVG},
                           {PLAIT_FLOAT32, scaled}}) {
    std::vector<unsigned char> in(kBytes), out[2];
    for (size_t i = 0; i < kBytes; i++) in[i] = (unsigned char)((i * 37 + size_t(r.rank) * 11) % 60);
    for (int k : {0, 1}) {
      out[k].resize(kBytes);
      plait_call_config config{};
      config.struct_size = sizeof config;
      config.algorithm = k == 0 ? name : like;
      const size_t count = kBytes / (dtype == PLAIT_FLOAT32 ? 4 : dtype == PLAIT_FLOAT16 ? 2 : 1);
      if (plait_allreduce(r.comm, in.data(), out[k].data(), count, dtype, op, &config, nullptr) != PLAIT_OK)
        return plait_last_error(r.comm);
    }
    if (out[0] != out[1]) return "other bits than " + std::string(like) + ", dtype " + std::to_string(dtype);
  }
  return plait_op_free(scaled) == PLAIT_OK ? "" : plait_last_error(nullptr);
}

TEST(Programs, AJsonRingOfThreeRuns) {
  const Folder folder;
  on_threads(3, folder.write("ring.json", json_of(Collective::allreduce, "ring", "my_ring", 3)),
             [](Caller& r) -> std::string {
               RETURN_WORDS(run_many_sizes(r, Kind::allreduce, "my_ring"));
               RETURN_WORDS(run_types(r, Kind::allreduce, "my_ring"));
               RETURN_WORDS(run_like(r, "my_ring", "ring"));
               return r.choice(100, "my_ring") == "my_ring" ? "" : "another name";
             });
}

TEST(Programs, AnMscclAllreduceOfFourRuns) {
  const Folder folder;
  auto xml = collectives::exchange::ring_allreduce(4, 1, 1).text();
  on_threads(4, folder.write("allreduce.xml", xml), [](Caller& r) -> std::string {
    RETURN_WORDS(run_many_sizes(r, Kind::allreduce, "test"));
    return run_types(r, Kind::allreduce, "test");
  });
}

// All that plait has itself, as if others had written it. More ranks of fewer sizes.
TEST(Programs, EveryAlgorithmRunsAsAFile) {
  static constexpr Kind kKindOf[] = {Kind::allreduce, Kind::reduce_scatter, Kind::allgather, Kind::broadcast,
                                     Kind::reduce,    Kind::gather,         Kind::scatter,   Kind::alltoall};
  const int root = 2;
  for (int n : {3, 4}) {
    const Folder folder;
    std::string files;
    std::vector<std::pair<Kind, std::string>> all;
    for (const collectives::Algorithm& row : collectives::algorithms()) {
      if (row.collective == Collective::barrier || !row.accepts(n)) continue;
      const std::string name = "my_" + std::string(row.name);
      files += (files.empty() ? "" : ":") +
               folder.write(std::to_string(all.size()) + ".json", to_json(set_of(row, name, n, root)));
      all.emplace_back(kKindOf[size_t(row.collective)], name);
    }
    ASSERT_GT(all.size(), 30u);
    on_threads(n, files, [&](Caller& r) -> std::string {
      for (const auto& [kind, name] : all) {
        for (size_t count : {2000u, 30'000u}) {
          for (bool in_place : {false, true}) {
            RETURN_WORDS(r({.kind = kind,
                            .count = count,
                            .in_place = in_place,
                            .root = root,
                            .algorithm = name.c_str()}));
          }
        }
      }
      return {};
    });
  }
}

// A rank's part in several chunks, whether they come out even or not.
TEST(Programs, PartsOfSeveralChunksRun) {
  const Folder folder;
  std::string files;
  for (auto& [collective, row] : {std::pair{Collective::allgather, "ring"},
                                  {Collective::reduce_scatter, "ring"},
                                  {Collective::gather, "binomial"},
                                  {Collective::scatter, "binomial"}}) {
    files +=
        folder.write(std::string(name_of(collective)), json_of(collective, row, "pieces", 3, 1, 4)) + ":";
  }
  on_threads(3, files, [](Caller& r) -> std::string {
    for (Kind kind : {Kind::allgather, Kind::reduce_scatter, Kind::gather, Kind::scatter}) {
      RETURN_WORDS(run_many_sizes(r, kind, "pieces", 1));
      for (size_t count = 0; count < 40; count++)
        RETURN_WORDS(
            r({.kind = kind, .count = count, .in_place = count % 3 == 0, .root = 1, .algorithm = "pieces"}));
    }
    return {};
  });
}

TEST(Programs, ABarrierRuns) {
  const Folder folder;
  on_threads(5, folder.write("barrier", json_of(Collective::barrier, "dissemination", "mine", 5)),
             [](Caller& r) -> std::string {
               plait_call_config config{};
               config.struct_size = sizeof config;
               config.algorithm = "mine";
               for (int k = 0; k < 20; k++)
                 if (plait_barrier(r.comm, &config, nullptr) != PLAIT_OK) return plait_last_error(r.comm);
               return {};
             });
}

TEST(Programs, DeterministicCommunicatorsTakeWhatIsProvedToBe) {
  const Folder folder;
  const std::string files = folder.write("a", json_of(Collective::allreduce, "ring", "a", 3)) + ":" +
                            folder.write("b", json_of(Collective::allreduce, "direct", "b", 3));
  const std::string job = fresh_job();
  EXPECT_EQ(run_threads(0, 3, 3,
                        [&](int rank, int n) -> std::string {
                          Importing c(job, rank, n, files, {}, true);
                          if (c.status != PLAIT_OK) return c.error;
                          Caller r(c.comm, rank, n);
                          const std::string words =
                              r.refusal({.kind = Kind::allreduce, .count = 9, .algorithm = "a"});
                          if (!contains(words, "algorithm a is not one of the deterministic ones"))
                            return words;
                          return r({.kind = Kind::allreduce, .count = 9000, .algorithm = "b"});
                        }),
            "");
}

// What is for fewer ranks waits for the children that have as many.
TEST(Programs, ChildrenHaveThemToo) {
  const Folder folder;
  const std::string files = folder.write("ring.json", json_of(Collective::allreduce, "ring", "three", 3)) +
                            ":" + folder.write("one.json", json_of(Collective::allreduce, "ring", "one", 1));
  on_threads(4, files, [](Caller& r) -> std::string {
    if (r.refusal({.kind = Kind::allreduce, .count = 9, .algorithm = "three"}).empty()) return "not refused";
    plait_comm *child = nullptr, *copy = nullptr;
    const bool alone = r.rank == 1;
    if (plait_comm_split(r.comm, alone, 0, nullptr, &child) != PLAIT_OK) return plait_last_error(r.comm);
    if (plait_comm_dup(child, nullptr, &copy) != PLAIT_OK) return plait_last_error(child);
    std::string words;
    for (plait_comm* comm : {child, copy}) {
      Caller c(comm, alone ? 0 : r.rank - (r.rank > 1), alone ? 1 : 3);
      if (words.empty())
        words = c(
            {.kind = Kind::allreduce, .count = 5000, .in_place = true, .algorithm = alone ? "one" : "three"},
            3);
    }
    plait_comm_destroy(copy);
    plait_comm_destroy(child);
    return words;
  });
}

TEST(Programs, AreChosenWhereTheyWereMeasuredToBeBest) {
  const Folder folder;
  const std::string files = folder.write("ring.json", json_of(Collective::allreduce, "ring", "mine", 3));
  const std::string tuning = folder.write("tuning.json", R"({
 "plait_tuning": 1,
 "machine": {"cpu": "test", "cores": 2, "hosts": 1, "date": "2026-01-01"},
 "cases": [
  {"collective": "allreduce", "ranks": 3, "hosts": 1, "in_place": true, "times": [
   {"bytes": 4096, "us": {"mine": 1.0, "direct": 2.0}}]},
  {"collective": "allreduce", "ranks": 3, "hosts": 2, "in_place": true, "times": [
   {"bytes": 4096, "us": {"mine": 1.0, "direct": 2.0}}]}]})");
  const std::string job = fresh_job();
  EXPECT_EQ(run_threads(0, 3, 3,
                        [&](int rank, int n) -> std::string {
                          Importing c(job, rank, n, files, tuning);
                          if (c.status != PLAIT_OK) return c.error;
                          Caller r(c.comm, rank, n);
                          const std::string choice = r.choice(1024);
                          if (choice != "mine") return choice;
                          return r({.kind = Kind::allreduce, .count = 1024, .in_place = true});
                        }),
            "");
}

TEST(Programs, ErrorsNameThem) {
  const Folder folder;
  on_threads(2, folder.write("ring.json", json_of(Collective::allreduce, "ring", "mine", 2)),
             [](Caller& r) -> std::string {
               Case c{.kind = Kind::allreduce, .count = 10, .algorithm = r.rank == 0 ? "mine" : "ring"};
               const std::string words = r(c);
               return contains(words, "allreduce(count=10, float32, sum) by mine") &&
                              contains(words, "allreduce(count=10, float32, sum) by ring")
                          ? ""
                          : words;
             });
}

}  // namespace
}  // namespace plait::test
