#include "transport/regions.h"

#include <sched.h>
#include <unistd.h>

namespace plait::transport {

namespace {

Status check_memory(const Maker& maker, const Memory& memory, Access access) {
  const std::string name(maker.name);
  if (memory.kind != MemoryKind::host)
    return Status(Code::unsupported, name + ": device memory cannot be exposed");
  if (memory.base == nullptr || memory.bytes == 0)
    return Status(Code::invalid, name + ": no memory to expose");
  if (reinterpret_cast<uintptr_t>(memory.base) + memory.bytes < memory.bytes)
    return Status(Code::invalid, name + ": memory to expose ends beyond the address space");
  if (access > Access::both) return Status(Code::invalid, name + ": no such access");
  return {};
}

}  // namespace

Result<uint32_t> RegionTable::add(const Memory& memory, Access access, uint64_t nonce) {
  std::lock_guard lock(mutex_);
  if (free_.empty()) {
    if (owned_.size() == kChunks)
      return Status(Code::memory, "more than " + std::to_string(kChunk * kChunks) + " regions of one domain");
    const size_t chunk = owned_.size();
    owned_.push_back(std::make_unique<Slot[]>(kChunk));
    free_.reserve(owned_.size() * kChunk);  // remove() allocates nothing
    for (size_t i = kChunk; i-- > 0;) free_.push_back(uint32_t(chunk * kChunk + i));
    chunks_[chunk].store(owned_.back().get(), std::memory_order_release);
  }
  const uint32_t at = free_.back();
  free_.pop_back();
  Slot& slot = owned_[at / kChunk][at % kChunk];
  slot.base.store(static_cast<std::byte*>(memory.base), std::memory_order_relaxed);
  slot.bytes.store(memory.bytes, std::memory_order_relaxed);
  slot.access.store(uint8_t(access), std::memory_order_relaxed);
  slot.landings.store(nullptr, std::memory_order_relaxed);
  slot.nonce.store(nonce, std::memory_order_seq_cst);
  return at;
}

void RegionTable::steer(uint32_t at, Landings& landings) noexcept {
  Slot& slot = chunks_[at / kChunk].load(std::memory_order_acquire)[at % kChunk];
  slot.landings.store(&landings, std::memory_order_release);
}

// pin() counts first and then looks at the nonce; here the nonce goes first and then the count is looked at.
void RegionTable::remove(uint32_t at) noexcept {
  Slot& slot = chunks_[at / kChunk].load(std::memory_order_acquire)[at % kChunk];
  slot.nonce.store(0, std::memory_order_seq_cst);
  while (slot.pins.load(std::memory_order_seq_cst) != 0) sched_yield();
  std::lock_guard lock(mutex_);
  free_.push_back(at);
}

RegionTable::Pin RegionTable::pin(uint32_t at, uint64_t nonce) noexcept {
  if (at >= kChunk * kChunks || nonce == 0) return {};
  Slot* chunk = chunks_[at / kChunk].load(std::memory_order_acquire);
  if (chunk == nullptr) return {};
  Slot& slot = chunk[at % kChunk];
  slot.pins.fetch_add(1, std::memory_order_seq_cst);
  Pin pin(&slot);
  return slot.nonce.load(std::memory_order_seq_cst) == nonce ? std::move(pin) : Pin();
}

Result<std::unique_ptr<Region>> LocalRegion::make(const Maker& maker, std::shared_ptr<RegionTable> table,
                                                  uint64_t domain, const Memory& memory, Access access,
                                                  bool steers) {
  PLAIT_TRY(check_memory(maker, memory, access));
  RegionKey key;
  key.magic = maker.magic;
  key.version = maker.version;
  key.access = uint8_t(access);
  key.owner = domain;
  key.nonce = random_word();
  key.bytes = memory.bytes;
  auto slot = table->add(memory, access, key.nonce);
  if (!slot.ok()) return slot.status();
  key.slot = *slot;
  key.sum = sum_of(key);
  return std::unique_ptr<Region>(std::make_unique<LocalRegion>(std::move(table), memory, key, steers));
}

LocalRegion::LocalRegion(std::shared_ptr<RegionTable> table, const Memory& memory, const RegionKey& key,
                         bool steers) noexcept
    : Region(memory), table_(std::move(table)), key_(key), pid_(getpid()), steers_(steers) {}

bool LocalRegion::steer(Landings& landings) noexcept {
  if (steers_) table_->steer(key_.slot, landings);
  return steers_;
}

// In a forked child a pin may stand for ever: the thread that took it is not there.
LocalRegion::~LocalRegion() {
  if (getpid() == pid_) table_->remove(key_.slot);
}

Result<std::unique_ptr<RemoteRegion>> PeerRegion::make(const Maker& maker, const Endpoint* endpoint,
                                                       uint64_t owner, ByteView view) {
  auto key = parse_region_key(view, maker);
  if (!key.ok()) return key.status();
  if (key->owner != owner) return Status(Code::auth, "the key is not of this peer's region");
  return std::unique_ptr<RemoteRegion>(std::make_unique<PeerRegion>(endpoint, *key));
}

}  // namespace plait::transport
