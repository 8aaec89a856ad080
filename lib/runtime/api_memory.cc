// memory.h, and plait.h's memory: over the process's heap.
#include <plait/memory.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <exception>
#include <new>
#include <string>

#include "base/log.h"
#include "runtime/library.h"
#include "runtime/lists.h"
#include "transport/shm/heap.h"

using namespace plait;
using namespace plait::runtime;
using transport::shm::Arena;
using transport::shm::Fill;
using transport::shm::Heap;

namespace {

constexpr size_t kMost = PTRDIFF_MAX;  // of a block, as malloc's
constexpr size_t kLine = 64;

// Whoever holds a line or more may be read by peers: no two blocks share a line then.
constexpr size_t align_of(size_t bytes) noexcept { return bytes >= kLine ? kLine : 16; }

void* fail(const Status& status) noexcept {
  report(status);
  errno = status.code() == Code::invalid ? EINVAL : ENOMEM;
  return nullptr;
}

// What make(heap) gives. What is allocated on the way, a few words of private memory, may fail as well.
template <class Make>
Result<std::byte*> try_make(Make make) noexcept {
  try {
    auto heap = Heap::process();
    return heap.ok() ? make(**heap) : heap.status();
  } catch (const std::exception&) {
    return Status(Code::memory);
  }
}

template <class Make>
void* made(Make make) noexcept {
  const Result<std::byte*> block = try_make(make);
  return block.ok() ? *block : fail(block.status());
}

void* allocate(const char* function, size_t bytes, size_t align, Fill fill) noexcept {
  return made([&](Heap& heap) -> Result<std::byte*> {
    if (bytes > kMost)
      return Status(Code::memory, std::string(function) + ": " + std::to_string(bytes) + " bytes asked for");
    return heap.allocate(bytes, align, fill);
  });
}

bool free_block(void* memory) {
  Heap* heap = Heap::made();
  return heap != nullptr && heap->free(static_cast<std::byte*>(memory));
}

Status no_block(const char* function) {
  return {Code::invalid, std::string(function) +
                             ": the pointer is not one that plait_mem_alloc or plait_malloc gave, or was "
                             "freed before; what malloc gave is for free"};
}

}  // namespace

extern "C" {

plait_status plait_mem_alloc(size_t bytes, void** memory) {
  if (memory == nullptr) return report({Code::invalid, "plait_mem_alloc: memory is NULL"});
  const Status ready = check_ready();
  if (!ready.ok()) return report(ready);
  if (bytes == 0) return report({Code::invalid, "plait_mem_alloc: 0 bytes of shared memory asked for"});
  const auto block = try_make([&](Heap& heap) { return heap.allocate(bytes, Arena::kAlign, Fill::zeroes); });
  if (!block.ok()) return report(block.status());
  *memory = *block;
  return PLAIT_OK;
}

plait_status plait_mem_free(void* memory) {
  if (memory == nullptr) return PLAIT_OK;
  if (forked()) return report(check_ready());
  return free_block(memory) ? PLAIT_OK : report(no_block("plait_mem_free"));
}

void* plait_malloc(size_t bytes) { return allocate("plait_malloc", bytes, align_of(bytes), Fill::anything); }

void* plait_calloc(size_t count, size_t bytes) {
  size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) all = SIZE_MAX;
  return allocate("plait_calloc", all, align_of(all), Fill::zeroes);
}

void* plait_aligned_alloc(size_t alignment, size_t bytes) {
  if (!std::has_single_bit(alignment) || alignment > Arena::kLarge) {
    return fail({Code::invalid, "plait_aligned_alloc: alignment " + std::to_string(alignment) +
                                    " is no power of two up to 2 MiB"});
  }
  return allocate("plait_aligned_alloc", bytes, std::max(alignment, align_of(bytes)), Fill::anything);
}

void* plait_realloc(void* memory, size_t bytes) {
  if (memory == nullptr) return plait_malloc(bytes);
  if (bytes == 0) {
    plait_free(memory);
    return nullptr;
  }
  return made([&](Heap& heap) -> Result<std::byte*> {
    if (bytes > kMost)
      return Status(Code::memory, "plait_realloc: " + std::to_string(bytes) + " bytes asked for");
    auto block = heap.resize(static_cast<std::byte*>(memory), bytes, align_of(bytes));
    return block.status().code() == Code::invalid ? no_block("plait_realloc") : block;
  });
}

void plait_free(void* memory) {
  if (memory == nullptr) return;
  const int before = errno;
  if (!free_block(memory) && !Heap::inherited(memory)) {
    const Status status = no_block("plait_free");
    log::error("{}", status.text());
    report(status);
  }
  errno = before;
}

size_t plait_usable_size(const void* memory) {
  const Heap* heap = Heap::made();
  return heap == nullptr ? 0 : heap->usable(static_cast<const std::byte*>(memory));
}

int plait_mem_is_shared(const void* memory, size_t bytes) {
  const Heap* heap = Heap::made();
  return heap != nullptr && heap->arena().owns(memory, bytes) ? 1 : 0;
}

plait_status plait_mem_keep(size_t bytes) {
  auto heap = Heap::process();
  if (!heap.ok()) return report(heap.status());
  (*heap)->arena().set_bound(bytes);
  return PLAIT_OK;
}

plait_status plait_mem_trim(void) {
  auto heap = Heap::process();
  if (!heap.ok()) return report(heap.status());
  (*heap)->trim();
  return PLAIT_OK;
}

plait_status plait_mem_usage(plait_memory_usage* usage) {
  if (usage == nullptr) return report({Code::invalid, "plait_mem_usage: usage is NULL"});
  auto heap = Heap::process();
  if (!heap.ok()) return report(heap.status());
  const Arena& arena = (*heap)->arena();
  const plait_memory_usage now{0, arena.used(), arena.kept(), arena.bound(), arena.resident(), arena.bytes()};
  return report(write_list(usage, 1, std::span(&now, 1), "plait_memory_usage"));
}

}  // extern "C"
