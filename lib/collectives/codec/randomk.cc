// randomk: one value of each of ceil(ratio * count) stretches of a piece, drawn at random. The wire: the
// seed, from which whoever decodes draws the same places, and the values. With feedback (default) what is
// left out is kept, and added to the next values of the same elements; without, each value is multiplied by
// the length of its stretch, so that what comes back is right on average. A value that is infinite or NaN
// shows when it is drawn; it is not kept.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "collectives/codec/float_codec.h"
#include "collectives/codec/makers.h"

namespace plait::collectives::codec {

namespace {

// Stretches of a piece, one behind the other, as long as each other or one longer.
struct Stretches {
  size_t count, stretches;
  size_t begin(size_t i) const noexcept { return size_t(__uint128_t(count) * i / stretches); }
};

uint64_t mix(uint64_t x) noexcept {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

// f(place, length of its stretch, number of the stretch)
template <class F>
void each_drawn(const Stretches& s, uint64_t seed, F f) noexcept {
  for (size_t i = 0; i < s.stretches; i++) {
    const size_t begin = s.begin(i), length = s.begin(i + 1) - begin;
    f(begin + size_t(__uint128_t(mix(seed + i * 0x9E3779B97F4A7C15ull)) * length >> 64), length, i);
  }
}

class RandomK final : public FloatCodec {
 public:
  RandomK(Dtype dtype, double ratio, bool feedback)
      : FloatCodec(dtype), ratio_(ratio), feedback_(feedback), element_(double(size_of(dtype))) {}

  std::string name() const override {
    char text[32];
    return "randomk:ratio=" + std::string(text, std::to_chars(text, text + sizeof text, ratio_).ptr) +
           (feedback_ ? "" : ",feedback=no");
  }
  size_t bound(size_t count) const noexcept override {
    return kSeed + stretches(count).stretches * sizeof(float);
  }
  size_t state_bytes() const noexcept override { return feedback_ ? sizeof(float) : 0; }
  Cost cost() const noexcept override { return {0.07, 0.06, ratio_ * 4 / element_}; }

 protected:
  size_t encode_floats(const Piece& piece, const float* values, std::byte* state, std::byte*,
                       std::byte* wire) const noexcept override {
    const uint64_t seed = mix(piece.seed ^ mix(piece.first + 1) ^ piece.turn << 32);
    std::memcpy(wire, &seed, kSeed);
    auto* left = reinterpret_cast<float*>(state);
    if (feedback_) kernels().add(values, left, piece.count);
    each_drawn(stretches(piece.count), seed, [&](size_t at, size_t length, size_t i) {
      const float value = feedback_ ? left[at] : values[at] * float(length);
      std::memcpy(wire + kSeed + i * sizeof value, &value, sizeof value);
      if (feedback_) left[at] = 0;
    });
    return bound(piece.count);
  }

  const char* decode_floats(const std::byte* wire, size_t bytes, size_t count, std::byte*, float* values,
                            bool add) const noexcept override {
    if (bytes != bound(count)) return "it has not the length that its values have";
    uint64_t seed;
    std::memcpy(&seed, wire, kSeed);
    if (!add) std::fill_n(values, count, 0.f);
    each_drawn(stretches(count), seed, [&](size_t at, size_t, size_t i) {
      float value;
      std::memcpy(&value, wire + kSeed + i * sizeof value, sizeof value);
      values[at] += value;
    });
    return nullptr;
  }

 private:
  static constexpr size_t kSeed = sizeof(uint64_t);
  Stretches stretches(size_t count) const noexcept {
    return {count, std::min(count, size_t(std::ceil(double(count) * ratio_)))};
  }
  const double ratio_;
  const bool feedback_;
  const double element_;
};

}  // namespace

Made make_randomk(OptionWords& words, Dtype dtype) {
  auto ratio = words.number("ratio", 0.01, 1e-6, 1);
  if (!ratio.ok()) return ratio.status();
  auto feedback = words.word("feedback", "yes|no");
  if (!feedback.ok()) return feedback.status();
  PLAIT_TRY(words.done());
  if (!FloatCodec::is_float(dtype)) return refuse_dtype("randomk", dtype, "float32, float16 and bfloat16");
  return std::unique_ptr<Codec>(std::make_unique<RandomK>(dtype, *ratio, *feedback == "yes"));
}

}  // namespace plait::collectives::codec
