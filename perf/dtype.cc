#include "perf/dtype.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace plait::perf {
namespace {

constexpr Dtype kDtypes[] = {
    {PLAIT_INT8, "int8", "char", 1, false, true, 127, 0},
    {PLAIT_UINT8, "uint8", "uchar", 1, false, false, 255, 0},
    {PLAIT_INT32, "int32", "int", 4, false, true, 1 << 24, 0},
    {PLAIT_UINT32, "uint32", "uint", 4, false, false, 1 << 24, 0},
    {PLAIT_INT64, "int64", "", 8, false, true, 1 << 24, 0},
    {PLAIT_UINT64, "uint64", "", 8, false, false, 1 << 24, 0},
    {PLAIT_FLOAT16, "float16", "half", 2, true, true, 1 << 11, 14},
    {PLAIT_BFLOAT16, "bfloat16", "bf16", 2, true, true, 1 << 8, 126},
    {PLAIT_FLOAT32, "float32", "float", 4, true, true, 1 << 24, 126},
    {PLAIT_FLOAT64, "float64", "double", 8, true, true, 1 << 24, 126},
    {PLAIT_FLOAT8_E4M3, "float8_e4m3", "f8e4m3", 1, true, true, 1 << 4, 6},
    {PLAIT_FLOAT8_E5M2, "float8_e5m2", "f8e5m2", 1, true, true, 1 << 3, 14},
};

constexpr Op kOps[] = {
    {PLAIT_SUM, "sum"}, {PLAIT_PROD, "prod"}, {PLAIT_MIN, "min"}, {PLAIT_MAX, "max"}, {PLAIT_AVG, "avg"}};

}  // namespace

std::span<const Dtype> all_dtypes() { return kDtypes; }
std::span<const Op> all_ops() { return kOps; }

const Dtype* find_dtype(std::string_view name) {
  for (const Dtype& d : kDtypes) {
    if (!name.empty() && (name == d.name || name == d.alias)) return &d;
  }
  return nullptr;
}

const Op* find_op(std::string_view name) {
  for (const Op& op : kOps) {
    if (name == op.name) return &op;
  }
  return nullptr;
}

uint16_t to_bfloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return uint16_t((bits >> 16) | 0x40);
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

uint16_t to_float16(float value) {
  auto sign = uint16_t(std::signbit(value) ? 0x8000 : 0);
  float size = std::fabs(value);
  if (std::isnan(value)) return uint16_t(sign | 0x7e00);
  if (size >= 65520.0f) return uint16_t(sign | 0x7c00);  // halfway to what would be the next number: infinity
  // Below 2^-14 all float16 are multiples of 2^-24: rounding that multiple gives the bits, also when it
  // rounds up to the first normal number.
  if (size < 0x1p-14f) return uint16_t(sign | uint16_t(std::nearbyint(size * 0x1p24f)));
  uint32_t bits = std::bit_cast<uint32_t>(size);
  bits += 0xfff + ((bits >> 13) & 1);
  return uint16_t(sign | ((bits >> 13) - ((127 - 15) << 10)));
}

namespace {

// Sign, exponent and `mantissa` bits, `bias`; magnitudes from `overflow` on are `overflow`.
uint8_t to_float8(float value, int mantissa, int bias, uint32_t overflow) {
  auto sign = uint8_t(std::signbit(value) ? 0x80 : 0);
  float size = std::fabs(value);
  if (std::isnan(value)) return uint8_t(sign | 0x7f);
  // As to_float16: below the smallest normal number all are multiples of the smallest subnormal one.
  if (size < std::ldexp(1.0f, 1 - bias)) {
    return uint8_t(sign | uint8_t(std::nearbyint(std::ldexp(size, bias - 1 + mantissa))));
  }
  int dropped = 23 - mantissa;
  uint32_t bits = std::bit_cast<uint32_t>(size);
  bits += (1u << (dropped - 1)) - 1 + ((bits >> dropped) & 1);
  return uint8_t(sign | std::min((bits >> dropped) - (uint32_t(127 - bias) << mantissa), overflow));
}

}  // namespace

uint8_t to_float8_e4m3(float value) { return to_float8(value, 3, 7, 0x7f); }
uint8_t to_float8_e5m2(float value) { return to_float8(value, 2, 15, 0x7c); }

void store_bits(const Dtype& dtype, uint64_t bits, std::byte* to) { std::memcpy(to, &bits, dtype.size); }

void store_float(const Dtype& dtype, double value, std::byte* to) {
  auto single = float(value);
  switch (dtype.id) {
    case PLAIT_FLOAT16:
      return store_bits(dtype, to_float16(single), to);
    case PLAIT_BFLOAT16:
      return store_bits(dtype, to_bfloat16(single), to);
    case PLAIT_FLOAT8_E4M3:
      return store_bits(dtype, to_float8_e4m3(single), to);
    case PLAIT_FLOAT8_E5M2:
      return store_bits(dtype, to_float8_e5m2(single), to);
    case PLAIT_FLOAT32:
      return store_bits(dtype, std::bit_cast<uint32_t>(single), to);
    default:
      return store_bits(dtype, std::bit_cast<uint64_t>(value), to);
  }
}

}  // namespace plait::perf
