// Plain memory of the user: what was registered may be read by peers, and is exposed to them on first use.
#include <algorithm>

#include "base/log.h"
#include "runtime/communicator.h"
#include "runtime/peer.h"
#include "runtime/registry.h"

namespace plait::runtime {

namespace {

// Where getting across processes pays against staging through the mailbox (docs/performance.md).
constexpr size_t kPullLeast = size_t(1) << 20, kPullMost = size_t(48) << 20;
constexpr size_t kMostImports = 64;  // of a peer

}  // namespace

void Communicator::expose_plain(collectives::real::Bound& bound, size_t bytes) {
  if (bound.data == nullptr || bound.shared || bytes < kPullLeast || bytes > kPullMost || domain_ == nullptr)
    return;
  const Registration r = find_registration(bound.data, bytes);
  if (r.number == 0) return;
  Exposed& e = exposed_[r.base];
  if (e.registration != r.number) {
    auto region = domain_->expose({.base = r.base, .bytes = r.bytes}, transport::Access::read);
    if (!region.ok()) return;  // staging does it, too
    e = {r.number, std::move(region).value()};
  }
  bound.key = e.region->key();
  bound.offset = uint64_t(bound.data - static_cast<std::byte*>(r.base));
}

// Compared by as many bytes as a key has: the line that brought it is longer.
transport::RemoteRegion* Communicator::import_region(void* self, int32_t r, ByteView line) {
  auto* comm = static_cast<Communicator*>(self);
  Peer& peer = *comm->peers_[size_t(r)];
  const ByteView key = line.first(std::min(line.size(), comm->domain_->capabilities().key_bytes));
  auto same = [&](const Peer::Imported& i) {
    return std::equal(i.key.begin(), i.key.end(), key.begin(), key.end());
  };
  auto it = std::find_if(peer.plain.begin(), peer.plain.end(), same);
  if (it != peer.plain.end()) return it->region.get();
  auto region = peer.endpoint->import(key);
  if (!region.ok()) {
    log::warn("rank {}'s registered memory: {}", r, region.status().text());
    return nullptr;
  }
  if (peer.plain.size() >= kMostImports) peer.plain.erase(peer.plain.begin());
  peer.plain.push_back({Bytes(key.begin(), key.end()), std::move(region).value()});
  return peer.plain.back().region.get();
}

// Whether a peer can get from our plain memory, only it can tell: everybody tries with a word of everybody.
Status Communicator::agree_on_pulling(transport::Exchange& exchange, const transport::Bounds& bounds) {
  static const uint64_t word = 1;
  auto probe =
      domain_->expose({.base = const_cast<uint64_t*>(&word), .bytes = sizeof word}, transport::Access::read);
  Bytes key;
  if (probe.ok()) key.assign((*probe)->key().begin(), (*probe)->key().end());
  auto keys = exchange.allgather(key, bounds);
  if (!keys.ok()) return keys.status();
  Bytes can(size_t(config_.size));
  for (int32_t r = 0; r < config_.size; r++) {
    if (r == config_.rank || (*keys)[size_t(r)].empty()) continue;
    auto region = peers_[size_t(r)]->endpoint->import((*keys)[size_t(r)]);
    const bool fits =
        key.size() <= transport::kLinePayload && domain_->capabilities().key_bytes == key.size();
    can[size_t(r)] = std::byte(region.ok() && fits);
    if (!region.ok()) log::info("rank {}: {}", r, region.status().text());
  }
  auto all = exchange.allgather(can, bounds);
  if (!all.ok()) return all.status();
  for (int32_t r = 0; r < config_.size; r++) {
    const Bytes& theirs = (*all)[size_t(r)];
    if (r != config_.rank && theirs.size() == size_t(config_.size)) {
      links_[size_t(r)].may_pull = theirs[size_t(config_.rank)] != std::byte(0);
    }
  }
  return {};
}

}  // namespace plait::runtime
