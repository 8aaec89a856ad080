#include "transport/ofi/wire.h"

#include <algorithm>

namespace plait::transport::ofi {

std::optional<Where> parse_where(ByteView bytes) noexcept {
  Where w;
  if (!take(bytes, w) || !bytes.empty() || !is_mode(w.mode) || w.address_bytes == 0 ||
      w.address_bytes > w.address.size() ||
      !std::all_of(w.address.begin() + w.address_bytes, w.address.end(),
                   [](std::byte b) { return b == std::byte{0}; }))
    return std::nullopt;
  if (w.mode == uint8_t(Mode::messages) && (w.stamp != 0 || w.bells != 0 || w.bells_key != 0))
    return std::nullopt;
  return w;
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
