// Numbers of a few bits times a scale for each block of values. The wire: the scales, as floats, then the
// numbers.
//
// int8 and int4 (QSGD, Alistarh et al. 2017, but with the largest magnitude of a block for its norm; the
// quantised collectives of ZeRO++, Wang et al. 2023, and EQuARX, 2025): the scale of a block is its largest
// magnitude by 127 or 7, and values are rounded to whole multiples of it, to nearest even: an error of half a
// scale at most. Stochastic rounding goes up or down by chance, so that a value comes back right on average,
// and errs by less than a scale. Blocks whose largest magnitude is below 2^-110 come back as zeroes; those
// that hold an infinite value or NaN as NaN, so that an overflow shows.
#pragma once

#include "collectives/codec/float_codec.h"
#include "collectives/codec/makers.h"

namespace plait::collectives::codec {

class BlockCodec final : public FloatCodec {
 public:
  struct Form {
    std::string name = {};
    EncodeBlocks encode = nullptr;
    DecodeBlocks decode = nullptr;
    size_t block = 0, per_byte = 1;
    bool nearest = true;
    Cost cost = {};  // its ratio without scales
  };
  BlockCodec(Dtype dtype, Form form);

  std::string name() const override { return name_; }
  size_t bound(size_t count) const noexcept override;
  Cost cost() const noexcept override { return form_.cost; }

 protected:
  size_t encode_floats(const Piece& piece, const float* values, std::byte* state, std::byte* work,
                       std::byte* wire) const noexcept override;
  const char* decode_floats(const std::byte* wire, size_t bytes, size_t count, std::byte* work, float* values,
                            bool add) const noexcept override;

 private:
  size_t scales_bytes(size_t count) const noexcept {
    return (count + form_.block - 1) / form_.block * sizeof(float);
  }
  Form form_;
  std::string name_;
};

}  // namespace plait::collectives::codec
