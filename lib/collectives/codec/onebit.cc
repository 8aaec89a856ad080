// onebit: of each value its sign; of each block the mean of the values that are not negative and of those
// that are, which stand for them (1-bit SGD, Seide et al. 2014; 1-bit Adam, Tang et al. 2021). What is lost
// is kept, and added to the next values of the same elements. The wire: for each block two floats, and a bit
// a value. A block that holds an infinite value or NaN comes back as NaN, or infinite, and nothing of it is
// kept.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "collectives/codec/float_codec.h"
#include "collectives/codec/makers.h"

namespace plait::collectives::codec {

namespace {

struct Means {
  float above, below;
};

class OneBit final : public FloatCodec {
 public:
  OneBit(Dtype dtype, size_t block) : FloatCodec(dtype), block_(block), element_(double(size_of(dtype))) {}
  std::string name() const override { return "onebit:block=" + std::to_string(block_); }
  size_t bound(size_t count) const noexcept override {
    return count / block_ * block_bytes(block_) + (count % block_ == 0 ? 0 : block_bytes(count % block_));
  }
  size_t state_bytes() const noexcept override { return sizeof(float); }
  Cost cost() const noexcept override { return {0.09, 0.03, (1.0 / 8 + 8.0 / double(block_)) / element_}; }

 protected:
  size_t encode_floats(const Piece& piece, const float* values, std::byte* state, std::byte*,
                       std::byte* wire) const noexcept override {
    auto* left = reinterpret_cast<float*>(state);
    kernels().add(values, left, piece.count);
    for (size_t begin = 0; begin < piece.count; begin += block_) {
      const size_t count = std::min(block_, piece.count - begin);
      encode_block(left + begin, count, wire);
      wire += block_bytes(count);
    }
    return bound(piece.count);
  }

  const char* decode_floats(const std::byte* wire, size_t bytes, size_t count, std::byte*, float* values,
                            bool add) const noexcept override {
    if (bytes != bound(count)) return "it has not the length that its values have";
    for (size_t begin = 0; begin < count; begin += block_) {
      const size_t here = std::min(block_, count - begin);
      decode_block(wire, here, values + begin, add);
      wire += block_bytes(here);
    }
    return nullptr;
  }

 private:
  static size_t block_bytes(size_t count) noexcept { return sizeof(Means) + (count + 7) / 8; }

  static Means means_of(const float* x, size_t count) noexcept {
    SignedSums sums;
    kernels().sum_signed(x, count, sums);
    double above = 0, below = 0, negatives = 0;
    for (size_t l = 0; l < SignedSums::kLanes; l++) {
      above += sums.above[l];
      below += sums.below[l];
      negatives += sums.negatives[l];
    }
    const double positives = double(count) - negatives;
    return {positives == 0 ? 0 : float(above / positives), negatives == 0 ? 0 : float(below / negatives)};
  }

  static void encode_block(float* x, size_t count, std::byte* wire) noexcept {
    const Means means = means_of(x, count);
    const bool finite = std::isfinite(means.above) && std::isfinite(means.below);
    std::memcpy(wire, &means, sizeof means);
    kernels().take_signs(x, count, means.above, means.below, finite, wire + sizeof means);
  }

  static void decode_block(const std::byte* wire, size_t count, float* values, bool add) noexcept {
    Means means;
    std::memcpy(&means, wire, sizeof means);
    kernels().give_signs(wire + sizeof means, count, means.above, means.below, values, add);
  }

  const size_t block_;
  const double element_;
};

}  // namespace

Made make_onebit(OptionWords& words, Dtype dtype) {
  auto block = words.whole("block", 4096, 256, 65536);
  if (!block.ok()) return block.status();
  PLAIT_TRY(words.done());
  if (!FloatCodec::is_float(dtype)) return refuse_dtype("onebit", dtype, "float32, float16 and bfloat16");
  return std::unique_ptr<Codec>(std::make_unique<OneBit>(dtype, *block));
}

}  // namespace plait::collectives::codec
