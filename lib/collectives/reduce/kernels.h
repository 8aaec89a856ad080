// The kernels of each family of types, already chosen for the CPU at hand. Split so that each compiles in
// bearable time.
#pragma once

#include "collectives/reduce/reduce.h"

namespace plait::collectives {

// Null when the dtype is not of the family or the op is unknown.
FoldKernel byte_kernel(Dtype dtype, ReduceOp op) noexcept;     // int8, uint8
FoldKernel integer_kernel(Dtype dtype, ReduceOp op) noexcept;  // int32, uint32, int64, uint64
FoldKernel float_kernel(Dtype dtype, ReduceOp op) noexcept;    // float32, float64
FoldKernel half_kernel(Dtype dtype, ReduceOp op) noexcept;     // float16, bfloat16
FoldKernel quarter_kernel(Dtype dtype, ReduceOp op) noexcept;  // float8_e4m3, float8_e5m2

}  // namespace plait::collectives

// Defines `family` as that of the CPU at hand among the `family`_here of all targets. Once a file, under
// HWY_ONCE.
#define PLAIT_DISPATCH(family)                             \
  namespace plait::collectives {                           \
  HWY_EXPORT(family##_here);                               \
  FoldKernel family(Dtype dtype, ReduceOp op) noexcept {   \
    return HWY_DYNAMIC_DISPATCH(family##_here)(dtype, op); \
  }                                                        \
  }
