// Codecs in calls of the C API: the user's own and plait's, and what they keep.
#include <cmath>
#include <cstring>
#include <random>

#include "runtime/codec_fixture.h"

namespace plait::test {
namespace {

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

}  // namespace
}  // namespace plait::test
