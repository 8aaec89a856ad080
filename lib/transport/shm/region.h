// Own memory that peers may reach, and peers' memory.
#pragma once

#include <memory>

#include "transport/shm/peer.h"
#include "transport/shm/process.h"
#include "transport/shm/wire.h"
#include "transport/transport.h"

namespace plait::transport::shm {

class LocalRegion final : public Region {
 public:
  static Result<std::unique_ptr<Region>> make(Process& process, uint64_t domain, const Memory& memory,
                                              Access access);
  LocalRegion(Process& process, const Memory& memory, RegionRecord* record, const std::byte* pinned,
              const Key& key);
  ~LocalRegion() override;
  ByteView key() const noexcept override { return bytes_of(key_); }

 private:
  Process& process_;
  RegionRecord* const record_;
  const std::byte* const pinned_;  // memory of the arena
  const Key key_;
};

class PeerRegion final : public RemoteRegion {
 public:
  // `endpoint` is compared only, to refuse another endpoint's slices.
  static Result<std::unique_ptr<RemoteRegion>> make(const void* endpoint, const Peer& peer, ByteView key);
  PeerRegion(const void* endpoint, const Peer& peer, const Key& key, RegionRecord* record);
  ~PeerRegion() override;

  std::byte* mapped() const noexcept override { return access_ == Access::none ? nullptr : at_; }
  const void* endpoint() const noexcept { return endpoint_; }
  // Where it lies here; null: it must be reached by CMA at address().
  std::byte* at() const noexcept { return at_; }
  uint64_t address() const noexcept { return address_; }
  // False once its owner destroyed it.
  bool live() const noexcept {
    return record_->live.load(std::memory_order_acquire) == 1 &&
           record_->nonce.load(std::memory_order_relaxed) == nonce_;
  }

 private:
  const void* const endpoint_;
  const std::shared_ptr<const PeerArena> arena_;
  RegionRecord* const record_;
  const uint64_t nonce_;
  std::byte* at_ = nullptr;
  uint64_t address_ = 0;
};

}  // namespace plait::transport::shm
