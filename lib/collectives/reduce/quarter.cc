// Kernels of float8.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/reduce/quarter.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
//
#include "collectives/reduce/kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plait::collectives::HWY_NAMESPACE {

FoldKernel quarter_kernel_here(Dtype dtype, ReduceOp op) {
  switch (dtype) {
    case Dtype::float8_e4m3:
      return pick<Float8<E4m3>, Float8<E4m3>, Float8<E4m3>>(op);
    case Dtype::float8_e5m2:
      return pick<Float8<E5m2>, Float8<E5m2>, Float8<E5m2>>(op);
    default:
      return nullptr;
  }
}

}  // namespace plait::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "collectives/reduce/kernels.h"
PLAIT_DISPATCH(quarter_kernel)
#endif
