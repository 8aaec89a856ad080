#include "collectives/codec/block_codec.h"

namespace plait::collectives::codec {

BlockCodec::BlockCodec(Dtype dtype, Form form) : FloatCodec(dtype), form_(std::move(form)) {
  name_ = form_.name + (form_.name.find(':') == std::string::npos ? ":" : ",") +
          "block=" + std::to_string(form_.block);
  if (!form_.nearest) {
    name_ += ",rounding=stochastic";
    form_.cost.encode_ns *= 1.5;
  }
  const double element = double(size_of(dtype));
  form_.cost.ratio = (1.0 / double(form_.per_byte) + sizeof(float) / double(form_.block)) / element;
}

size_t BlockCodec::bound(size_t count) const noexcept {
  return scales_bytes(count) + (count + form_.per_byte - 1) / form_.per_byte;
}

size_t BlockCodec::encode_floats(const Piece& piece, const float* values, std::byte*, std::byte*,
                                 std::byte* wire) const noexcept {
  // Seeds that are near each other draw nothing alike.
  const uint64_t key = (piece.seed + 1) * 0x9E3779B97F4A7C15u;
  const Blocks of{piece.count, form_.block, form_.nearest, (key ^ key >> 29) * 0xBF58476D1CE4E5B9u,
                  piece.first};
  form_.encode(of, values, reinterpret_cast<float*>(wire), wire + scales_bytes(piece.count));
  return bound(piece.count);
}

const char* BlockCodec::decode_floats(const std::byte* wire, size_t bytes, size_t count, std::byte*,
                                      float* values, bool add) const noexcept {
  if (bytes != bound(count)) return "it has not the length that its values have";
  form_.decode({.count = count, .block = form_.block}, reinterpret_cast<const float*>(wire),
               wire + scales_bytes(count), values, add);
  return nullptr;
}

namespace {

Made make_blocks(OptionWords& words, Dtype dtype, BlockCodec::Form form) {
  auto block = words.whole("block", form.block, 32, 256);
  if (!block.ok()) return block.status();
  auto rounding = words.word("rounding", "nearest|stochastic");
  if (!rounding.ok()) return rounding.status();
  PLAIT_TRY(words.done());
  if (*block % 2 != 0)
    return Status(Code::invalid, "codec " + form.name + ": block=" + std::to_string(*block) + " is odd");
  if (!FloatCodec::is_float(dtype)) return refuse_dtype(form.name, dtype, "float32, float16 and bfloat16");
  form.block = *block;
  form.nearest = *rounding == "nearest";
  return std::unique_ptr<Codec>(std::make_unique<BlockCodec>(dtype, std::move(form)));
}

}  // namespace

Made make_int8(OptionWords& words, Dtype dtype) {
  return make_blocks(words, dtype,
                     {.name = "int8",
                      .encode = kernels().encode_int8,
                      .decode = kernels().decode_int8,
                      .block = 128,
                      .cost = {0.04, 0.035, 0.25}});
}

Made make_int4(OptionWords& words, Dtype dtype) {
  return make_blocks(words, dtype,
                     {.name = "int4",
                      .encode = kernels().encode_int4,
                      .decode = kernels().decode_int4,
                      .block = 64,
                      .per_byte = 2,
                      .cost = {0.1, 0.034, 0.125}});
}

}  // namespace plait::collectives::codec
