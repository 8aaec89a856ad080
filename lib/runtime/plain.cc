// Plain memory of the user: what was registered may be read by peers, and is exposed to them on first use.
// Where ranks share cores, what is not too long is copied to the arena and back.
#include "base/copy.h"
#include "base/pages.h"
#include "runtime/communicator.h"
#include "runtime/registry.h"

namespace plait::runtime {

namespace {

// Where getting across processes pays against staging through the mailbox (docs/performance.md).
constexpr size_t kPullLeast = size_t(1) << 20, kPullMost = size_t(48) << 20;

// Bytes of a rank, where ranks share cores. Of sums; what only moves needs fewer meetings through mailboxes,
// and with two ranks on a core these cost no more than the copying.
constexpr size_t kBounceLeast = 1024, kBounceMost = size_t(1) << 20;
constexpr size_t kBounceMovedLeast = size_t(512) << 10, kBounceMovedLeastOfMany = size_t(32) << 10;
constexpr size_t kRestingBounce = 64 * 1024;  // end_bounce() leaves as much

// So many bytes of input. Where nothing is summed what others read goes to the arena, and what comes stays
// where it lands.
size_t least_to_bounce(collectives::Collective what, const Share& share) noexcept {
  using enum collectives::Collective;
  if (what != reduce_scatter && what != allgather && what != alltoall) return SIZE_MAX;
  return share.ranks > 2 * share.cores ? kBounceMovedLeastOfMany : kBounceMovedLeast;
}

}  // namespace

void Communicator::expose_plain(collectives::real::Bound& bound, size_t bytes) {
  if (bound.data == nullptr || bound.shared || bytes < kPullLeast || bytes > kPullMost) return;
  transport::Domain* domain = fabric_.domain(Way::shm);
  if (domain == nullptr) return;
  const Registration r = find_registration(bound.data, bytes);
  if (r.number == 0) return;
  Exposed& e = exposed_[r.base];
  if (e.registration != r.number) {
    auto region = domain->expose({.base = r.base, .bytes = r.bytes}, transport::Access::read);
    if (!region.ok()) return;  // staging does it, too
    e = {r.number, std::move(region).value()};
  }
  bound.key = e.region->key();
  bound.offset = uint64_t(bound.data - static_cast<std::byte*>(r.base));
}

// In the arena ranks take whatever work there is, and wait for each other once or twice; through mailboxes
// they wait for each message, and each time some other rank has the core. `in` and `out` become where it
// works.
void Communicator::bounce(const Prepared& p, std::byte*& in, std::byte*& out) noexcept {
  if (p.network || p.codec != nullptr || p.args.uneven || p.in_bytes > kBounceMost) return;
  const bool sums = p.args.collective == collectives::Collective::allreduce;
  if (!sums && p.in_bytes < least_to_bounce(p.args.collective, share_)) return;
  const bool away = !p.in_place && p.in_bytes >= kBounceLeast && !arena_->owns(in, p.in_bytes);
  const bool back = sums && p.out_bytes >= kBounceLeast && !arena_->owns(out, p.out_bytes);
  if (!away && !back) return;
  const size_t result = back ? round_up(p.out_bytes, kPageBytes) : 0;
  std::byte* const room = bounce_room(result + (away ? p.in_bytes : 0));
  if (room == nullptr) return;
  if (away) {
    copy_bytes(room + result, in, p.in_bytes);
    in = room + result;
  }
  if (!back) return;
  bounce_.from = room;
  bounce_.to = out;
  bounce_.bytes = p.out_bytes;
  if (p.in_place) {
    copy_bytes(room, in, p.in_bytes);
    in = room;
  }
  out = room;
}

// Null: there is none.
std::byte* Communicator::bounce_room(size_t bytes) noexcept {
  if (bounce_.room < bytes) {
    drop_bounce();
    auto memory = arena_->allocate(bytes);
    if (!memory.ok()) return nullptr;
    bounce_.data = *memory;
    bounce_.room = bytes;
  }
  bounce_.roomy = bytes > kRestingBounce;
  return bounce_.data;
}

void Communicator::end_bounce(bool ok) noexcept {
  if (ok) copy_bytes(bounce_.to, bounce_.from, bounce_.bytes);
  bounce_.to = nullptr;
}

void Communicator::rest_bounce() noexcept {
  if (bounce_.room > kRestingBounce) drop_bounce();
}

void Communicator::drop_bounce() noexcept {
  if (bounce_.data != nullptr) arena_->free(bounce_.data);
  bounce_ = {};
}

}  // namespace plait::runtime
