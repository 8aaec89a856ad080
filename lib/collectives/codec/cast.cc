// cast: floats of fewer bits. To bfloat16 and float16 each value is rounded to nearest even: bfloat16 keeps
// the range of float32 and 8 bits of precision, an error of 2^-8 of the value at most; float16 keeps 11, and
// has no room above 65504, where it becomes infinite, nor below 2^-25. To the floats of 8 bits each block of
// values is scaled by a power of two first, so that its largest magnitude uses the top of their range: e4m3
// has an error of 2^-4 of the value, and 2^-17 of the largest of the block where that is more; e5m2 of 2^-3,
// and 2^-31. Infinite values and NaN come back as such, but that with a scale the whole block comes back as
// NaN.
#include <cstring>

#include "collectives/codec/block_codec.h"
#include "collectives/codec/makers.h"

namespace plait::collectives::codec {

namespace {

class Cast final : public FloatCodec {
 public:
  Cast(Dtype dtype, bool bfloat)
      : FloatCodec(dtype),
        bfloat_(bfloat),
        narrow_(bfloat ? kernels().narrow_bfloat : kernels().narrow_half),
        widen_(bfloat ? kernels().widen_bfloat : kernels().widen_half) {}

  std::string name() const override { return bfloat_ ? "cast:to=bf16" : "cast:to=fp16"; }
  size_t bound(size_t count) const noexcept override { return count * 2; }
  Cost cost() const noexcept override { return {0.042, 0.037, 0.5}; }

 protected:
  // A few values at a time, so that they stay in the nearest cache.
  static constexpr size_t kFew = 1024;
  size_t own_work_bytes(size_t) const noexcept override { return kFew * sizeof(float); }
  size_t encode_floats(const Piece& piece, const float* values, std::byte*, std::byte*,
                       std::byte* wire) const noexcept override {
    narrow_(values, wire, piece.count);
    return piece.count * 2;
  }
  const char* decode_floats(const std::byte* wire, size_t bytes, size_t count, std::byte* work, float* values,
                            bool add) const noexcept override {
    if (bytes != count * 2) return "it is not two bytes a value";
    if (!add) {
      widen_(wire, values, count);
      return nullptr;
    }
    auto* few = reinterpret_cast<float*>(work);
    for (size_t i = 0; i < count; i += kFew) {
      const size_t now = std::min(kFew, count - i);
      widen_(wire + i * 2, few, now);
      kernels().add(few, values + i, now);
    }
    return nullptr;
  }

 private:
  const bool bfloat_;
  const Narrow narrow_;
  const Widen widen_;
};

}  // namespace

Made make_cast(OptionWords& words, Dtype dtype) {
  auto to = words.word("to", "bf16|fp16|e4m3|e5m2");
  if (!to.ok()) return to.status();
  auto block = words.whole("block", 128, 32, 256);
  if (!block.ok()) return block.status();
  PLAIT_TRY(words.done());
  const Kernels& k = kernels();
  if (*to == "e4m3" || *to == "e5m2") {
    if (!FloatCodec::is_float(dtype)) return refuse_dtype("cast", dtype, "float32, float16 and bfloat16");
    const bool e4m3 = *to == "e4m3";
    return std::unique_ptr<Codec>(
        std::make_unique<BlockCodec>(dtype, BlockCodec::Form{.name = "cast:to=" + *to,
                                                             .encode = e4m3 ? k.encode_e4m3 : k.encode_e5m2,
                                                             .decode = e4m3 ? k.decode_e4m3 : k.decode_e5m2,
                                                             .block = *block,
                                                             .cost = {0.066, 0.036, 0.25}}));
  }
  if (dtype != Dtype::float32) return refuse_dtype("cast:to=" + *to, dtype, "float32");
  return std::unique_ptr<Codec>(std::make_unique<Cast>(dtype, *to == "bf16"));
}

}  // namespace plait::collectives::codec
