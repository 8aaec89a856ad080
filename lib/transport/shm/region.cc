#include "transport/shm/region.h"

#include <string>

#include "transport/shm/cma.h"

namespace plait::transport::shm {

namespace {

uint64_t pack(uint8_t kind, uint8_t access) noexcept { return uint64_t(kind) << 8 | access; }

Status forged(std::string_view what) {
  return Status(Code::auth, "the key is not of this peer's region: " + std::string(what));
}

// The owner's own word decides, so a key with any bit changed is refused.
bool same(const RegionRecord& record, const Key& key) noexcept {
  return record.live.load(std::memory_order_seq_cst) == 1 &&
         record.nonce.load(std::memory_order_relaxed) == key.nonce &&
         record.kind.load(std::memory_order_relaxed) == pack(key.kind, key.access) &&
         record.start.load(std::memory_order_relaxed) == key.start &&
         record.bytes.load(std::memory_order_relaxed) == key.bytes;
}

Status check_memory(const Memory& memory) {
  if (memory.kind != MemoryKind::host)
    return Status(Code::unsupported, "shm: device memory cannot be exposed");
  if (memory.base == nullptr || memory.bytes == 0) return Status(Code::invalid, "shm: no memory to expose");
  if (reinterpret_cast<uintptr_t>(memory.base) + memory.bytes < memory.bytes)
    return Status(Code::invalid, "shm: memory to expose ends beyond the address space");
  return {};
}

// Whether all of it, or (an error) a part, lies in the arena.
Result<bool> in_arena(const Arena& arena, const Memory& memory) {
  if (arena.owns(memory.base, memory.bytes)) return true;
  auto start = reinterpret_cast<uintptr_t>(memory.base), base = reinterpret_cast<uintptr_t>(arena.base());
  if (start + memory.bytes <= base || start >= base + arena.bytes()) return false;
  return Status(Code::invalid, "shm: memory to expose lies partly in shared memory");
}

}  // namespace

Result<std::unique_ptr<Region>> LocalRegion::make(Process& process, uint64_t domain, const Memory& memory,
                                                  Access access) {
  PLAIT_TRY(check_memory(memory));
  auto inside = in_arena(process.arena(), memory);
  if (!inside.ok()) return inside.status();
  const auto* base = static_cast<const std::byte*>(memory.base);
  // The whole arena is exposed by who manages what lies in it; it is never unmapped, so nothing need be
  // pinned.
  const bool whole = *inside && memory.bytes == process.arena().bytes();
  if (*inside && !whole && !process.arena().pin(base, memory.bytes))
    return Status(Code::invalid, "shm: memory to expose is not, or not all, of one allocation");
  auto record = process.new_record();
  if (!record.ok()) {
    if (*inside && !whole) process.arena().unpin(base);
    return record.status();
  }
  Key key;
  key.kind = uint8_t(*inside ? Kind::mapped : Kind::plain);
  key.access = uint8_t(access);
  key.owner = domain;
  key.nonce = random_nonce()[0];
  key.record = process.arena().offset(*record);
  key.start = *inside ? process.arena().offset(base) : reinterpret_cast<uintptr_t>(base);
  key.bytes = memory.bytes;
  return std::unique_ptr<Region>(
      std::make_unique<LocalRegion>(process, memory, *record, *inside && !whole ? base : nullptr, key));
}

LocalRegion::LocalRegion(Process& process, const Memory& memory, RegionRecord* record,
                         const std::byte* pinned, const Key& key)
    : Region(memory), process_(process), record_(record), pinned_(pinned), key_(key) {
  record_->nonce.store(key.nonce, std::memory_order_relaxed);
  record_->kind.store(pack(key.kind, key.access), std::memory_order_relaxed);
  record_->start.store(key.start, std::memory_order_relaxed);
  record_->bytes.store(key.bytes, std::memory_order_relaxed);
  record_->live.store(1, std::memory_order_seq_cst);
}

LocalRegion::~LocalRegion() {
  if (process_.is_this()) process_.retire(record_, pinned_);
}

Result<std::unique_ptr<RemoteRegion>> PeerRegion::make(const void* endpoint, const Peer& peer,
                                                       ByteView view) {
  auto parsed = parse_key(view);
  if (!parsed.ok()) return parsed.status();
  const Key& key = *parsed;
  if (key.owner != peer.domain) return forged("another domain's");
  auto* record = peer.arena->at<RegionRecord>(key.record);
  if (record == nullptr) return forged("its record is out of bounds");
  if (!same(*record, key)) return forged("unknown or revoked");
  record->importers.fetch_add(1, std::memory_order_seq_cst);
  auto region = std::make_unique<PeerRegion>(endpoint, peer, key, record);
  if (!same(*record, key)) return forged("revoked");  // the owner revokes first, then looks at the count
  bool mapped = key.kind == uint8_t(Kind::mapped);
  if (mapped ? !in_bounds(key.start, key.bytes, peer.arena->bytes) : key.start + key.bytes < key.start)
    return Status(Code::invalid, "a damaged key: its memory is out of bounds");
  if (!mapped && !peer.cma) return Status(Code::unsupported, peer.name() + ": " + std::string(kNoCma));
  return std::unique_ptr<RemoteRegion>(std::move(region));
}

PeerRegion::PeerRegion(const void* endpoint, const Peer& peer, const Key& key, RegionRecord* record)
    : RemoteRegion(key.bytes, Access(key.access)),
      endpoint_(endpoint),
      arena_(peer.arena),
      record_(record),
      nonce_(key.nonce) {
  if (key.kind == uint8_t(Kind::mapped)) {
    at_ = arena_->base + key.start;
  } else if (peer.same_process) {
    at_ = reinterpret_cast<std::byte*>(key.start);  // NOLINT: the record, in our own arena, vouches for it
  } else {
    address_ = key.start;
  }
}

PeerRegion::~PeerRegion() {
  if (record_->nonce.load(std::memory_order_relaxed) == nonce_)
    record_->importers.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace plait::transport::shm
