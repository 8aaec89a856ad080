#include "collectives/codec/float_codec.h"

namespace plait::collectives::codec {

FloatCodec::FloatCodec(Dtype dtype) noexcept {
  const Kernels& k = kernels();
  switch (dtype) {
    case Dtype::float16:
      widen_ = k.widen_half;
      narrow_ = k.narrow_half;
      break;
    case Dtype::bfloat16:
      widen_ = k.widen_bfloat;
      narrow_ = k.narrow_bfloat;
      break;
    default:
      break;
  }
}

bool FloatCodec::is_float(Dtype dtype) noexcept {
  return dtype == Dtype::float32 || dtype == Dtype::float16 || dtype == Dtype::bfloat16;
}

size_t FloatCodec::work_bytes(size_t count) const noexcept {
  return floats_bytes(count) + own_work_bytes(count);
}

size_t FloatCodec::encode(const Piece& piece, const std::byte* values, std::byte* state, std::byte* work,
                          std::byte* wire) const noexcept {
  const auto* floats = reinterpret_cast<const float*>(values);
  if (widen_ != nullptr) {
    widen_(values, reinterpret_cast<float*>(work), piece.count);
    floats = reinterpret_cast<const float*>(work);
  }
  return encode_floats(piece, floats, state, work + floats_bytes(piece.count), wire);
}

const char* FloatCodec::decode(const std::byte* wire, size_t bytes, size_t count, std::byte* work,
                               std::byte* values) const noexcept {
  auto* floats = reinterpret_cast<float*>(widen_ == nullptr ? values : work);
  const char* problem = decode_floats(wire, bytes, count, work + floats_bytes(count), floats, false);
  if (problem == nullptr && widen_ != nullptr) narrow_(floats, values, count);
  return problem;
}

const char* FloatCodec::decode_add(const std::byte* wire, size_t bytes, size_t count, std::byte* work,
                                   std::byte* values) const noexcept {
  auto* floats = reinterpret_cast<float*>(widen_ == nullptr ? values : work);
  if (widen_ != nullptr) widen_(values, floats, count);
  const char* problem = decode_floats(wire, bytes, count, work + floats_bytes(count), floats, true);
  if (problem == nullptr && widen_ != nullptr) narrow_(floats, values, count);
  return problem;
}

}  // namespace plait::collectives::codec
