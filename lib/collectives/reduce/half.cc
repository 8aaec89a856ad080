// Kernels of float16 and bfloat16.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/reduce/half.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
//
#include "collectives/reduce/kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plait::collectives::HWY_NAMESPACE {

FoldKernel half_kernel_here(Dtype dtype, ReduceOp op) {
  switch (dtype) {
    case Dtype::float16:
      return pick<Float16, Float16, Float16>(op);
    case Dtype::bfloat16:
      if (op == ReduceOp::avg) return average_of<Bfloat16, SmallBfloat16>;
      return pick<Bfloat16, Bfloat16, Bfloat16>(op);
    default:
      return nullptr;
  }
}

}  // namespace plait::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "collectives/reduce/kernels.h"
PLAIT_DISPATCH(half_kernel)
#endif
