// Elementwise reduction: out = in[0] (op) in[1] (op) ... (op) in[n-1], one pass over memory, in registers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plait::collectives {

// The numbers are those of plait_dtype and plait_op in plait.h.
enum class Dtype : int32_t {
  int8 = 0, uint8 = 1, int32 = 2, uint32 = 3, int64 = 4, uint64 = 5, float16 = 6, float32 = 7, float64 = 8, bfloat16 = 9,
  float8_e4m3 = 10, float8_e5m2 = 11,
};
constexpr int kDtypes = 12;
enum class ReduceOp : int32_t { sum = 0, prod = 1, max = 2, min = 3, avg = 4 };
constexpr int kReduceOps = 5;

constexpr size_t size_of(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::int8:
    case Dtype::uint8:
    case Dtype::float8_e4m3:
    case Dtype::float8_e5m2:
      return 1;
    case Dtype::float16:
    case Dtype::bfloat16:
      return 2;
    case Dtype::int32:
    case Dtype::uint32:
    case Dtype::float32:
      return 4;
    case Dtype::int64:
    case Dtype::uint64:
    case Dtype::float64:
      return 8;
  }
  return 0;
}

// How results are stored.
enum class Store : uint8_t {
  plain,
  prefetch,   // prefetch the outputs for writing a little ahead: pays out of place, where the lines are elsewhere,
              // on processors with AVX-512; on others (EPYC of family 25, model 1) it is plain: there a copy of
              // 32 KiB takes 1.9 us plain and 3.6 us so. So are copies where those by strings are the fastest
  past_cache, // non-temporal stores, fenced before return: pays out of place from kPastCacheBytes (base/copy.h);
              // plain where the outputs are not aligned alike
};

// A function of the user's: plait_op_desc::function.
using UserFunction = void (*)(void* context, const void* left, const void* right, void* out, size_t count,
                              int32_t dtype);

// What kernels of operators that are more than a ReduceOp are told.
struct Operator {
  // scaled_kernel: what this rank's contribution is multiplied by. Floats take `real`, integers the low bits of
  // `integer`.
  double real = 1;
  uint64_t integer = 1;
  // user_kernel
  UserFunction function = nullptr;
  void* context = nullptr;
  Dtype dtype = Dtype::uint8;
};
constexpr uint32_t kNoOperand = ~0u;

// One fold over `count` elements.
//   inputs:  1..kMaxOperands pointers; folded left to right.
//   outputs: 1..kMaxOperands pointers, each gets the same bits. An output may be identical to an input (same pointer);
//            other overlap is not allowed. No alignment is required.
//   ranks:   for avg, the divisor, applied after the last operand; 0: do not scale (this fold is not the last one).
// float16, bfloat16 and float8 are computed in float32: all operands accumulate there and the result is rounded to
// nearest even once. What overflows is infinite, in float8_e4m3, which has no infinities, NaN. So a fold of two operands is the pairwise fold of rule 7 and one of more is a declared chain.
// Integers wrap; integer avg divides truncating towards zero. min and max: if any operand is NaN the result is NaN,
// and -0 is less than +0, so that neither the order of operands nor the instruction set shows.
// NaNs stay NaNs in every rounding; which NaN is unspecified. avg of floats is one division, rounded once; of the types
// narrower than 32 bits it overflows nowhere before.
struct Fold {
  const std::byte* const* inputs;
  uint32_t input_count;
  std::byte* const* outputs;
  uint32_t output_count;
  size_t count;
  uint32_t ranks = 0;
  Store store = Store::plain;
  uint32_t own = kNoOperand;     // scaled_kernel: which operand is a contribution that is yet to be scaled
  const Operator* op = nullptr;  // scaled_kernel, user_kernel
  uint32_t cached = 0;           // Store::past_cache: so many first outputs are stored plainly all the same
  bool down = false;             // from the end on, where that is worth its code; the result is the same
};
constexpr uint32_t kMaxOperands = 64;

// Never fails, never allocates. Picked once a plan from the dtype and op, for the CPU at hand.
using FoldKernel = void (*)(const Fold&) noexcept;

// Null when dtype or op is not one of the numbers above.
FoldKernel fold_kernel(Dtype dtype, ReduceOp op) noexcept;

// Sums with one operand, `own`, scaled and then rounded to the dtype before it is added: a contribution is worth the
// same bits wherever it is folded. `ranks`: what is divided by is ranks * op->real, so that an average whose
// contributions were scaled down by a power of two ends as it would have without (floats only).
FoldKernel scaled_kernel(Dtype dtype) noexcept;

// Folds by op->function, called for two operands at a time, left to right.
FoldKernel user_kernel() noexcept;

// Copies `bytes` bytes to each output; the fold of one operand, of no type.
void copy_to_all(const std::byte* input, std::byte* const* outputs, uint32_t output_count, size_t bytes,
                 Store store = Store::plain) noexcept;

}  // namespace plait::collectives
