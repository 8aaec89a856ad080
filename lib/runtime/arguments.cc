#include "runtime/arguments.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "runtime/codecs.h"

namespace plait::runtime {

using collectives::Collective;

namespace {

// Chunks of the vector, where each rank's block is one.
uint32_t blocks_of(const Args& a, int32_t size) noexcept {
  return collectives::parted(a.collective) ? uint32_t(size) : 1;
}

uint64_t last_end(const Blocks& blocks, int32_t size) noexcept {
  uint64_t end = 0, sum = 0;
  measure(blocks, size, UINT64_MAX, &end, &sum);
  return end;
}

bool same_array(const size_t* a, const size_t* b, size_t n) noexcept {
  return a == b || (a != nullptr && b != nullptr && std::equal(a, a + n, b));
}

bool same_blocks(const Blocks& a, const Blocks& b, size_t n) noexcept {
  return same_array(a.counts, b.counts, n) && same_array(a.displacements, b.displacements, n);
}

uint64_t mix_array(uint64_t h, const size_t* values, int32_t n) noexcept {
  h = mix(h, values != nullptr);
  for (int32_t i = 0; values != nullptr && i < n; i++) h = mix(h, values[i]);
  return h;
}

}  // namespace

bool has_in_blocks(const Args& a, int32_t rank) noexcept {
  return a.collective == Collective::reduce_scatter || a.collective == Collective::alltoall ||
         (a.collective == Collective::scatter && rank == a.root);
}

bool has_out_blocks(const Args& a, int32_t rank) noexcept {
  return a.collective == Collective::allgather || a.collective == Collective::alltoall ||
         (a.collective == Collective::gather && rank == a.root);
}

bool measure(const Blocks& blocks, int32_t size, uint64_t most, uint64_t* end, uint64_t* sum) noexcept {
  *end = *sum = 0;
  for (int32_t r = 0; r < size; r++) {
    const uint64_t count = blocks.counts[r];
    uint64_t last = 0;
    if (count > most - *sum) return false;
    *sum += count;
    if (blocks.displacements == nullptr) continue;
    if (count == 0) continue;
    if (__builtin_add_overflow(blocks.displacements[r], count, &last) || last > most) return false;
    *end = std::max(*end, last);
  }
  if (blocks.displacements == nullptr) *end = *sum;
  return true;
}

int32_t overlapping(const Blocks& blocks, int32_t size, int32_t* rank) {
  if (blocks.displacements == nullptr) return -1;
  const size_t* begins = blocks.displacements;
  auto end_of = [&](int32_t r) { return begins[r] + blocks.counts[r]; };
  auto clash = [&](auto&& at) {
    int32_t before = -1;
    for (int32_t i = 0; i < size; i++) {
      const int32_t r = at(i);
      if (blocks.counts[r] == 0) continue;
      if (before >= 0 && begins[r] < end_of(before)) {
        *rank = std::max(before, r);
        return std::min(before, r);
      }
      before = r;
    }
    return -1;
  };
  if (clash([](int32_t i) { return i; }) < 0) return -1;
  thread_local std::vector<int32_t> order;
  order.resize(size_t(size));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return begins[a] < begins[b]; });
  return clash([&](int32_t i) { return order[size_t(i)]; });
}

uint64_t elements_of(const Args& a, int32_t size) noexcept {
  if (!a.uneven) return a.count * blocks_of(a, size);
  const size_t* counts = a.in_blocks.counts != nullptr ? a.in_blocks.counts : a.out_blocks.counts;
  return std::accumulate(counts, counts + size, uint64_t(0));
}

Extents extents_of(const Args& a, int32_t rank, int32_t size) noexcept {
  if (a.collective == Collective::barrier) return {};
  const uint32_t chunks = blocks_of(a, size);
  const uint64_t in = collectives::input_of(a.collective, size, rank, a.root, chunks).count;
  const uint64_t out = collectives::output_of(a.collective, size, rank, a.root, chunks).count;
  if (!a.uneven) return {in * a.count, out * a.count};
  return {has_in_blocks(a, rank) ? last_end(a.in_blocks, size) : in * a.count,
          has_out_blocks(a, rank) ? last_end(a.out_blocks, size) : out * a.count};
}

uint64_t begin_of(const Args& a, const Blocks& blocks, int32_t rank) noexcept {
  if (!a.uneven) return uint64_t(rank) * a.count;
  if (blocks.displacements != nullptr) return blocks.displacements[rank];
  return std::accumulate(blocks.counts, blocks.counts + rank, uint64_t(0));
}

bool in_place(const Args& a, int32_t rank) noexcept {
  const auto* in = static_cast<const std::byte*>(a.in);
  const auto* out = static_cast<const std::byte*>(a.out);
  const size_t element = collectives::size_of(a.dtype);
  const bool rooted = collectives::rooted(a.collective);
  if (rooted && rank != a.root) return false;
  // An empty block of an uneven call: what holds in place holds either way.
  if (collectives::parted(a.collective) && a.collective != Collective::alltoall && a.count == 0)
    return a.uneven;
  switch (a.collective) {
    case Collective::barrier:
      return false;
    case Collective::reduce_scatter:
    case Collective::scatter:
      return out == in + begin_of(a, a.in_blocks, rank) * element;
    case Collective::allgather:
    case Collective::gather:
      return in == out + begin_of(a, a.out_blocks, rank) * element;
    default:
      return (a.uneven || a.count > 0) && in == out;
  }
}

bool place_is_agreed(const Args& a) noexcept { return !a.uneven && !collectives::rooted(a.collective); }

bool counts_are_agreed(const Args& a) noexcept {
  return !a.uneven || a.collective == Collective::reduce_scatter || a.collective == Collective::allgather;
}

bool same_shape(const Args& a, const Args& b, int32_t size) noexcept {
  return a.collective == b.collective && a.count == b.count && a.dtype == b.dtype && a.op == b.op &&
         a.root == b.root && a.algorithm.data() == b.algorithm.data() && a.codec == b.codec &&
         a.uneven == b.uneven &&
         (!a.uneven || (same_blocks(a.in_blocks, b.in_blocks, size_t(size)) &&
                        same_blocks(a.out_blocks, b.out_blocks, size_t(size))));
}

uint64_t hash_of(const Args& a, int32_t size) noexcept {
  uint64_t h = mix(a.count, uint64_t(a.collective) << 8 | uint64_t(a.dtype));
  h = mix(h, uint64_t(a.op) << 32 | uint32_t(a.root));
  if (a.codec != nullptr) h = mix(h, a.codec->hash);
  if (!a.uneven) return h;
  for (const size_t* array :
       {a.in_blocks.counts, a.in_blocks.displacements, a.out_blocks.counts, a.out_blocks.displacements}) {
    h = mix_array(h, array, size);
  }
  return h;
}

uint32_t hash_of_counts(const size_t* counts, int32_t size) noexcept {
  return uint32_t(mix_array(uint64_t(size), counts, size) >> 16);
}

}  // namespace plait::runtime
