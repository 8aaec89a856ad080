// Element types by name, size and range, and how a number is written as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "plait/plait.h"

namespace plait::perf {

struct Dtype {
  plait_dtype id;
  const char* name;
  const char* alias;  // what other tools call it, or ""
  size_t size;        // bytes
  bool is_float, is_signed;
  int64_t exact;  // every integer up to this one is exact, and sums of integers up to it too
  int exponent;   // powers of two from -exponent to exponent are normal numbers (floats)
};

std::span<const Dtype> all_dtypes();
// nullptr when there is none of that name.
const Dtype* find_dtype(std::string_view name);

struct Op {
  plait_op id;
  const char* name;
};
std::span<const Op> all_ops();
const Op* find_op(std::string_view name);

// Writes `value`, rounded to nearest even, as one element of a float type at `to`.
void store_float(const Dtype& dtype, double value, std::byte* to);
// Writes the low bytes of `bits` as one element of any type.
void store_bits(const Dtype& dtype, uint64_t bits, std::byte* to);

// The conversions behind it, for their own test.
uint16_t to_float16(float value);
uint16_t to_bfloat16(float value);
uint8_t to_float8_e4m3(float value);
uint8_t to_float8_e5m2(float value);

}  // namespace plait::perf
