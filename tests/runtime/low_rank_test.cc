// Codecs that are methods of factors, in calls of the C API.
#include <cmath>
#include <random>

#include "runtime/codec_fixture.h"

namespace plait::test {
namespace {

// A matrix of rank 2, of each rank its own, and a little noise.
std::vector<float> matrix(int rank, size_t rows, size_t columns, float noise) {
  std::mt19937 random(unsigned(rank) * 7 + 1);
  std::normal_distribution<float> normal;
  std::vector<float> u(rows * 2), v(columns * 2), m(rows * columns);
  std::mt19937 common(5);
  for (float& x : u) x = normal(common);
  for (float& x : v) x = normal(common);
  for (size_t i = 0; i < rows; i++)
    for (size_t k = 0; k < columns; k++)
      m[i * columns + k] =
          float(rank + 1) * (u[i * 2] * v[k * 2] + u[i * 2 + 1] * v[k * 2 + 1]) + noise * normal(random);
  return m;
}

plait_call_config low_rank_config(const char* codec, const std::vector<int64_t>& shape, uint64_t key) {
  plait_call_config config = config_of(codec, key);
  config.shape = shape.data();
  config.shape_dims = shape.size();
  return config;
}

double norm(const std::vector<float>& v) {
  double sum = 0;
  for (float x : v) sum += double(x) * x;
  return std::sqrt(sum);
}

TEST(LowRank, ASumOfRankTwoComesBackAndNothingIsLostForGood) {
  constexpr int kRanks = 3;
  constexpr size_t kRows = 60, kColumns = 130;
  std::vector<float> results[kRanks];
  ranks(kRanks, [&](Comm& c, int rank) -> std::string {
    const std::vector<int64_t> shape = {int64_t(kRows), 13, 10};
    const plait_call_config config = low_rank_config("powersgd:rank=2,use=always", shape, 3);
    std::vector<float> truth(kRows * kColumns), sum(truth.size());
    for (int turn = 0; turn < 6; turn++) {
      std::vector<float> in = matrix(rank, kRows, kColumns, 0.01f), out(in.size());
      for (int r = 0; r < kRanks; r++) {
        const auto m = matrix(r, kRows, kColumns, 0.01f);
        for (size_t i = 0; i < m.size(); i++) truth[i] += m[i];
      }
      const std::vector<float> before = in;
      OK(plait_allreduce(c.comm, in.data(), out.data(), in.size(), PLAIT_FLOAT32, PLAIT_SUM, &config,
                         nullptr));
      if (in != before) return "the input was changed";
      for (size_t i = 0; i < out.size(); i++) sum[i] += out[i];
      results[rank] = out;
    }
    std::vector<float> off(truth.size());
    for (size_t i = 0; i < off.size(); i++) off[i] = sum[i] - truth[i];
    if (norm(off) > 0.02 * norm(truth)) return "off by " + std::to_string(norm(off) / norm(truth));
    plait_codec_stats stats{};
    stats.struct_size = sizeof stats;
    OK(plait_codec_get_stats(c.comm, &stats));
    // Two columns for each side of the matrix.
    const bool counted = stats.calls == 6 && stats.plain_calls == 0 &&
                         stats.value_bytes == 6 * kRows * kColumns * sizeof(float) &&
                         stats.wire_bytes == 6 * 2 * (kRows + kColumns) * sizeof(float);
    return counted ? "" : "calls were counted wrong";
  });
  for (int rank = 1; rank < kRanks; rank++) EXPECT_TRUE(results[rank] == results[0]) << rank;
}

TEST(LowRank, AveragesInPlaceAmongOtherCalls) {
  ranks(2, [](Comm& c, int rank) -> std::string {
    const std::vector<int64_t> shape = {64, 64};
    const plait_call_config config = low_rank_config("powersgd:rank=2,use=always", shape, 1);
    std::vector<float> m, word = {1, 2}, mean(64 * 64);
    for (int r = 0; r < 2; r++) {
      const auto one = matrix(r, 64, 64, 0);
      for (size_t i = 0; i < one.size(); i++) mean[i] += one[i] / 2;
    }
    for (int turn = 0; turn < 3; turn++) {
      m = matrix(rank, 64, 64, 0);
      plait_request* requests[2] = {};
      OK(plait_allreduce(c.comm, m.data(), m.data(), m.size(), PLAIT_FLOAT32, PLAIT_AVG, &config,
                         &requests[0]));
      OK(plait_allreduce(c.comm, word.data(), word.data(), 2, PLAIT_FLOAT32, PLAIT_SUM, nullptr,
                         &requests[1]));
      for (plait_request* r : requests) {
        OK(plait_wait(r));
        OK(plait_request_free(r));
      }
    }
    std::vector<float> off(m.size());
    for (size_t i = 0; i < m.size(); i++) off[i] = m[i] - mean[i];
    if (norm(off) > 1e-3 * norm(mean)) return "off by " + std::to_string(norm(off) / norm(mean));
    return word[0] == 8 && word[1] == 16 ? "" : "the call between came out wrong";
  });
}

// What is no number shows once, and is gone with the next gradient.
TEST(LowRank, AGradientThatOverflowedIsForgotten) {
  ranks(2, [](Comm& c, int rank) -> std::string {
    const std::vector<int64_t> shape = {32, 48};
    const plait_call_config config = low_rank_config("powersgd:rank=2,use=always", shape, 1);
    std::vector<float> mean(32 * 48), m;
    for (int r = 0; r < 2; r++) {
      const auto one = matrix(r, 32, 48, 0);
      for (size_t i = 0; i < one.size(); i++) mean[i] += one[i] / 2;
    }
    for (int turn = 0; turn < 6; turn++) {
      m = matrix(rank, 32, 48, 0);
      if (turn == 1 && rank == 1) m[77] = INFINITY;
      OK(plait_allreduce(c.comm, m.data(), m.data(), m.size(), PLAIT_FLOAT32, PLAIT_AVG, &config, nullptr));
      if (turn == 1 && std::isfinite(m[77])) return "it did not show";
    }
    std::vector<float> off(m.size());
    for (size_t i = 0; i < m.size(); i++) off[i] = m[i] - mean[i];
    return norm(off) < 1e-3 * norm(mean) ? "" : "off by " + std::to_string(norm(off) / norm(mean));
  });
}

TEST(LowRank, AVectorGoesWithoutAndAWrongShapeIsRefused) {
  ranks(2, [](Comm& c, int) -> std::string {
    std::vector<float> v(300, 1.f);
    const std::vector<int64_t> vector = {300}, wrong = {10, 20};
    plait_call_config config = low_rank_config("powersgd:use=always", vector, 1);
    OK(plait_allreduce(c.comm, v.data(), v.data(), v.size(), PLAIT_FLOAT32, PLAIT_SUM, &config, nullptr));
    if (v[299] != 2) return "the sum is wrong";
    config = low_rank_config("powersgd:use=always", wrong, 1);
    plait_status got =
        plait_allreduce(c.comm, v.data(), v.data(), v.size(), PLAIT_FLOAT32, PLAIT_SUM, &config, nullptr);
    if (auto words = expect(got, PLAIT_ERR_INVALID, plait_last_error(c.comm), {"shape has 200 elements"});
        !words.empty())
      return words;
    config = config_of("powersgd", 1);
    got = plait_allreduce(c.comm, v.data(), v.data(), v.size(), PLAIT_FLOAT32, PLAIT_SUM, &config, nullptr);
    return expect(got, PLAIT_ERR_INVALID, plait_last_error(c.comm), {"needs the tensor's shape"});
  });
}

// A plan that was made before goes on with what is loaded.
TEST(LowRank, WhatIsKeptGoesOnAfterALoad) {
  std::vector<std::byte> saved[2];
  std::vector<float> later[2];
  for (bool again : {false, true}) {
    ranks(2, [&](Comm& c, int rank) -> std::string {
      const std::vector<int64_t> shape = {40, 50};
      const plait_call_config config = low_rank_config("powersgd:rank=1,use=always", shape, 8);
      const std::vector<float> in = matrix(rank, 40, 50, 0.5f);
      std::vector<float> out(in.size());
      plait_request* plan = nullptr;
      OK(plait_plan_allreduce(c.comm, in.data(), out.data(), in.size(), PLAIT_FLOAT32, PLAIT_SUM, &config,
                              &plan));
      auto run = [&] { return plait_start(plan) == PLAIT_OK ? plait_wait(plan) : PLAIT_ERR_INTERNAL; };
      OK(run());
      size_t length = 0;
      if (again) OK(plait_codec_state_load(c.comm, saved[rank].data(), saved[rank].size()));
      if (!again) {
        OK(run());
        OK(plait_codec_state_save(c.comm, nullptr, 0, &length));
        saved[rank].resize(length);
        OK(plait_codec_state_save(c.comm, saved[rank].data(), length, &length));
      }
      OK(run());
      OK(plait_request_free(plan));
      if (again && out != later[rank]) return "it went on otherwise";
      later[rank] = out;
      return {};
    });
  }
}

}  // namespace
}  // namespace plait::test
