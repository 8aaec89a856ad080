// The loops of the codecs, already chosen for the CPU at hand. All of them give the same bits on every CPU.
// Nothing need be aligned, but where it says so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/reduce/reduce.h"

namespace plait::collectives::codec {

// Elements of a dtype as floats, and back, rounded to nearest even. float16, bfloat16, and the 8-bit floats.
using Widen = void (*)(const std::byte* from, float* to, size_t count) noexcept;
using Narrow = void (*)(const float* from, std::byte* to, size_t count) noexcept;
// sum[i] += values[i]
using Add = void (*)(const float* values, float* sum, size_t count) noexcept;

// Blocks of `block` values, the last one perhaps shorter, and their scales: an integer of `bits` bits a
// value, -limit..limit, times the block's scale. seed: of the draws of stochastic rounding, first: the number
// of the first value among all draws; nearest: to nearest even instead.
struct Blocks {
  size_t count = 0, block = 0;
  bool nearest = true;
  uint64_t seed = 0, first = 0;
};
using EncodeBlocks = void (*)(const Blocks& of, const float* values, float* scales,
                              std::byte* integers) noexcept;
// `add`: to what lies in `values`.
using DecodeBlocks = void (*)(const Blocks& of, const float* scales, const std::byte* integers, float* values,
                              bool add) noexcept;
// The same with floats of 8 bits in place of integers; scales are powers of two.
// sums[i] += values[i] (null: nothing); then the places of the sums whose magnitude, as the bits of a float
// without its sign, is `least` or more, ascending. Returns how many there are.
using Collect = size_t (*)(const float* values, float* sums, size_t count, uint32_t least,
                           uint32_t* places) noexcept;
// Sums of the values that are not negative and of those that are, and how many those are; in so many lanes,
// so that the order of additions is the same on every CPU.
struct SignedSums {
  static constexpr size_t kLanes = 16;
  double above[kLanes] = {}, below[kLanes] = {}, negatives[kLanes] = {};
};
using SumSigned = void (*)(const float* values, size_t count, SignedSums& sums) noexcept;
// The signs of values, a bit each, set where it is negative; what is left of the values without `above` or
// `below`, or, not to `keep`, nothing. And back.
using TakeSigns = void (*)(float* values, size_t count, float above, float below, bool keep,
                           std::byte* bits) noexcept;
using GiveSigns = void (*)(const std::byte* bits, size_t count, float above, float below, float* values,
                           bool add) noexcept;
struct Kernels {
  Widen widen_half, widen_bfloat, widen_e4m3, widen_e5m2;
  Narrow narrow_half, narrow_bfloat, narrow_e4m3, narrow_e5m2;
  Add add;
  Collect collect;
  SumSigned sum_signed;
  TakeSigns take_signs;
  GiveSigns give_signs;
  EncodeBlocks encode_int8, encode_int4, encode_e4m3, encode_e5m2;
  DecodeBlocks decode_int8, decode_int4, decode_e4m3, decode_e5m2;
};
const Kernels& kernels() noexcept;

// Below, a block's largest magnitude is taken for 0: no scale could stand for less.
constexpr float kSmallestBlock = 0x1p-110f;

}  // namespace plait::collectives::codec
