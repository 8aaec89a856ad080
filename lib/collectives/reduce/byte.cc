// Kernels of int8 and uint8.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/reduce/byte.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
//
#include "collectives/reduce/kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plait::collectives::HWY_NAMESPACE {

FoldKernel byte_kernel_here(Dtype dtype, ReduceOp op) {
  switch (dtype) {
    case Dtype::int8:
      return pick<Plain<uint8_t>, Plain<uint8_t, int8_t>, Plain<int8_t>>(op);
    case Dtype::uint8:
      return pick<Plain<uint8_t>, Plain<uint8_t>, Plain<uint8_t>>(op);
    default:
      return nullptr;
  }
}

}  // namespace plait::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "collectives/reduce/kernels.h"
PLAIT_DISPATCH(byte_kernel)
#endif
