#include "transport/am/message.h"

#include <cstring>

#include "base/copy.h"

namespace plait::transport::am {

void Message::pack(RegionTable& regions, std::byte* to) const noexcept {
  if (Kind(header.kind) != Kind::data) {
    if (bytes != 0) copy_bytes(to, from, bytes);
    return;
  }
  const size_t length = bytes - sizeof kIntact;
  const RegionTable::Pin pin = regions.pin(place.slot, place.nonce);
  if (length != 0 && !pin) {
    std::memset(to, 0, bytes);
    return;
  }
  if (length != 0) copy_bytes(to, pin.base() + place.offset, length);
  std::memcpy(to + length, &kIntact, sizeof kIntact);
}

}  // namespace plait::transport::am
