#include "collectives/reduce/reduce.h"

#include <cstring>
#include <initializer_list>

#include "base/copy.h"
#include "collectives/reduce/kernels.h"

namespace plait::collectives {

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
  if (output_count == 1 && store == Store::past_cache && outputs[0] != input) {
    copy_past_cache(outputs[0], input, bytes);
    return end_past_cache();
  }
  const bool prefetches = store == Store::prefetch && pays && !is_for_string(bytes);
  if (output_count == 1 && !prefetches) {
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
