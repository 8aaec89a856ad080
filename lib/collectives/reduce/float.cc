// Kernels of float32 and float64.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/reduce/float.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
//
#include "collectives/reduce/kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plait::collectives::HWY_NAMESPACE {

FoldKernel float_kernel_here(Dtype dtype, ReduceOp op) {
  switch (dtype) {
    case Dtype::float32:
      return pick<Plain<float>, Plain<float>, Plain<float>>(op);
    case Dtype::float64:
      return pick<Plain<double>, Plain<double>, Plain<double>>(op);
    default:
      return nullptr;
  }
}

}  // namespace plait::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "collectives/reduce/kernels.h"
PLAIT_DISPATCH(float_kernel)
#endif
