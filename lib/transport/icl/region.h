// Own memory, known to the chip's engines and exported; peers' memory, imported on a queue.
#pragma once

#include "transport/icl/device.h"
#include "transport/icl/wire.h"

namespace plait::transport::icl {

class IclRegion final : public Region {
 public:
  static Result<std::unique_ptr<Region>> make(std::shared_ptr<Device> device, const Memory& memory,
                                              Access access, uint64_t owner);
  IclRegion(std::shared_ptr<Device> device, icl_memory* known, const Memory& memory) noexcept
      : Region(memory), device_(std::move(device)), known_(known) {}
  ~IclRegion() override;
  ByteView key() const noexcept override { return bytes_of(key_); }
  const icl_memory* known() const noexcept { return known_; }
  const Device* device() const noexcept { return device_.get(); }

 private:
  const std::shared_ptr<Device> device_;
  icl_memory* const known_;
  icl_exported* exported_ = nullptr;
  Key key_;
};

// An endpoint's queue; null once it is closed, and then its imports are gone too.
struct Queue {
  icl_queue* handle = nullptr;
};

class PeerRegion final : public RemoteRegion {
 public:
  PeerRegion(std::shared_ptr<Queue> queue, icl_remote* remote, uint64_t bytes, Access access) noexcept
      : RemoteRegion(size_t(bytes), access), queue_(std::move(queue)), remote_(remote) {}
  ~PeerRegion() override {
    if (queue_->handle != nullptr) icl_forget(remote_);
  }
  std::byte* mapped() const noexcept override { return nullptr; }
  const Queue* queue() const noexcept { return queue_.get(); }
  const icl_remote* remote() const noexcept { return remote_; }

 private:
  const std::shared_ptr<Queue> queue_;
  icl_remote* const remote_;
};

}  // namespace plait::transport::icl
