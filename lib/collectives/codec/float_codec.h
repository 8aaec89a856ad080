// Codecs that work on floats: values of other float types are widened before, and rounded after.
#pragma once

#include <memory>

#include "base/bytes.h"
#include "collectives/codec/codec.h"
#include "collectives/codec/kernels.h"

namespace plait::collectives::codec {

class FloatCodec : public Codec {
 public:
  // Of a dtype that is_float().
  explicit FloatCodec(Dtype dtype) noexcept;
  size_t work_bytes(size_t count) const noexcept override;
  size_t encode(const Piece& piece, const std::byte* values, std::byte* state, std::byte* work,
                std::byte* wire) const noexcept override;
  const char* decode(const std::byte* wire, size_t bytes, size_t count, std::byte* work,
                     std::byte* values) const noexcept override;
  const char* decode_add(const std::byte* wire, size_t bytes, size_t count, std::byte* work,
                         std::byte* values) const noexcept override;

  static bool is_float(Dtype dtype) noexcept;

 protected:
  // Bytes that the two below need for `count` values.
  virtual size_t own_work_bytes(size_t) const noexcept { return 0; }
  virtual size_t encode_floats(const Piece& piece, const float* values, std::byte* state, std::byte* work,
                               std::byte* wire) const noexcept = 0;
  // `add`: to what lies in `values`.
  virtual const char* decode_floats(const std::byte* wire, size_t bytes, size_t count, std::byte* work,
                                    float* values, bool add) const noexcept = 0;

 private:
  size_t floats_bytes(size_t count) const noexcept {
    return widen_ == nullptr ? 0 : round_up(count * sizeof(float), 64);
  }

  Widen widen_ = nullptr;  // null: they are floats
  Narrow narrow_ = nullptr;
};

}  // namespace plait::collectives::codec
