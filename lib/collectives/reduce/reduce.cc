#include "collectives/reduce/reduce.h"

#include <cstring>
#include <initializer_list>

#include "base/copy.h"
#include "collectives/reduce/kernels.h"

namespace plait::collectives {

size_t size_of(Dtype dtype) noexcept {
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

FoldKernel fold_kernel(Dtype dtype, ReduceOp op) noexcept {
  for (auto family : {float_kernel, half_kernel, quarter_kernel, integer_kernel, byte_kernel}) {
    if (FoldKernel kernel = family(dtype, op)) return kernel;
  }
  return nullptr;
}

namespace {

// Of Store::prefetch: as in the kernels.
bool prefetch_pays() noexcept {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bw") != 0;
#else
  return true;
#endif
}

}  // namespace

void copy_to_all(const std::byte* input, std::byte* const* outputs, uint32_t output_count, size_t bytes,
                 Store store) noexcept {
  static const bool pays = prefetch_pays();
  if (output_count == 1 && store == Store::stream && outputs[0] != input)
    return copy_past_cache(outputs[0], input, bytes);
  if (output_count == 1 && (store == Store::plain || (store == Store::prefetch && !pays))) {
    if (outputs[0] != input) copy_bytes(outputs[0], input, bytes);
    return;
  }
  static const FoldKernel kernel = byte_kernel(Dtype::uint8, ReduceOp::sum);
  kernel({.inputs = &input,
          .input_count = 1,
          .outputs = outputs,
          .output_count = output_count,
          .count = bytes,
          .ranks = 0,
          .store = store});
}

}  // namespace plait::collectives
