// Deterministic mode: every result has the bits of one fold from rank 0 to rank n-1, whatever else differs.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "support/ranks.h"

namespace plait::test {
namespace {

// Values of very different sizes, so that almost every other order of a fold gives other bits.
float value(int rank, size_t i) {
  const auto mixed = uint32_t(i * 2654435761u + uint32_t(rank) * 40503u) >> 8;
  return std::ldexp(float(mixed % 4096) - 2047.5f, int(mixed >> 12 & 15) - 8);
}

float folded(int ranks, size_t i) {
  float sum = value(0, i);
  for (int r = 1; r < ranks; r++) sum += value(r, i);
  return sum;
}

class Deterministic : public testing::Test {
 protected:
  void SetUp() override { setenv("PLAIT_DETERMINISTIC", "1", 1); }
  void TearDown() override { unsetenv("PLAIT_DETERMINISTIC"); }
};

using Values = std::vector<float>;

Values inputs(int rank, size_t count) {
  Values v(count);
  for (size_t i = 0; i < count; i++) v[i] = value(rank, i);
  return v;
}

// The first of `count` elements from `first` on whose bits are others; empty when there is none.
std::string differs(const char* what, const float* got, size_t first, size_t count, int ranks) {
  for (size_t i = 0; i < count; i++) {
    const float want = folded(ranks, first + i);
    if (std::memcmp(&got[i], &want, sizeof want) == 0) continue;
    return std::string(what) + ": element " + std::to_string(first + i) + " of " + std::to_string(count) +
           " is " + std::to_string(got[i]) + ", not " + std::to_string(want);
  }
  return "";
}

std::string all_of_one_size(plait_comm* comm, int rank, int size, size_t count,
                            const plait_call_config* config) {
  const auto ranks = size_t(size);
  Values in = inputs(rank, count * ranks), out(count * ranks);
  const plait_dtype f32 = PLAIT_FLOAT32;
  if (plait_allreduce(comm, in.data(), out.data(), count, f32, PLAIT_SUM, config, nullptr) != PLAIT_OK)
    return plait_last_error(comm);
  std::string words = differs("allreduce", out.data(), 0, count, size);
  Values place = inputs(rank, count);
  plait_allreduce(comm, place.data(), place.data(), count, f32, PLAIT_SUM, config, nullptr);
  if (words.empty()) words = differs("allreduce in place", place.data(), 0, count, size);
  // These have no all_to_all.
  plait_reduce_scatter(comm, in.data(), out.data(), count, f32, PLAIT_SUM, nullptr, nullptr);
  if (words.empty()) words = differs("reduce_scatter", out.data(), size_t(rank) * count, count, size);
  const int root = size - 1;
  plait_reduce(comm, in.data(), out.data(), count, f32, PLAIT_SUM, root, nullptr, nullptr);
  if (words.empty() && rank == root) words = differs("reduce", out.data(), 0, count, size);
  return words;
}

TEST_F(Deterministic, BitsAreThoseOfOneFold) {
  for (int n : {2, 3, 5}) {
    const std::string job = fresh_job();
    run_ranks(processes(n), [&](int rank, int size) -> std::string {
      Comm c(job, rank, size);
      if (c.comm == nullptr) return c.error;
      for (const char* name : {static_cast<const char*>(nullptr), "direct", "all_to_all"}) {
        plait_call_config config{};
        config.struct_size = sizeof config;
        config.algorithm = name;
        for (size_t count : {1u, 7u, 300u, 5000u, 70001u}) {
          const std::string words = all_of_one_size(c.comm, rank, size, count, &config);
          if (!words.empty()) return words;
        }
      }
      return "";
    });
  }
}

TEST_F(Deterministic, AlgorithmsThatAreNotAreRefused) {
  const std::string job = fresh_job();
  run_ranks({3}, [&](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    if (c.comm == nullptr) return c.error;
    plait_call_config config{};
    config.struct_size = sizeof config;
    config.algorithm = "ring";
    float x = 1;
    if (plait_allreduce(c.comm, &x, &x, 1, PLAIT_FLOAT32, PLAIT_SUM, &config, nullptr) !=
        PLAIT_ERR_UNSUPPORTED)
      return "a ring was taken";
    if (!contains(c.last(), "is not one of the deterministic ones: direct, all_to_all")) return c.last();
    // What folds nothing is as it was.
    float all[3];
    return plait_allgather(c.comm, &x, all, 1, PLAIT_FLOAT32, &config, nullptr) == PLAIT_OK ? "" : c.last();
  });
}

TEST_F(Deterministic, RanksMustAgree) {
  const std::string job = fresh_job();
  run_ranks(processes(2), [&](int rank, int size) -> std::string {
    if (rank == 1) setenv("PLAIT_DETERMINISTIC", "0", 1);
    Comm c(job, rank, size);
    if (c.status != PLAIT_ERR_MISMATCH) return "status " + std::to_string(c.status) + ": " + c.error;
    return contains(c.error, "is deterministic and") ? "" : c.error;
  });
}

TEST_F(Deterministic, ByConfigAndInherited) {
  unsetenv("PLAIT_DETERMINISTIC");
  const std::string job = fresh_job();
  run_ranks({2}, [&](int rank, int size) -> std::string {
    plait_init(nullptr);
    plait_comm_config config{};
    config.struct_size = sizeof config;
    config.rank = rank;
    config.size = size;
    config.job = job.c_str();
    const std::string host = host_of(rank);
    config.host_id = host.empty() ? nullptr : host.c_str();
    config.deterministic = 1;
    plait_comm *comm = nullptr, *child = nullptr;
    if (plait_comm_create(&config, &comm) != PLAIT_OK) return plait_last_error(nullptr);
    if (plait_comm_dup(comm, nullptr, &child) != PLAIT_OK) return plait_last_error(comm);
    plait_call_config ring{};
    ring.struct_size = sizeof ring;
    ring.algorithm = "ring";
    float x = 1;
    const plait_status status = plait_allreduce(child, &x, &x, 1, PLAIT_FLOAT32, PLAIT_SUM, &ring, nullptr);
    plait_comm_destroy(child);
    plait_comm_destroy(comm);
    plait_finalize();
    return status == PLAIT_ERR_UNSUPPORTED ? "" : "the child took a ring";
  });
}

}  // namespace
}  // namespace plait::test
