#include "collectives/codec/sparse.h"

#include <algorithm>
#include <cstring>

namespace plait::collectives::codec {

namespace {

enum Kind : uint32_t { kSparse = 0, kDense = 1 };

template <class T>
T read(const std::byte* from, size_t i) noexcept {
  T value;
  std::memcpy(&value, from + i * sizeof value, sizeof value);
  return value;
}
template <class T>
void write(std::byte* to, size_t i, T value) noexcept {
  std::memcpy(to + i * sizeof value, &value, sizeof value);
}

const char* add_dense(const std::byte* wire, size_t bytes, size_t count, float* values) noexcept {
  if (bytes != dense_bytes(count)) return "it is dense, and not as long as its values";
  for (size_t i = 0; i < count; i++) values[i] += read<float>(wire + 4, i);
  return nullptr;
}

// Of one block: the places are checked as they are used.
bool add_block(const std::byte* places, const std::byte* numbers, uint32_t sent, float* values,
               size_t count) noexcept {
  int32_t before = -1;
  for (uint32_t i = 0; i < sent; i++) {
    const auto at = int32_t(read<uint16_t>(places, i));
    if (at <= before || size_t(at) >= count) return false;
    values[at] += read<float>(numbers, i);
    before = at;
  }
  return true;
}

}  // namespace

size_t write_sparse(const float* values, size_t count, const uint32_t* places, size_t sent,
                    std::byte* wire) noexcept {
  const size_t blocks = (count + kSparseBlock - 1) / kSparseBlock;
  std::byte *counts = wire + 4, *at = counts + blocks * 4, *numbers = at + sent * 2;
  write<uint32_t>(wire, 0, kSparse);
  size_t i = 0;
  for (size_t b = 0; b < blocks; b++) {
    const size_t first = i, end = (b + 1) * kSparseBlock;
    for (; i < sent && places[i] < end; i++) {
      write(at, i, uint16_t(places[i] % kSparseBlock));
      write(numbers, i, values[places[i]]);
    }
    write(counts, b, uint32_t(i - first));
  }
  return sparse_bytes(count, sent);
}

size_t write_dense(const float* values, size_t count, std::byte* wire) noexcept {
  write<uint32_t>(wire, 0, kDense);
  std::memcpy(wire + 4, values, count * sizeof(float));
  return dense_bytes(count);
}

const char* add_sparse(const std::byte* wire, size_t bytes, size_t count, float* values) noexcept {
  const size_t blocks = (count + kSparseBlock - 1) / kSparseBlock;
  if (bytes < 4) return "it is too short";
  const auto kind = read<uint32_t>(wire, 0);
  if (kind == kDense) return add_dense(wire, bytes, count, values);
  if (kind != kSparse) return "it is of no kind that there is";
  if (bytes < sparse_bytes(count, 0)) return "it is too short";
  const size_t sent = (bytes - sparse_bytes(count, 0)) / 6;
  if (bytes != sparse_bytes(count, sent)) return "half a value is left over";
  const std::byte *counts = wire + 4, *places = counts + blocks * 4, *numbers = places + sent * 2;
  size_t done = 0;
  for (size_t b = 0; b < blocks; b++) {
    const auto here = read<uint32_t>(counts, b);
    const size_t begin = b * kSparseBlock;
    if (here > sent - done) return "its blocks have more values than it";
    if (!add_block(places + done * 2, numbers + done * 4, here, values + begin,
                   std::min(kSparseBlock, count - begin)))
      return "places do not ascend, or are out of bounds";
    done += here;
  }
  return done == sent ? nullptr : "its blocks have fewer values than it";
}

}  // namespace plait::collectives::codec
