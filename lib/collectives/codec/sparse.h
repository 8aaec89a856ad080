// What sparse codecs share: the wire of few values among many.
//
// A word says which kind it is. Sparse: for each block of 2^16 values how many of them are sent; then their
// places, as 16 bits from the beginning of the block, ascending; behind those of all blocks the values, as
// floats, in the same order: 6 bytes a value, 4 a block. Dense, where that is shorter: all values.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plait::collectives::codec {

constexpr size_t kSparseBlock = size_t(1) << 16;
constexpr size_t sparse_bytes(size_t count, size_t sent) noexcept {
  return 4 + (count + kSparseBlock - 1) / kSparseBlock * 4 + sent * 6;
}
constexpr size_t dense_bytes(size_t count) noexcept { return 4 + count * 4; }

// The wire of the values at `sent` of `places`, which ascend; returns its bytes.
size_t write_sparse(const float* values, size_t count, const uint32_t* places, size_t sent,
                    std::byte* wire) noexcept;
size_t write_dense(const float* values, size_t count, std::byte* wire) noexcept;

// Adds the values of a wire of either kind to `values`. Null, or what is wrong with it: then some may have
// been added.
const char* add_sparse(const std::byte* wire, size_t bytes, size_t count, float* values) noexcept;

}  // namespace plait::collectives::codec
