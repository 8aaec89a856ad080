#include "perf/memory.h"

#include <cstdlib>
#include <cstring>

#include "base/bytes.h"

namespace plait::perf {

const char* memory_name(Memory memory) {
  switch (memory) {
    case Memory::plain:
      return "plain";
    case Memory::allocated:
      return "plait_mem_alloc";
    case Memory::registered:
      return "plain, registered";
  }
  return "?";
}

Buffer::~Buffer() {
  if (region_ != nullptr) plait_deregister(region_);
  if (memory_ == Memory::allocated) {
    plait_mem_free(base_);
  } else {
    std::free(base_);
  }
}

plait_status Buffer::make(Memory memory, size_t bytes) {
  constexpr size_t kPage = 4096;
  memory_ = memory;
  size_t whole = round_up(bytes == 0 ? 1 : bytes, kPage);
  if (memory == Memory::allocated) {
    if (plait_status status = plait_mem_alloc(whole, &base_); status != PLAIT_OK) return status;
  } else {
    base_ = whole < bytes ? nullptr : std::aligned_alloc(kPage, whole);
    if (base_ == nullptr) return PLAIT_ERR_MEMORY;
  }
  std::memset(base_, 0, whole);
  if (memory != Memory::registered) return PLAIT_OK;
  plait_memory description{};
  description.struct_size = sizeof description;
  description.base = base_;
  description.bytes = whole;
  return plait_register(&description, &region_);
}

}  // namespace plait::perf
