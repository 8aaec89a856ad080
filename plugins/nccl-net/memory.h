// Memory that NCCL registered: a region of a comm's domain. Requests that use it hold it, so that it may be
// deregistered while they are under way.
#pragma once

#include <atomic>
#include <memory>

#include "transport/transport.h"

namespace plait::nccl {

class Comm;

class Memory {
 public:
  Memory(const Comm* comm, std::unique_ptr<transport::Region> region) noexcept
      : comm_(comm), region_(std::move(region)) {}

  const Comm* comm() const noexcept { return comm_; }
  // Null: not of this memory.
  const transport::Region* region_of(const void* data, size_t bytes) const noexcept {
    if (region_ == nullptr) return nullptr;
    const transport::Memory& all = region_->memory();
    const auto at = reinterpret_cast<uintptr_t>(data), base = reinterpret_cast<uintptr_t>(all.base);
    return at >= base && in_bounds(at - base, bytes, all.bytes) ? region_.get() : nullptr;
  }
  // Its comm ends, and with it the domain that the region is of; nothing uses it any more.
  void drop() noexcept { region_.reset(); }
  // Any thread. It goes with whoever releases it last; NCCL's registration holds it too.
  void hold() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  const Comm* const comm_;
  std::unique_ptr<transport::Region> region_;
  std::atomic<uint32_t> holders_{1};
};

}  // namespace plait::nccl
