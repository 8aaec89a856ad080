#include "transport/shm/heap.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/per_process.h"

namespace plait::transport::shm {

namespace {

constinit PerProcess<Heap> heap_of_process;

}  // namespace

Result<Heap*> Heap::process() {
  return heap_of_process.get([]() -> Result<std::unique_ptr<Heap>> {
    auto arena = Arena::process();
    if (!arena.ok()) return arena.status();
    return create(**arena);
  });
}

Heap* Heap::made() noexcept { return heap_of_process.peek(); }

bool Heap::inherited(const void* p) {
  return heap_of_process.any_inherited([p](const Heap& heap) { return heap.arena_.owns(p, 1); });
}

Result<std::unique_ptr<Heap>> Heap::create(Arena& arena) {
  auto small = SmallBlocks::create(arena);
  if (!small.ok()) return small.status();
  return std::unique_ptr<Heap>(new Heap(arena, std::move(*small)));
}

Result<std::byte*> Heap::allocate(size_t bytes, size_t align, Fill fill) {
  if (!SmallBlocks::serves(bytes, align)) return allocate_pages(std::max(bytes, size_t{1}), align, fill);
  auto block = small_->allocate(bytes, align);
  if (block.ok() && fill == Fill::zeroes) std::memset(*block, 0, bytes);
  return block;
}

Result<std::byte*> Heap::allocate_pages(size_t bytes, size_t align, Fill fill) {
  if (bytes > std::min(arena_.bytes(), Kept::kMost)) return arena_.allocate(bytes, fill, align);
  const size_t rounded = Kept::Classes::round_up(bytes);
  const size_t least = rounded >= Arena::kLarge ? Arena::kLarge : Arena::kAlign;
  if (std::byte* p = arena_.reuse(rounded, std::max(align, least)); p != nullptr) {
    if (fill == Fill::zeroes) arena_.zero(p, bytes);
    return p;
  }
  auto block = arena_.allocate(rounded, fill, align);
  // In an arena that is nearly full without the part that is only there to be like others.
  if (!block.ok() && block.status().code() == Code::memory) block = arena_.allocate(bytes, fill, align);
  return block;
}

Result<std::byte*> Heap::resize(std::byte* p, size_t bytes, size_t align) {
  const size_t has = usable(p);
  if (has == 0) return Status(Code::invalid, "the pointer is no block of shared memory that is allocated");
  const bool fits = bytes <= has;
  if (fits && bytes > has / 2) return p;
  auto fresh = allocate(bytes, align, Fill::anything);
  if (!fresh.ok()) return fits ? Result<std::byte*>(p) : fresh;
  std::memcpy(*fresh, p, std::min(bytes, has));
  free(p);
  return fresh;
}

bool Heap::free(std::byte* p) {
  const auto small = small_->free(p);
  return small ? *small : arena_.keep(p);
}

size_t Heap::usable(const std::byte* p) const {
  const auto small = small_->size_of(p);
  return small ? *small : arena_.size_of(p);
}

void Heap::trim() {
  small_->trim();
  arena_.trim();
}

}  // namespace plait::transport::shm
