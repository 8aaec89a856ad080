// Kernels of the 32- and 64-bit integers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/reduce/integer.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
//
#include "collectives/reduce/kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plait::collectives::HWY_NAMESPACE {

FoldKernel integer_kernel_here(Dtype dtype, ReduceOp op) {
  switch (dtype) {
    case Dtype::int32:
      return pick<Plain<uint32_t>, Plain<uint32_t, int32_t>, Plain<int32_t>>(op);
    case Dtype::uint32:
      return pick<Plain<uint32_t>, Plain<uint32_t>, Plain<uint32_t>>(op);
    case Dtype::int64:
      return pick<Plain<uint64_t>, Plain<uint64_t, int64_t>, Plain<int64_t>>(op);
    case Dtype::uint64:
      return pick<Plain<uint64_t>, Plain<uint64_t>, Plain<uint64_t>>(op);
    default:
      return nullptr;
  }
}

}  // namespace plait::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "collectives/reduce/kernels.h"
PLAIT_DISPATCH(integer_kernel)
#endif
