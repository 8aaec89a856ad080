// Folds by a function of the user's, which takes two operands at a time.
#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "collectives/reduce/reduce.h"

namespace plait::collectives {
namespace {

// Partial results of more than two operands stay in the cache, and off the output: it may be an operand that
// is still to come.
constexpr size_t kPieceBytes = 4096;

void fold_piece(const Fold& f, size_t from, size_t count) noexcept {
  alignas(64) std::byte partial[kPieceBytes];
  const Operator& op = *f.op;
  const void* left = f.inputs[0] + from;
  for (uint32_t k = 1; k < f.input_count; k++) {
    void* out = k + 1 < f.input_count ? partial : f.outputs[0] + from;
    op.function(op.context, left, f.inputs[k] + from, out, count, int32_t(op.dtype));
    left = out;
  }
}

void user_fold(const Fold& f) noexcept {
  const size_t element = size_of(f.op->dtype), bytes = f.count * element;
  if (f.input_count == 1) return copy_to_all(f.inputs[0], f.outputs, f.output_count, bytes, f.store);
  const size_t piece = f.input_count == 2 ? bytes : kPieceBytes;
  for (size_t at = 0; at < bytes; at += piece) fold_piece(f, at, std::min(piece, bytes - at) / element);
  for (uint32_t k = 1; k < f.output_count; k++) {
    if (f.outputs[k] != f.outputs[0]) copy_bytes(f.outputs[k], f.outputs[0], bytes);
  }
}

}  // namespace

FoldKernel user_kernel() noexcept { return user_fold; }

}  // namespace plait::collectives
