// Plain memory of the user: what was registered may be read by peers, and is exposed to them on first use.
#include "runtime/communicator.h"
#include "runtime/registry.h"

namespace plait::runtime {

namespace {

// Where getting across processes pays against staging through the mailbox (docs/performance.md).
constexpr size_t kPullLeast = size_t(1) << 20, kPullMost = size_t(48) << 20;

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

}  // namespace plait::runtime
