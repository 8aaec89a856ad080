// Kernels of scaled sums, of every type.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/reduce/scaled.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
//
#include "collectives/reduce/scaled-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plait::collectives::HWY_NAMESPACE {

FoldKernel scaled_kernel_here(Dtype dtype) {
  switch (dtype) {
    case Dtype::int8:
    case Dtype::uint8:
      return scaled_sum<Plain<uint8_t>>;
    case Dtype::int32:
    case Dtype::uint32:
      return scaled_sum<Plain<uint32_t>>;
    case Dtype::int64:
    case Dtype::uint64:
      return scaled_sum<Plain<uint64_t>>;
    case Dtype::float16:
      return scaled_sum<Float16>;
    case Dtype::float32:
      return scaled_sum<Plain<float>>;
    case Dtype::float64:
      return scaled_sum<Plain<double>>;
    case Dtype::bfloat16:
      return scaled_sum<Bfloat16>;
    case Dtype::float8_e4m3:
      return scaled_sum<Float8<E4m3>>;
    case Dtype::float8_e5m2:
      return scaled_sum<Float8<E5m2>>;
  }
  return nullptr;
}

}  // namespace plait::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::collectives {
HWY_EXPORT(scaled_kernel_here);
FoldKernel scaled_kernel(Dtype dtype) noexcept { return HWY_DYNAMIC_DISPATCH(scaled_kernel_here)(dtype); }
}  // namespace plait::collectives
#endif
