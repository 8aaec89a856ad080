// Codecs in calls of the C API: the user's own, what they keep, wrong uses.
#include <cmath>
#include <cstring>
#include <random>

#include "runtime/messages.h"

namespace plait::test {
namespace {

// ---- codecs of the user's own

// Values that are not 0, with where they are.
struct Entry {
  uint32_t at;
  float value;
};
size_t sparse_bound(void*, size_t count, plait_dtype) { return count * sizeof(Entry); }
size_t sparse_encode(void*, const void* values, size_t count, plait_dtype, void*, void* wire) {
  size_t length = 0;
  for (uint32_t i = 0; i < count; i++) {
    Entry e{i, static_cast<const float*>(values)[i]};
    if (e.value == 0) continue;
    std::memcpy(static_cast<char*>(wire) + length, &e, sizeof e);
    length += sizeof e;
  }
  return length;
}
int sparse_decode(void*, const void* wire, size_t bytes, void* values, size_t count, plait_dtype) {
  std::memset(values, 0, count * sizeof(float));
  for (size_t at = 0; at + sizeof(Entry) <= bytes; at += sizeof(Entry)) {
    Entry e;
    std::memcpy(&e, static_cast<const char*>(wire) + at, sizeof e);
    if (e.at >= count) return 1;
    static_cast<float*>(values)[e.at] = e.value;
  }
  return bytes % sizeof(Entry) == 0 ? 0 : 2;
}

// Multiples of 8, in a byte each; what is left of a value is added to the next one of the same element.
size_t coarse_bound(void*, size_t count, plait_dtype) { return count; }
size_t coarse_encode(void*, const void* values, size_t count, plait_dtype, void* state, void* wire) {
  auto* left = static_cast<float*>(state);
  for (size_t i = 0; i < count; i++) {
    const float all = static_cast<const float*>(values)[i] + left[i];
    const float steps = std::fmin(std::fmax(std::trunc(all / 8), -127.f), 127.f);
    static_cast<int8_t*>(wire)[i] = int8_t(steps);
    left[i] = all - steps * 8;
  }
  return count;
}
int coarse_decode(void*, const void* wire, size_t bytes, void* values, size_t count, plait_dtype) {
  if (bytes != count) return 1;
  for (size_t i = 0; i < count; i++)
    static_cast<float*>(values)[i] = float(static_cast<const int8_t*>(wire)[i]) * 8;
  return 0;
}
int coarse_add(void*, const void* wire, size_t bytes, void* values, size_t count, plait_dtype) {
  if (bytes != count) return 1;
  for (size_t i = 0; i < count; i++)
    static_cast<float*>(values)[i] += float(static_cast<const int8_t*>(wire)[i]) * 8;
  return 0;
}

plait_codec_desc sparse() {
  plait_codec_desc d{};
  d.struct_size = sizeof d;
  d.name = "test_sparse";
  d.exact = 1;
  d.bound = sparse_bound;
  d.encode = sparse_encode;
  d.decode = sparse_decode;
  return d;
}
plait_codec_desc coarse() {
  plait_codec_desc d{};
  d.struct_size = sizeof d;
  d.name = "test_coarse";
  d.state_bytes = sizeof(float);
  d.ratio = 0.25;
  d.bound = coarse_bound;
  d.encode = coarse_encode;
  d.decode = coarse_decode;
  d.decode_reduce = coarse_add;
  return d;
}
// Once in this process.
void know_codecs() {
  static const bool done = [] {
    const plait_codec_desc codecs[] = {sparse(), coarse()};
    EXPECT_EQ(plait_init(nullptr), PLAIT_OK);
    for (const auto& desc : codecs)
      EXPECT_EQ(plait_codec_register(&desc), PLAIT_OK) << plait_last_error(nullptr);
    return true;
  }();
  (void)done;
}

plait_call_config config_of(const char* codec, uint64_t key = 0, const char* algorithm = nullptr) {
  plait_call_config config{};
  config.struct_size = sizeof config;
  config.codec = codec;
  config.tensor_key = key;
  config.algorithm = algorithm;
  return config;
}

float value(int rank, int turn, size_t i) {
  return float(int(i * 37 + size_t(rank) * 11 + size_t(turn) * 5) % 101 - 50);
}

std::string allreduce(Comm& c, std::vector<float>& values, const plait_call_config& config,
                      plait_op op = PLAIT_SUM) {
  return ok(plait_allreduce(c.comm, values.data(), values.data(), values.size(), PLAIT_FLOAT32, op, &config,
                            nullptr),
            c.comm);
}

TEST(Codecs, AnExactOneGivesTheSameWhateverTheCall) {
  know_codecs();
  ranks(4, [](Comm& c, int rank) -> std::string {
    for (const char* use :
         {"test_sparse:use=always", "test_sparse:use=always,at=edge", "test_sparse:use=always,links=hosts"}) {
      for (size_t count : {size_t(0), size_t(1), size_t(5), size_t(1000), size_t(300'000)}) {
        const plait_call_config config = config_of(use);
        std::vector<float> in(count * 4), out(count * 4), want(count * 4);
        for (size_t i = 0; i < in.size(); i++) {
          in[i] = value(rank, 0, i);
          for (int r = 0; r < 4; r++) want[i] += value(r, 0, i);
        }
        out = in;
        if (auto words = allreduce(c, out, config); !words.empty()) return words;
        if (out != want) return "allreduce with " + std::string(use);
        OK(plait_reduce_scatter(c.comm, in.data(), out.data(), count, PLAIT_FLOAT32, PLAIT_SUM, &config,
                                nullptr));
        if (!std::equal(out.begin(), out.begin() + ptrdiff_t(count), want.begin() + ptrdiff_t(count) * rank))
          return "reduce_scatter with " + std::string(use);
        OK(plait_allgather(c.comm, want.data() + count * size_t(rank), out.data(), count, PLAIT_FLOAT32,
                           &config, nullptr));
        if (out != want) return "allgather with " + std::string(use);
        if (rank == 1) out = in;
        OK(plait_broadcast(c.comm, out.data(), out.data(), count, PLAIT_FLOAT32, 1, &config, nullptr));
        for (size_t i = 0; i < count; i++)
          if (out[i] != value(1, 0, i)) return "broadcast with " + std::string(use);
        OK(plait_reduce(c.comm, in.data(), out.data(), count, PLAIT_FLOAT32, PLAIT_MAX, 2, &config, nullptr));
      }
    }
    return {};
  });
}

// All algorithms, and what is encoded between hosts alone.
TEST(Codecs, RanksGetTheSameBitsAndNothingIsLostForGood) {
  know_codecs();
  constexpr int kRanks = 4, kTurns = 4;
  constexpr size_t kCount = 50'000;
  std::vector<float> results[kRanks];
  ranks(kRanks, [&](Comm& c, int rank) -> std::string {
    uint64_t key = 0;
    for (const char* algorithm :
         {"ring", "direct", "rabenseifner", "double_tree", "all_to_all", "multi_ring"}) {
      std::vector<float> sum(kCount), want(kCount);
      const plait_call_config config = config_of("test_coarse:use=always", ++key, algorithm);
      for (int turn = 0; turn < kTurns; turn++) {
        std::vector<float> values(kCount);
        for (size_t i = 0; i < kCount; i++) {
          values[i] = value(rank, turn, i);
          sum[i] -= value(0, turn, i) + value(1, turn, i) + value(2, turn, i) + value(3, turn, i);
        }
        if (auto words = allreduce(c, values, config); !words.empty()) return words;
        for (size_t i = 0; i < kCount; i++) sum[i] += values[i];
        results[rank].insert(results[rank].end(), values.begin(), values.end());
      }
      for (size_t i = 0; i < kCount; i++)
        if (std::fabs(sum[i]) > 8 * 2 * kRanks)
          return std::string(algorithm) + " lost " + std::to_string(sum[i]);
    }
    return {};
  });
  for (int rank = 1; rank < kRanks; rank++) EXPECT_TRUE(results[rank] == results[0]) << rank;
}

TEST(Codecs, AverageIsTheSumDividedOnce) {
  know_codecs();
  ranks(2, [](Comm& c, int rank) -> std::string {
    for (const char* use : {"test_coarse:use=always,at=hop", "test_coarse:use=always,at=edge"}) {
      std::vector<float> values(3000, rank == 0 ? 64.f : 32.f);
      if (auto words = allreduce(c, values, config_of(use, 9 + uint64_t(use[28] == 'e')), PLAIT_AVG);
          !words.empty())
        return words;
      for (float v : values)
        if (v != 48) return "the average is " + std::to_string(v);
    }
    return {};
  });
}

// plait's own, of each kind, over everything that a call can be: all ranks hold the same, near the truth.
TEST(Codecs, PlaitsOwnLeaveRanksWithTheSameBits) {
  constexpr int kRanks = 3;
  constexpr size_t kCount = 40'000;
  const std::pair<const char*, double> kCodecs[] = {
      {"int8", 0.02}, {"int4:at=edge", 0.2},   {"cast:to=bf16", 0.01},      {"cast:to=e4m3,links=hosts", 0.1},
      {"onebit", 1},  {"topk:ratio=0.5", 0.5}, {"threshold:value=20", 0.5}, {"randomk:ratio=0.9", 0.5}};
  std::vector<float> results[kRanks];
  ranks(kRanks, [&](Comm& c, int rank) -> std::string {
    uint64_t key = 0;
    for (const auto& [text, most] : kCodecs) {
      const std::string use =
          std::string(text) + (std::strchr(text, ':') == nullptr ? ":" : ",") + "use=always";
      std::vector<float> values(kCount);
      double off = 0, all = 0;
      for (size_t i = 0; i < kCount; i++) values[i] = value(rank, 0, i);
      if (auto words = allreduce(c, values, config_of(use.c_str(), ++key)); !words.empty()) return words;
      for (size_t i = 0; i < kCount; i++) {
        const double want = double(value(0, 0, i)) + double(value(1, 0, i)) + double(value(2, 0, i));
        off += (double(values[i]) - want) * (double(values[i]) - want);
        all += want * want;
      }
      if (off > most * most * all) return use + " is off by " + std::to_string(std::sqrt(off / all));
      results[rank].insert(results[rank].end(), values.begin(), values.end());
    }
    return {};
  });
  for (int rank = 1; rank < kRanks; rank++) {
    for (size_t i = 0; i < results[rank].size(); i++)
      ASSERT_EQ(results[rank][i], results[0][i])
          << kCodecs[i / kCount].first << ", rank " << rank << " at " << i % kCount;
  }
}

TEST(Codecs, LosslessTakesAnyTypeAndOperator) {
  ranks(3, [](Comm& c, int rank) -> std::string {
    const plait_call_config config = config_of("lossless:use=always");
    std::vector<int32_t> v(70'000);
    for (size_t i = 0; i < v.size(); i++) v[i] = int32_t(i % 1000) * (rank + 1) * (i % 2 == 0 ? 1 : -1);
    const plait_status got =
        plait_allreduce(c.comm, v.data(), v.data(), v.size(), PLAIT_INT32, PLAIT_MAX, &config, nullptr);
    if (got == PLAIT_ERR_UNSUPPORTED) return {};  // built without zstd
    OK(got);
    for (size_t i = 0; i < v.size(); i++)
      if (v[i] != int32_t(i % 1000) * (i % 2 == 0 ? 3 : -1)) return "element " + std::to_string(i);
    return {};
  });
}

TEST(Codecs, AreCounted) {
  know_codecs();
  ranks(2, [](Comm& c, int) -> std::string {
    std::vector<float> v(1024, 1.f);
    for (const char* use : {"test_coarse:use=always", "test_coarse", "test_sparse"})
      if (auto words = allreduce(c, v, config_of(use, 1, "direct")); !words.empty()) return words;
    plait_codec_stats stats{};
    stats.struct_size = sizeof stats;
    OK(plait_codec_get_stats(c.comm, &stats));
    // Half of it was encoded for the other rank, then the sum of the other half.
    if (stats.calls == 1 && stats.plain_calls == 2 && stats.value_bytes == 4096 &&
        stats.wire_bytes == 1024 + 16)
      return {};
    return std::to_string(stats.calls) + " calls, " + std::to_string(stats.plain_calls) + " plain, " +
           std::to_string(stats.value_bytes) + " bytes became " + std::to_string(stats.wire_bytes);
  });
}

// ---- what is kept

TEST(Codecs, WhatIsKeptGoesOnAfterALoad) {
  know_codecs();
  constexpr int kRanks = 2;
  constexpr size_t kCount = 10'000;
  std::vector<std::byte> saved[kRanks];
  std::vector<float> third[kRanks];
  const plait_call_config config = config_of("test_coarse:use=always", 7, "ring");
  auto call = [&](Comm& c, int rank, int turn, std::vector<float>& values) {
    values.resize(kCount);
    for (size_t i = 0; i < kCount; i++) values[i] = value(rank, turn, i);
    return allreduce(c, values, config);
  };
  ranks(kRanks, [&](Comm& c, int rank) -> std::string {
    std::vector<float> values;
    for (int t = 0; t < 2; t++)
      if (auto words = call(c, rank, t, values); !words.empty()) return words;
    size_t length = 0;
    OK(plait_codec_state_save(c.comm, nullptr, 0, &length));
    saved[rank].resize(length);
    OK(plait_codec_state_save(c.comm, saved[rank].data(), length, &length));
    if (length != saved[rank].size() || length < kCount * sizeof(float))
      return "the state has " + std::to_string(length);
    return call(c, rank, 2, third[rank]);
  });
  ranks(kRanks, [&](Comm& c, int rank) -> std::string {
    std::vector<float> values;
    if (auto words = call(c, rank, 2, values); !words.empty()) return words;
    if (values == third[rank]) return "nothing was kept";
    OK(plait_codec_state_load(c.comm, saved[rank].data(), saved[rank].size()));
    if (auto words = call(c, rank, 2, values); !words.empty()) return words;
    return values == third[rank] ? "" : "it went on otherwise";
  });
}

TEST(Codecs, AStateThatIsNoneIsRefused) {
  know_codecs();
  ranks(2, [](Comm& c, int rank) -> std::string {
    std::vector<float> values(1000, 3.f);
    if (auto words = allreduce(c, values, config_of("test_coarse:use=always", 1)); !words.empty())
      return words;
    size_t length = 0;
    std::vector<std::byte> saved(1 << 16);
    OK(plait_codec_state_save(c.comm, saved.data(), saved.size(), &length));
    saved.resize(length);
    auto refused = [&](const std::vector<std::byte>& bytes, const char* why) {
      const plait_status got = plait_codec_state_load(c.comm, bytes.data(), bytes.size());
      return expect(got, PLAIT_ERR_INVALID, plait_last_error(c.comm), {"plait_codec_state_load", why});
    };
    for (size_t cut : {size_t(0), size_t(10), length / 2, length - 1}) {
      const std::vector<std::byte> shorter(saved.begin(), saved.begin() + ptrdiff_t(cut));
      if (cut == 0) continue;
      if (auto words = refused(shorter, cut == 10 ? "no bytes of" : "changed, or cut short"); !words.empty())
        return words;
    }
    std::mt19937 random(unsigned(rank) + 1);
    for (int i = 0; i < 200; i++) {
      auto other = saved;
      other[random() % other.size()] ^= std::byte(1 + random() % 255);
      if (auto words = refused(other, ""); !words.empty()) return words;
    }
    // Of another rank: the sum holds, the rank does not.
    OK(plait_codec_state_load(c.comm, saved.data(), saved.size()));
    return {};
  });
}

// ---- methods of factors

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

// ---- wrong uses

TEST(CodecErrors, SayWhichWordIsWrong) {
  know_codecs();
  ranks(2, [](Comm& c, int) -> std::string {
    std::vector<float> v(10);
    auto says = [&](const char* codec, plait_status want, const char* words, uint64_t key = 1,
                    plait_op op = PLAIT_SUM, plait_dtype dtype = PLAIT_FLOAT32) {
      const plait_call_config config = config_of(codec, key);
      const plait_status got = plait_allreduce(c.comm, v.data(), v.data(), 10, dtype, op, &config, nullptr);
      return expect(got, want, plait_last_error(c.comm), {"plait_allreduce", words});
    };
    for (const std::string& words : {
             says("nonesuch", PLAIT_ERR_INVALID, "nonesuch"),
             says("test_sparse:links=some", PLAIT_ERR_INVALID, "links=all and links=hosts"),
             says("test_sparse:at=home", PLAIT_ERR_INVALID, "at=hop and at=edge"),
             says("test_sparse:use=never", PLAIT_ERR_INVALID, "use=pays and use=always"),
             says("test_coarse", PLAIT_ERR_INVALID, "tensor_key", 0),
             says("test_coarse", PLAIT_ERR_UNSUPPORTED, "sums and averages only", 1, PLAIT_MAX),
             says("test_coarse", PLAIT_ERR_UNSUPPORTED, "does not take float64", 1, PLAIT_SUM, PLAIT_FLOAT64),
         }) {
      if (!words.empty()) return words;
    }
    const plait_call_config config = config_of("test_sparse:use=always");
    const plait_status got = plait_alltoall(c.comm, v.data(), v.data(), 5, PLAIT_FLOAT32, &config, nullptr);
    return expect(got, PLAIT_ERR_UNSUPPORTED, plait_last_error(c.comm),
                  {"plait_alltoall", "codecs go with allreduce"});
  });
}

TEST(CodecErrors, AKeyIsOfOneTensor) {
  know_codecs();
  ranks(2, [](Comm& c, int) -> std::string {
    std::vector<float> v(100), w(200);
    const plait_call_config config = config_of("test_coarse:use=always", 5);
    if (auto words = allreduce(c, v, config); !words.empty()) return words;
    const plait_status got =
        plait_allreduce(c.comm, w.data(), w.data(), 200, PLAIT_FLOAT32, PLAIT_SUM, &config, nullptr);
    if (auto words = expect(got, PLAIT_ERR_INVALID, plait_last_error(c.comm),
                            {"tensor_key 5 is of 100 float32", "200"});
        !words.empty())
      return words;
    return allreduce(c, v, config);
  });
}

TEST(CodecErrors, RanksThatDifferAreToldSo) {
  know_codecs();
  ranks(2, [](Comm& c, int rank) -> std::string {
    std::vector<float> v(1000);
    const plait_call_config config = config_of(rank == 0 ? "test_sparse:use=always" : "");
    const plait_status got =
        plait_allreduce(c.comm, v.data(), v.data(), v.size(), PLAIT_FLOAT32, PLAIT_SUM, &config, nullptr);
    return expect(got, PLAIT_ERR_MISMATCH, plait_last_error(c.comm), {"encoded by test_sparse"});
  });
}

TEST(CodecErrors, RegistrationSaysWhatIsWrong) {
  know_codecs();
  auto says = [](plait_codec_desc desc, const char* words) {
    EXPECT_EQ(plait_codec_register(&desc), PLAIT_ERR_INVALID);
    EXPECT_NE(std::string(plait_last_error(nullptr)).find(words), std::string::npos)
        << plait_last_error(nullptr);
  };
  plait_codec_desc d = sparse();
  says(d, "there is a codec \"test_sparse\" already");
  d.name = "with space";
  says(d, "letters, digits");
  d.name = nullptr;
  says(d, "letters, digits");
  d.name = "mine";
  d.decode = nullptr;
  says(d, "must be given");
  d = sparse();
  d.name = "mine";
  d.dtypes = 1u << 31;
  says(d, "no dtype");
  EXPECT_EQ(plait_codec_register(nullptr), PLAIT_ERR_INVALID);
}

}  // namespace
}  // namespace plait::test
