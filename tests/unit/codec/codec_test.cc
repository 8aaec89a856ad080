// What every codec keeps, and how far each one's values are from those it was given.
#include <bit>
#include <cmath>
#include <cstdio>

#include "coding.h"
#include "hwy/highway.h"

namespace plait::collectives::codec::test {
namespace {

class EveryCodec : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    seed_ = std::random_device()();
    random_.seed(seed_);
    codec_ = made(GetParam());
    ASSERT_NE(codec_, nullptr);
  }
  void TearDown() override {
    if (HasFailure()) std::printf("seed %llu\n", static_cast<unsigned long long>(seed_));
  }
  uint64_t seed_ = 0;
  std::mt19937_64 random_;
  std::unique_ptr<Codec> codec_;
};

TEST_P(EveryCodec, IsMadeByItsOwnName) {
  EXPECT_EQ(made(codec_->name())->name(), codec_->name());
  EXPECT_FALSE(codec_->exact());
  EXPECT_GT(codec_->cost().encode_ns, 0);
  EXPECT_GT(codec_->cost().decode_ns, 0);
}

TEST_P(EveryCodec, BoundsAscendAndWiresKeepToThem) {
  size_t before = 0;
  for (size_t count = 0; count <= 600; count++) {
    EXPECT_GE(codec_->bound(count), before) << count;
    before = codec_->bound(count);
    if (count == 0) continue;
    Coding coding(*codec_, count);
    const auto values = random_values(count, Values::normal, random_);
    for (uint64_t turn = 0; turn < 2; turn++)
      (void)coding.there_and_back(values, 1, turn);  // looks at the length
  }
  for (size_t count : {4095u, 4096u, 65535u, 65536u, 65537u, 200'001u}) {
    Coding coding(*codec_, count);
    (void)coding.there_and_back(random_values(count, Values::normal, random_));
  }
}

TEST_P(EveryCodec, DecodeAddIsDecodeAndAdd) {
  for (size_t count : {1u, 7u, 64u, 1000u, 70'000u}) {
    Coding coding(*codec_, count);
    const auto wire = coding.encode(random_values(count, Values::normal, random_));
    auto sums = random_values(count, Values::normal, random_);
    auto want = sums, decoded = sums;
    ASSERT_EQ(coding.decode(wire, decoded), nullptr);
    for (size_t i = 0; i < count; i++) want[i] += decoded[i];
    ASSERT_EQ(coding.decode(wire, sums, true), nullptr);
    EXPECT_EQ(std::memcmp(sums.data(), want.data(), count * sizeof(float)), 0) << count;
  }
}

TEST_P(EveryCodec, TheSameGivesTheSameBitsOnEveryProcessor) {
  const auto values = random_values(5'003, Values::normal, random_);
  std::vector<std::byte> first;
  std::vector<float> decoded;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    Coding coding(*codec_, values.size());
    // Kernels are chosen once a codec.
    const auto codec = made(GetParam());
    Coding here(*codec, values.size());
    const auto wire = here.encode(values, 99);
    std::vector<float> back(values.size());
    EXPECT_EQ(here.decode(wire, back), nullptr);
    if (first.empty()) first = wire, decoded = back;
    EXPECT_TRUE(wire == first) << hwy::TargetName(target);
    EXPECT_EQ(std::memcmp(back.data(), decoded.data(), back.size() * sizeof(float)), 0)
        << hwy::TargetName(target);
  }
  hwy::SetSupportedTargetsForTest(0);
}

// Sums of what came back and what is kept are those of what was given.
TEST_P(EveryCodec, ErrorFeedbackSumsToTheTruth) {
  if (codec_->state_bytes() != sizeof(float)) return;  // keeps nothing, or a velocity, too
  constexpr size_t kCount = 3'000;
  constexpr int kTurns = 30;
  Coding coding(*codec_, kCount);
  std::vector<double> given(kCount), came(kCount);
  for (int turn = 0; turn < kTurns; turn++) {
    const auto values = random_values(kCount, Values::normal, random_);
    const auto back = coding.there_and_back(values, uint64_t(turn), uint64_t(turn));
    for (size_t i = 0; i < kCount; i++) given[i] += double(values[i]), came[i] += double(back[i]);
  }
  for (size_t i = 0; i < kCount; i++) ASSERT_NEAR(came[i] + double(coding.left(i)), given[i], 1e-4) << i;
}

TEST_P(EveryCodec, ZeroesComeBackAsZeroes) {
  for (size_t count : {1u, 100u, 5000u}) {
    Coding coding(*codec_, count);
    for (float v : coding.there_and_back(std::vector<float>(count, 0.f))) EXPECT_EQ(v, 0);
  }
}

// What is no number never comes back as one, or is kept for ever.
TEST_P(EveryCodec, AnOverflowShowsAndIsGone) {
  for (float bad : {INFINITY, -INFINITY, NAN}) {
    constexpr size_t kCount = 2'000;
    Coding coding(*codec_, kCount);
    auto values = random_values(kCount, Values::normal, random_);
    values[777] = bad;
    const bool drawn = GetParam().starts_with("randomk");
    auto back = coding.there_and_back(values);
    EXPECT_TRUE(drawn || !std::isfinite(back[777])) << bad;
    values[777] = 1;
    for (uint64_t turn = 1; turn < (drawn ? 3000 : 2); turn++)
      back = coding.there_and_back(values, turn, turn);
    for (size_t i = 0; i < kCount; i++) ASSERT_TRUE(std::isfinite(back[i])) << bad << " at " << i;
  }
}

// Bytes that no encode made: read as far as they go, and no further.
TEST_P(EveryCodec, ForeignBytesAreRefusedOrDecoded) {
  for (int round = 0; round < 300; round++) {
    const size_t count = 1 + random_() % 700;
    Coding coding(*codec_, count);
    auto wire = coding.encode(random_values(count, Values::normal, random_));
    if (round % 3 == 0) wire.resize(random_() % (wire.size() + 9));
    const size_t changes = round % 3 == 1 ? 1 + random_() % 4 : wire.size();
    for (size_t k = 0; k < changes && !wire.empty(); k++)
      wire[random_() % wire.size()] = std::byte(random_());
    std::vector<float> values(count);
    (void)coding.decode(wire, values);
    (void)coding.decode(wire, values, true);
  }
  Coding coding(*codec_, 100);
  std::vector<float> values(100);
  EXPECT_NE(coding.decode({}, values), nullptr);
  EXPECT_NE(coding.decode(std::vector<std::byte>(100'000), values), nullptr);
}

TEST_P(EveryCodec, NarrowFloatsAreRoundedOnce) {
  for (Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
    auto codec = make(GetParam(), dtype);
    if (!codec.ok()) {
      EXPECT_EQ(codec.status().code(), Code::unsupported);
      EXPECT_TRUE(GetParam() == "cast:to=bf16" || GetParam() == "cast:to=fp16");
      continue;
    }
    constexpr size_t kCount = 999;
    std::vector<uint16_t> values(kCount), back(kCount);
    for (uint16_t& v : values) {  // normal numbers below 2
      const auto bits = uint16_t(random_());
      v = dtype == Dtype::float16 ? bits & 0xbbffu : bits & 0xbfffu;
    }
    std::vector<std::byte> state(kCount * (*codec)->state_bytes()), work((*codec)->work_bytes(kCount)),
        wire((*codec)->bound(kCount));
    const Piece piece{.count = kCount, .seed = 5};
    const size_t length = (*codec)->encode(piece, reinterpret_cast<std::byte*>(values.data()), state.data(),
                                           work.data(), wire.data());
    EXPECT_EQ(
        (*codec)->decode(wire.data(), length, kCount, work.data(), reinterpret_cast<std::byte*>(back.data())),
        nullptr);
  }
}

TEST_P(EveryCodec, OtherTypesAreRefused) {
  for (Dtype dtype : {Dtype::float64, Dtype::int32, Dtype::uint8, Dtype::float8_e4m3}) {
    const auto codec = make(GetParam(), dtype);
    ASSERT_FALSE(codec.ok());
    EXPECT_EQ(codec.status().code(), Code::unsupported);
    EXPECT_NE(codec.status().text().find("takes float32"), std::string_view::npos) << codec.status().text();
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryCodec, testing::ValuesIn(texts()), [](const auto& one) {
  std::string name = one.param;
  for (char& c : name)
    if (!std::isalnum(c)) c = '_';
  return name;
});

// ---- how far values may be off

struct Bound {
  const char* text;
  size_t block;       // whose largest magnitude counts; 0: the value's own
  double of_largest;  // of that
  double of_value;
};
constexpr Bound kBounds[] = {
    {"cast:to=bf16", 0, 0, 0x1p-8},
    {"int8", 128, 0.5001 / 127, 0},
    {"int8:block=32", 32, 0.5001 / 127, 0},
    {"int8:rounding=stochastic", 128, 1.0001 / 127, 0},
    {"int4", 64, 0.5001 / 7, 0},
    {"int4:rounding=stochastic", 64, 1.0001 / 7, 0},
    {"cast:to=e4m3", 128, 0x1p-17, 0x1p-4},
    {"cast:to=e5m2", 128, 0x1p-31, 0x1p-3},
};

TEST(CodecBounds, HoldForValuesOfAnyMagnitude) {
  const uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  for (const Bound& bound : kBounds) {
    const auto codec = made(bound.text);
    for (Values kind : {Values::normal, Values::huge, Values::tiny, Values::mixed}) {
      const auto values = random_values(10'000, kind, random);
      Coding coding(*codec, values.size());
      const auto back = coding.there_and_back(values, random());
      for (size_t i = 0; i < values.size(); i++) {
        double largest = 0;
        for (size_t k = i / 128 * 128; bound.block > 0 && k < std::min(values.size(), i / 128 * 128 + 128);
             k++)
          if (k / bound.block == i / bound.block) largest = std::max(largest, std::fabs(double(values[k])));
        // Below 2^-110 a block is zero, and below 2^-126 floats have fewer digits.
        const double most = bound.of_largest * largest + bound.of_value * std::fabs(double(values[i])) +
                            (largest < 0x1p-110 ? largest : 0) + 0x1p-133;
        ASSERT_LE(std::fabs(double(back[i]) - double(values[i])), most)
            << bound.text << " made " << back[i] << " of " << values[i] << ", seed " << seed;
      }
    }
  }
}

TEST(CodecBounds, TheLargestFloatsStayFinite) {
  for (const char* text : {"int8", "int4", "cast:to=e4m3", "cast:to=e5m2", "onebit"}) {
    const auto codec = made(text);
    std::vector<float> values(300, std::numeric_limits<float>::max());
    for (size_t i = 0; i < values.size(); i += 3) values[i] = -values[i];
    Coding coding(*codec, values.size());
    for (float v : coding.there_and_back(values)) EXPECT_TRUE(std::isfinite(v)) << text;
  }
}

// A million draws each: the mean is the value, to five deviations.
TEST(CodecDraws, StochasticRoundingIsRightOnAverage) {
  const uint64_t seed = std::random_device()();
  for (const char* text : {"int8:rounding=stochastic", "int4:rounding=stochastic"}) {
    const auto codec = made(text);
    constexpr size_t kCount = 64;
    constexpr int kTurns = 1'000'000 / 60;
    const double limit = std::string_view(text).starts_with("int8") ? 127 : 7;
    // The largest is 1, so that a scale is 1 / limit.
    for (double value : {0.3 / limit, 0.5 / limit, -0.9 / limit, 1.25 / limit}) {
      std::vector<float> values(kCount, float(value));
      values[0] = 1;
      double sum = 0;
      for (int turn = 0; turn < kTurns; turn++) {
        Coding coding(*codec, kCount);
        const auto back = coding.there_and_back(values, seed + uint64_t(turn));
        for (size_t i = 4; i < kCount; i++) sum += double(back[i]);
      }
      const double draws = double(kTurns) * (kCount - 4), deviation = 0.5 / limit / std::sqrt(draws);
      EXPECT_NEAR(sum / draws, value, 5 * deviation + 0x1p-17 / limit) << text << ", seed " << seed;
    }
  }
}

TEST(CodecDraws, PiecesThatAreApartDrawApart) {
  const auto codec = made("int8:rounding=stochastic");
  const std::vector<float> values = [] {
    std::vector<float> v(1280, 0.4f / 127);
    for (size_t i = 0; i < v.size(); i += 128) v[i] = 1;
    return v;
  }();
  Coding coding(*codec, values.size());
  const auto one = coding.encode(values, 7), same = coding.encode(values, 7),
             other = coding.encode(values, 8);
  EXPECT_TRUE(one == same);
  size_t alike = 0;
  for (size_t i = 40; i < one.size(); i++) alike += one[i] == other[i];
  EXPECT_LT(alike, values.size() * 3 / 4);  // half of 0.4 rounds alike by chance: 0.52
}

// ---- every bit

TEST(Lossless, EveryBitOfAnyTypeComesBack) {
  const uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  for (const char* text : {"lossless", "lossless:library=lz4", "lossless:level=3"}) {
    for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::bfloat16, Dtype::int8, Dtype::uint64}) {
      auto made = make(text, dtype);
      if (!made.ok()) {  // built without the library
        EXPECT_NE(made.status().text().find("-dev is installed"), std::string_view::npos)
            << made.status().text();
        continue;
      }
      const Codec& codec = **made;
      EXPECT_TRUE(codec.exact());
      for (size_t count : {1u, 2u, 63u, 5000u}) {
        const size_t bytes = count * size_of(dtype);
        for (int kind = 0; kind < 3; kind++) {  // random, alike, like gradients
          std::vector<std::byte> values(bytes), back(bytes), work(codec.work_bytes(count)),
              wire(codec.bound(count));
          for (size_t i = 0; i < bytes; i++) values[i] = kind == 1 ? std::byte{7} : std::byte(random());
          for (size_t i = 3; kind == 2 && i < bytes; i += 4) values[i] = std::byte{0x3d};
          const size_t length =
              codec.encode({.count = count}, values.data(), nullptr, work.data(), wire.data());
          ASSERT_LE(length, codec.bound(count));
          EXPECT_TRUE(kind != 1 || count < 63 || length < bytes / 2) << length << " of " << bytes;
          ASSERT_EQ(codec.decode(wire.data(), length, count, work.data(), back.data()), nullptr);
          ASSERT_TRUE(back == values) << text << ", seed " << seed;
          for (size_t cut : {size_t(0), length / 2, length - 1})
            EXPECT_NE(codec.decode(wire.data(), cut, count, work.data(), back.data()), nullptr) << cut;
        }
      }
    }
  }
}

// ---- texts

TEST(CodecTexts, SayWhatIsWrong) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"nonesuch", "there are cast, int8, int4, lossless, onebit"},
      {"", "no codec \"\""},
      {"int8:block=31", "block=31 is not a whole number from 32 to 256"},
      {"int8:block=33", "is odd"},
      {"int8:block", "\"block\" is no KEY=VALUE"},
      {"int8:block=32,block=64", "block is there twice"},
      {"int8:rounding=up", "rounding=up is not one of nearest|stochastic"},
      {"int8:ratio=3", "no option ratio; there are block, rounding"},
      {"cast:to=int", "to=int is not one of bf16|fp16|e4m3|e5m2"},
      {"topk:ratio=2", "ratio=2 is not a number from 1e-06 to 1"},
      {"topk:ratio=nan", "ratio=nan is not a number"},
      {"onebit:block=1", "block=1 is not a whole number from 256 to 65536"},
  };
  for (const auto& [text, words] : kWrong) {
    const auto codec = make(text, Dtype::float32);
    ASSERT_FALSE(codec.ok()) << text;
    EXPECT_EQ(codec.status().code(), Code::invalid);
    EXPECT_NE(codec.status().text().find(words), std::string_view::npos) << codec.status().text();
  }
}

}  // namespace
}  // namespace plait::collectives::codec::test
