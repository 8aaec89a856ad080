#include "transport/shm/kept.h"

namespace plait::transport::shm {

void Kept::put(KeptBlock& block) noexcept {
  block.BySize::insert_behind(sizes_[Classes::index(block.bytes)]);
  block.ByAge::insert_behind(ages_);
  bytes_ += block.bytes;
}

KeptBlock* Kept::take(size_t bytes, size_t align) noexcept {
  constexpr int kTries = 8;  // blocks are mostly asked for with one alignment
  BySize& ring = sizes_[Classes::index(bytes)];
  Link* at = ring.behind;
  for (int i = 0; i < kTries && at != &ring; i++, at = at->behind) {
    auto& block = static_cast<KeptBlock&>(static_cast<BySize&>(*at));
    if (block.offset % align == 0) return remove(block);
  }
  return nullptr;
}

KeptBlock* Kept::take_oldest() noexcept {
  if (ages_.before == &ages_) return nullptr;
  return remove(static_cast<KeptBlock&>(static_cast<ByAge&>(*ages_.before)));
}

KeptBlock* Kept::remove(KeptBlock& block) noexcept {
  block.BySize::leave();
  block.ByAge::leave();
  bytes_ -= block.bytes;
  return &block;
}

}  // namespace plait::transport::shm
