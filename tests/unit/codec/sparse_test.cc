// Codecs that send few of many values: which, and what becomes of the others.
#include <algorithm>
#include <cmath>

#include "coding.h"
#include "collectives/codec/select.h"
#include "collectives/codec/sparse.h"

namespace plait::collectives::codec::test {
namespace {

// The places of the `most` largest magnitudes, of equal ones the first; by sorting.
std::vector<uint32_t> sorted_out(const std::vector<float>& sums, size_t most) {
  std::vector<uint32_t> places(sums.size());
  for (size_t i = 0; i < places.size(); i++) places[i] = uint32_t(i);
  std::ranges::stable_sort(places,
                           [&](uint32_t a, uint32_t b) { return std::fabs(sums[a]) > std::fabs(sums[b]); });
  places.resize(std::min(most, places.size()));
  std::ranges::sort(places);
  return places;
}

TEST(Select, FindsTheLargestWhateverTheyAre) {
  const uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; round++) {
    const size_t count = 1 + random() % (round % 10 == 0 ? 100'000 : 3'000);
    const size_t most = round % 7 == 0 ? count : random() % (count + 2);
    std::vector<float> values(count), sums(count), want(count);
    for (size_t i = 0; i < count; i++) {
      const int kind = round % 5;  // normal, few different ones, all alike, mostly zero, all in one place
      values[i] = kind == 1 ? float(random() % 3) : kind == 2 ? 1.f : float(int64_t(random() % 2001) - 1000);
      if (kind == 3 && random() % 50 != 0) values[i] = 0;
      if (kind == 4) values[i] = i < count / 50 + 1 ? 1000 + float(i) : 1;
      sums[i] = round % 2 == 0 ? float(random() % 5) : 0;
      want[i] = sums[i] + values[i];
    }
    std::vector<uint32_t> places(count), work(count);
    places.resize(add_and_select(values.data(), sums.data(), count, most, places.data(), work.data()));
    ASSERT_TRUE(sums == want) << "seed " << seed;
    ASSERT_TRUE(places == sorted_out(want, most)) << most << " of " << count << ", seed " << seed;
  }
}

TEST(TopK, SendsTheLargestAndKeepsTheOthers) {
  const auto codec = made("topk:ratio=0.25");
  const std::vector<float> values = {1, -8, 3, 0.5f, 7, -2, 4, 0};
  Coding coding(*codec, values.size());
  EXPECT_EQ(coding.there_and_back(values), (std::vector<float>{0, -8, 0, 0, 7, 0, 0, 0}));
  EXPECT_EQ(coding.left(2), 3);
  EXPECT_EQ(coding.left(1), 0);
  EXPECT_EQ(coding.there_and_back(std::vector<float>(8, 1.f)), (std::vector<float>{0, 0, 4, 0, 0, 0, 5, 0}));
}

TEST(TopK, MomentumIsThatOfDeepGradientCompression) {
  const uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  const auto codec = made("topk:ratio=0.1,momentum=0.5");
  constexpr size_t kCount = 200;
  Coding coding(*codec, kCount);
  std::vector<float> velocity(kCount), left(kCount);
  for (int turn = 0; turn < 20; turn++) {
    const auto values = random_values(kCount, Values::normal, random);
    for (size_t i = 0; i < kCount; i++) {
      velocity[i] = 0.5f * velocity[i] + values[i];
      left[i] += velocity[i];
    }
    const auto back = coding.there_and_back(values, 1, uint64_t(turn));
    for (uint32_t at : sorted_out(left, 20)) {
      ASSERT_EQ(back[at], left[at]) << "seed " << seed;
      velocity[at] = left[at] = 0;
    }
    EXPECT_EQ(std::ranges::count(back, 0.f), int64_t(kCount - 20));
  }
}

TEST(TopK, WarmsUpFromAQuarter) {
  const auto codec = made("topk:ratio=0.01,warmup=3");
  constexpr size_t kCount = 10'000;
  std::mt19937_64 random(1);
  Coding coding(*codec, kCount);
  for (const auto& [turn, sent] : {std::pair{0, 2500}, {1, 625}, {2, 157}, {3, 100}, {9, 100}}) {
    const auto back = coding.there_and_back(random_values(kCount, Values::normal, random), 1, uint64_t(turn));
    EXPECT_EQ(kCount - size_t(std::ranges::count(back, 0.f)), size_t(sent)) << turn;
  }
}

TEST(Threshold, SendsAllFromThereOnAndIsDenseWhereThatIsShorter) {
  const auto codec = made("threshold:value=2");
  Coding coding(*codec, 100);
  std::vector<float> values(100, 1.f);
  values[5] = -2;
  auto wire = coding.encode(values);
  EXPECT_EQ(wire.size(), sparse_bytes(100, 1));
  wire = coding.encode(values);  // all are 2 now, but the one that was sent
  EXPECT_EQ(wire.size(), dense_bytes(100));
  std::vector<float> back(100);
  ASSERT_EQ(coding.decode(wire, back), nullptr);
  EXPECT_EQ(back, std::vector<float>([] {
              std::vector<float> v(100, 2.f);
              v[5] = -2;
              return v;
            }()));
  EXPECT_EQ(coding.left(50), 0);
}

// Without feedback each value comes back right on average, over a million draws.
TEST(RandomK, IsRightOnAverageWithoutFeedback) {
  const auto codec = made("randomk:ratio=0.1,feedback=no");
  const uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  constexpr size_t kCount = 100;
  constexpr int kTurns = 100'000;  // ten draws each
  const auto values = random_values(kCount, Values::normal, random);
  std::vector<double> sums(kCount);
  for (int turn = 0; turn < kTurns; turn++) {
    Coding coding(*codec, kCount);
    const auto back = coding.there_and_back(values, seed + uint64_t(turn), 0);
    for (size_t i = 0; i < kCount; i++) sums[i] += double(back[i]);
  }
  for (size_t i = 0; i < kCount;
       i++) {  // ten times the value, one time in ten: its deviation is three times that
    const double deviation = 3 * std::fabs(double(values[i])) / std::sqrt(double(kTurns));
    ASSERT_NEAR(sums[i] / kTurns, double(values[i]), 5.5 * deviation) << i << ", seed " << seed;
  }
}

TEST(OneBit, MeansStandForTheirSigns) {
  const auto codec = made("onebit");
  const std::vector<float> values = {1, -2, 3, -4, 5};
  Coding coding(*codec, values.size());
  EXPECT_EQ(coding.there_and_back(values), (std::vector<float>{3, -3, 3, -3, 3}));
  EXPECT_EQ(coding.left(4), 2);
  EXPECT_EQ(codec->bound(5), 9u);
}

// Each thing that a wire says is checked.
TEST(SparseWire, WhatMakesNoSenseIsNamed) {
  constexpr size_t kCount = 70'000;  // two blocks
  std::vector<float> values(kCount);
  const uint32_t places[] = {3, 9, 65'540};
  for (uint32_t at : places) values[at] = float(at);
  std::vector<std::byte> wire(sparse_bytes(kCount, 3));
  ASSERT_EQ(write_sparse(values.data(), kCount, places, 3, wire.data()), wire.size());
  auto problem = [&](size_t at, uint16_t value, size_t cut = 0) {
    auto bad = wire;
    std::memcpy(bad.data() + at, &value, sizeof value);
    std::vector<float> sums(kCount);
    const char* text = add_sparse(bad.data(), bad.size() - cut, kCount, sums.data());
    return std::string(text == nullptr ? "" : text);
  };
  uint16_t same;
  std::memcpy(&same, wire.data() + 12, sizeof same);
  EXPECT_EQ(problem(12, same), "");
  EXPECT_EQ(problem(0, 2), "it is of no kind that there is");
  EXPECT_EQ(problem(0, 1), "it is dense, and not as long as its values");
  EXPECT_EQ(problem(4, 9), "its blocks have more values than it");
  EXPECT_EQ(problem(8, 0), "its blocks have fewer values than it");
  EXPECT_EQ(problem(12, 9), "places do not ascend, or are out of bounds");
  EXPECT_EQ(problem(16, 60'000), "places do not ascend, or are out of bounds");
  EXPECT_EQ(problem(12, same, 1), "half a value is left over");
  EXPECT_EQ(problem(12, same, wire.size() - 5), "it is too short");
  EXPECT_EQ(problem(12, same, wire.size() - 3), "it is too short");
}

}  // namespace
}  // namespace plait::collectives::codec::test
