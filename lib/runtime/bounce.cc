#include "runtime/bounce.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/copy.h"
#include "base/pages.h"

namespace plait::runtime {

using transport::shm::Arena;

namespace {

// Bytes of a rank. Of sums; what only moves needs fewer meetings through mailboxes, and with two ranks on a
// core these cost no more than the copying.
constexpr size_t kLeast = 1024, kMost = size_t(1) << 20;
constexpr size_t kMovedLeast = size_t(512) << 10, kMovedLeastOfMany = size_t(32) << 10;
constexpr size_t kResting = 64 * 1024;  // rest() leaves as much

// So many bytes of input or output. Where nothing is summed what others read goes to the arena, and what
// comes stays where it lands.
size_t least_of(collectives::Collective what, const Share& share) noexcept {
  using enum collectives::Collective;
  if (what == allreduce) return 0;
  if (what != reduce_scatter && what != allgather && what != alltoall) return SIZE_MAX;
  return share.ranks > 2 * share.cores ? kMovedLeastOfMany : kMovedLeast;
}

}  // namespace

void Bounce::begin(Arena& arena, const Share& share, const Prepared& p, std::byte*& in,
                   std::byte*& out) noexcept {
  if (p.network || p.codec != nullptr || p.args.uneven || p.in_bytes > kMost ||
      std::max(p.in_bytes, p.out_bytes) < least_of(p.args.collective, share))
    return;
  const bool sums = p.args.collective == collectives::Collective::allreduce;
  const bool away = !p.in_place && p.in_bytes >= kLeast && !arena.owns(in, p.in_bytes);
  const bool back = sums && p.out_bytes >= kLeast && !arena.owns(out, p.out_bytes);
  if (!away && !back) return;
  const size_t result = back ? round_up(p.out_bytes, kPageBytes) : 0;
  std::byte* const to = room(arena, result + (away ? p.in_bytes : 0));
  if (to == nullptr) return;
  if (away) {
    copy_bytes(to + result, in, p.in_bytes);
    in = to + result;
  }
  if (!back) return;
  to_ = out;
  result_bytes_ = p.out_bytes;
  if (p.in_place) {
    copy_bytes(to, in, p.in_bytes);
    in = to;
  }
  out = to;
}

// Null: there is none.
std::byte* Bounce::room(Arena& arena, size_t bytes) noexcept {
  if (bytes_ < bytes) {
    drop(arena);
    auto memory = arena.allocate(bytes);
    if (!memory.ok()) return nullptr;
    data_ = *memory;
    bytes_ = bytes;
  }
  roomy_ = roomy_ || bytes > kResting;
  return data_;
}

void Bounce::bring_back(bool ok) noexcept {
  if (ok) copy_bytes(to_, data_, result_bytes_);
  to_ = nullptr;
}

void Bounce::rest(Arena& arena) noexcept {
  if (bytes_ > kResting) drop(arena);
}

void Bounce::drop(Arena& arena) noexcept {
  if (data_ != nullptr) arena.free(data_);
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace plait::runtime
