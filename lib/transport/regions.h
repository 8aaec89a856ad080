// Own memory that peers may reach, and peers' memory. Peers name a region by its slot in their target's table
// and a nonce; the table says what lies there, to the thread that polls, without a lock. For back ends whose
// peers say in messages where bytes go, so that what they say is checked before anything moves.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "transport/keys.h"
#include "transport/transport.h"

namespace plait::transport {

// The regions of a domain. add() and remove() from any thread, pin() from that which polls.
class RegionTable {
 private:
  struct Slot {
    std::atomic<uint64_t> nonce{0};  // 0: no region
    std::atomic<uint32_t> pins{0};
    std::atomic<uint8_t> access{0};
    std::atomic<std::byte*> base{nullptr};
    std::atomic<uint64_t> bytes{0};
    std::atomic<Landings*> landings{nullptr};
  };

 public:
  // While it lives remove() of the region waits: so it lives as long as one system call.
  class Pin {
   public:
    Pin() noexcept = default;
    Pin(Pin&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
    Pin& operator=(Pin&& other) noexcept {
      std::swap(slot_, other.slot_);
      return *this;
    }
    ~Pin() {
      if (slot_ != nullptr) slot_->pins.fetch_sub(1, std::memory_order_release);
    }
    explicit operator bool() const noexcept { return slot_ != nullptr; }
    std::byte* base() const noexcept { return slot_->base.load(std::memory_order_relaxed); }
    uint64_t bytes() const noexcept { return slot_->bytes.load(std::memory_order_relaxed); }
    // Where its bytes land, where that is not in it; else null.
    Landings* landings() const noexcept { return slot_->landings.load(std::memory_order_relaxed); }
    Access access() const noexcept { return Access(slot_->access.load(std::memory_order_relaxed)); }

   private:
    friend class RegionTable;
    explicit Pin(Slot* slot) noexcept : slot_(slot) {}
    Slot* slot_ = nullptr;
  };

  // Code::memory when it is full.
  Result<uint32_t> add(const Memory& memory, Access access, uint64_t nonce);
  void steer(uint32_t slot, Landings& landings) noexcept;
  // Returns when nobody reads or writes the region through a pin any more.
  void remove(uint32_t slot) noexcept;
  // Nothing when `slot` holds no region of that nonce.
  Pin pin(uint32_t slot, uint64_t nonce) noexcept;

 private:
  static constexpr size_t kChunk = 256, kChunks = 1024;

  std::array<std::atomic<Slot*>, kChunks> chunks_{};
  std::mutex mutex_;  // of what follows
  std::vector<std::unique_ptr<Slot[]>> owned_;
  std::vector<uint32_t> free_;
};

class LocalRegion final : public Region {
 public:
  // `domain`: its nonce. Code::unsupported for memory that is not the host's, Code::invalid for none.
  static Result<std::unique_ptr<Region>> make(const Maker& maker, std::shared_ptr<RegionTable> table,
                                              uint64_t domain, const Memory& memory, Access access,
                                              bool steers = false);
  // `steers`: the back end asks Pin::landings() where bytes go.
  LocalRegion(std::shared_ptr<RegionTable> table, const Memory& memory, const RegionKey& key,
              bool steers) noexcept;
  ~LocalRegion() override;
  ByteView key() const noexcept override { return bytes_of(key_); }
  bool steer(Landings& landings) noexcept override;

 private:
  const std::shared_ptr<RegionTable> table_;
  const RegionKey key_;
  const int pid_;
  const bool steers_;
};

class PeerRegion : public RemoteRegion {
 public:
  // Code::auth when the key is not of the domain `owner`. `endpoint` is compared only, to refuse another's
  // slices.
  static Result<std::unique_ptr<RemoteRegion>> make(const Maker& maker, const Endpoint* endpoint,
                                                    uint64_t owner, ByteView key);
  PeerRegion(const Endpoint* endpoint, const RegionKey& key) noexcept
      : RemoteRegion(key.bytes, Access(key.access)),
        endpoint_(endpoint),
        slot_(key.slot),
        nonce_(key.nonce) {}

  std::byte* mapped() const noexcept override { return nullptr; }
  const Endpoint* endpoint() const noexcept { return endpoint_; }
  uint32_t slot() const noexcept { return slot_; }
  uint64_t nonce() const noexcept { return nonce_; }

 private:
  const Endpoint* const endpoint_;
  const uint32_t slot_;
  const uint64_t nonce_;
};

}  // namespace plait::transport
