#include "transport/ofi/wire.h"

#include <algorithm>

namespace plait::transport::ofi {

std::optional<Where> parse_where(ByteView& bytes) noexcept {
  Where w;
  if (!take(bytes, w) || w.zero != 0 || bytes.empty() || bytes.size() > kMostAddress) return std::nullopt;
  if (w.mode == uint8_t(Mode::direct)) return w;
  const bool messages = w.mode == uint8_t(Mode::messages);
  return messages && w.stamp == 0 && w.bells == 0 && w.bells_key == 0 ? std::optional(w) : std::nullopt;
}

Key direct_key(ByteView region_key, uint64_t base, uint64_t key) noexcept {
  Key made;
  take(region_key, made.region);
  made.base = base;
  made.key = key;
  made.sum = sum_of(made);
  return made;
}

Result<Key> parse_key(ByteView bytes) {
  const auto region = parse_region_key(bytes.first(std::min(bytes.size(), sizeof(RegionKey))), kMaker);
  if (!region.ok()) return region.status();
  Key key;
  if (!take(bytes, key) || !bytes.empty() || key.sum != sum_of(key))
    return Status(Code::invalid, "ofi: a damaged key, or one of another kind");
  if (key.base + key.region.bytes < key.base) return Status(Code::invalid, "ofi: a key that makes no sense");
  return key;
}

}  // namespace plait::transport::ofi
