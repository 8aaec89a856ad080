#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/codec/kernels.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
//
#include "collectives/codec/kernels.h"
#include "collectives/codec/signs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plait::collectives::HWY_NAMESPACE {

const codec::Kernels& codec_kernels_here() {
  static constexpr codec::Kernels kAll = {
      .widen_half = widen<Half>,
      .widen_bfloat = widen<Bfloat>,
      .widen_e4m3 = widen<Quarter<E4m3>>,
      .widen_e5m2 = widen<Quarter<E5m2>>,
      .narrow_half = narrow<Half>,
      .narrow_bfloat = narrow<Bfloat>,
      .narrow_e4m3 = narrow<Quarter<E4m3>>,
      .narrow_e5m2 = narrow<Quarter<E5m2>>,
      .add = add_floats,
      .collect = collect,
      .sum_signed = sum_signed,
      .take_signs = take_signs,
      .give_signs = give_signs,
      .encode_int8 = encode_blocks<Int8>,
      .encode_int4 = encode_blocks<Int4>,
      .encode_e4m3 = encode_blocks<Scaled<E4m3>>,
      .encode_e5m2 = encode_blocks<Scaled<E5m2>>,
      .decode_int8 = decode_blocks<Int8>,
      .decode_int4 = decode_blocks<Int4>,
      .decode_e4m3 = decode_blocks<Scaled<E4m3>>,
      .decode_e5m2 = decode_blocks<Scaled<E5m2>>,
  };
  return kAll;
}

}  // namespace plait::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::collectives {
HWY_EXPORT(codec_kernels_here);
const codec::Kernels& codec::kernels() noexcept { return HWY_DYNAMIC_DISPATCH(codec_kernels_here)(); }
}  // namespace plait::collectives
#endif
