// Buffers of the kinds that can be measured.
#pragma once

#include <cstddef>

#include "plait/plait.h"

namespace plait::perf {

// The values of -R.
enum class Memory { plain = 0, allocated = 1, registered = 2 };
const char* memory_name(Memory memory);

// Owns one buffer, page-aligned, every page touched.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();
  // Once. What failed is in plait_last_error(NULL), but for PLAIT_ERR_MEMORY of plain memory.
  plait_status make(Memory memory, size_t bytes);
  std::byte* data() const { return static_cast<std::byte*>(base_); }

 private:
  Memory memory_ = Memory::plain;
  void* base_ = nullptr;
  plait_region* region_ = nullptr;
};

}  // namespace plait::perf
