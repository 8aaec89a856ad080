#include "transport/shm/small_blocks.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/bytes.h"
#include "base/pages.h"

namespace plait::transport::shm {

namespace {

constexpr size_t kNowhere = SIZE_MAX;

// So that nothing is allocated where a block is freed.
template <class T>
void make_room(std::vector<T>& list, size_t entries) {
  if (list.capacity() < entries) list.reserve(2 * entries);
}

}  // namespace

// A bit for each block of a slab.
class SmallBlocks::Bits {
 public:
  explicit Bits(size_t words) : words_(words) {}
  bool get(size_t i) const noexcept { return (words_[i / 64] >> i % 64 & 1) != 0; }
  void set(size_t i) noexcept {
    words_[i / 64] |= uint64_t{1} << i % 64;
    first_ = std::min(first_, i / 64);
  }
  // The lowest that is set, which there is; set no more.
  size_t take() noexcept {
    while (words_[first_] == 0) first_++;
    const size_t bit = size_t(std::countr_zero(words_[first_]));
    words_[first_] &= words_[first_] - 1;
    return first_ * 64 + bit;
  }
  // Adds the other's, and clears them.
  void take_all(Bits& other) noexcept {
    for (size_t i = 0; i < words_.size(); i++) words_[i] |= std::exchange(other.words_[i], 0);
    first_ = 0;
  }

 private:
  std::vector<uint64_t> words_;
  size_t first_ = 0;  // no word before it has any
};

struct SmallBlocks::Slab {
  Slab(size_t at, size_t kind, size_t size)
      : offset(at),
        index(kind),
        bytes(uint32_t(size)),
        blocks(uint32_t(kSlab / size)),
        free(words()),
        held(words()) {
    for (uint32_t i = 0; i < blocks; i++) free.set(i);
  }
  size_t words() const noexcept { return (blocks + 63) / 64; }

  const size_t offset, index;  // in the arena; of its size
  const uint32_t bytes, blocks;
  uint32_t free_count = blocks, held_count = 0;
  size_t place =
      kNowhere;  // in Size::open, which owns it then; else nobody does, for all its blocks are in use
  Bits free, held;
};

Result<std::unique_ptr<SmallBlocks>> SmallBlocks::create(Arena& arena) {
  Mapping table = map_pages(round_up(arena.bytes() / kSlab * sizeof(std::atomic<Slab*>), kPageBytes));
  if (!table) return Status(Code::memory, "no address space for a table of shared memory; look at ulimit -v");
  return std::unique_ptr<SmallBlocks>(new SmallBlocks(arena, std::move(table)));
}

SmallBlocks::SmallBlocks(Arena& arena, Mapping table) noexcept : arena_(arena), table_(std::move(table)) {}

SmallBlocks::~SmallBlocks() {
  for (size_t at = 0; at + kSlab <= arena_.bytes(); at += kSlab) {
    Slab* slab = slot(at).load(std::memory_order_relaxed);
    if (slab != nullptr && slab->place == kNowhere) delete slab;
  }
}

std::atomic<SmallBlocks::Slab*>& SmallBlocks::slot(size_t offset) const noexcept {
  return reinterpret_cast<std::atomic<Slab*>*>(table_.data())[offset / kSlab];
}

SmallBlocks::Slab* SmallBlocks::slab_of(const std::byte* p) const noexcept {
  return arena_.owns(p, 1) ? slot(arena_.offset(p)).load(std::memory_order_acquire) : nullptr;
}

// Slabs begin at multiples of their size, so a block lies at a multiple of whatever divides its size.
size_t SmallBlocks::class_of(size_t bytes, size_t align) noexcept {
  size_t index = Classes::index(std::max({bytes, align, size_t{1}}));
  while (Classes::bytes(index) % align != 0) index++;  // at the next power of two, at the latest
  return index;
}

Result<std::byte*> SmallBlocks::allocate(size_t bytes, size_t align) {
  const size_t index = class_of(bytes, align);
  Size& size = sizes_[index];
  std::lock_guard lock(size.mutex);
  if (size.open.empty()) take_back_held(size);
  if (size.open.empty()) PLAIT_TRY(open_slab(size, index));
  Slab& slab = *size.open.back();
  const size_t block = slab.free.take();
  if (--slab.free_count == 0) {
    slab.place = kNowhere;
    (void)size.open.back().release();
    size.open.pop_back();
  }
  return arena_.base() + slab.offset + block * slab.bytes;
}

Status SmallBlocks::open_slab(Size& size, size_t index) {
  std::byte* at = arena_.reuse(kSlab, kSlab);
  if (at == nullptr) {
    auto made = arena_.allocate(kSlab, Fill::anything, kSlab);
    if (!made.ok()) return made.status();
    at = *made;
  }
  auto slab = std::make_unique<Slab>(arena_.offset(at), index, Classes::bytes(index));
  make_room(size.open, ++size.slabs);
  make_room(size.held, size.slabs);
  slab->place = size.open.size();
  slot(slab->offset).store(slab.get(), std::memory_order_release);
  size.open.push_back(std::move(slab));
  return {};
}

std::optional<bool> SmallBlocks::free(const std::byte* p) {
  Slab* slab = slab_of(p);
  if (slab == nullptr) return std::nullopt;
  Size& size = sizes_[slab->index];
  std::lock_guard lock(size.mutex);
  const size_t at = arena_.offset(p) - slab->offset, block = at / slab->bytes;
  if (at % slab->bytes != 0 || block >= slab->blocks || slab->free.get(block) || slab->held.get(block))
    return false;
  if (arena_.pinned(p)) {
    slab->held.set(block);
    if (slab->held_count++ == 0) size.held.push_back(slab);
    return true;
  }
  slab->free.set(block);
  slab->free_count++;
  reopen(size, *slab);
  // One stays, so that a block that is made and freed again and again needs no slab each time.
  if (slab->free_count == slab->blocks && size.open.size() > 1) close_slab(size, *slab);
  return true;
}

void SmallBlocks::reopen(Size& size, Slab& slab) {
  if (slab.place != kNowhere) return;
  slab.place = size.open.size();
  size.open.emplace_back(&slab);
}

void SmallBlocks::close_slab(Size& size, Slab& slab) {
  slot(slab.offset).store(nullptr, std::memory_order_release);
  arena_.keep(arena_.base() + slab.offset);
  size.slabs--;
  const size_t place = slab.place;
  std::swap(size.open[place], size.open.back());
  size.open[place]->place = place;
  size.open.pop_back();
}

void SmallBlocks::take_back_held(Size& size) {
  std::erase_if(size.held, [&](Slab* slab) {
    if (arena_.pinned(arena_.base() + slab->offset)) return false;
    slab->free.take_all(slab->held);
    slab->free_count += std::exchange(slab->held_count, 0);
    reopen(size, *slab);
    return true;
  });
}

std::optional<size_t> SmallBlocks::size_of(const std::byte* p) const {
  const Slab* slab = slab_of(p);
  if (slab == nullptr) return std::nullopt;
  std::lock_guard lock(sizes_[slab->index].mutex);
  const size_t at = arena_.offset(p) - slab->offset, block = at / slab->bytes;
  const bool is_live =
      at % slab->bytes == 0 && block < slab->blocks && !slab->free.get(block) && !slab->held.get(block);
  return is_live ? slab->bytes : 0;
}

void SmallBlocks::trim() {
  for (Size& size : sizes_) {
    std::lock_guard lock(size.mutex);
    take_back_held(size);
    for (size_t i = size.open.size(); i-- > 0;) {
      if (size.open[i]->free_count == size.open[i]->blocks) close_slab(size, *size.open[i]);
    }
  }
}

}  // namespace plait::transport::shm
