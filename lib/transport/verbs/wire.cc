#include "transport/verbs/wire.h"

namespace plait::transport::verbs {

namespace {

constexpr uint32_t k24Bits = (1U << 24) - 1;
constexpr uint8_t kSmallestMtu = 1, kLargestMtu = 5;  // 256 and 4096 bytes

bool makes_sense(const Ticket& t) noexcept {
  return known(t.link) && t.mtu >= kSmallestMtu && t.mtu <= kLargestMtu && t.queue_pair > 1 &&
         t.queue_pair <= k24Bits && t.packet <= k24Bits && t.slot < kSlots && t.counters <= kCounters &&
         t.signals >= 1 && t.reads >= 1 && t.zero == 0 && t.zero2 == 0 && t.gid != Gid{};
}

}  // namespace

Result<Ticket> parse_ticket(ByteView bytes) {
  auto ticket = parse_summed<Ticket>(bytes, kMaker, "ticket");
  if (ticket.ok() && !makes_sense(*ticket))
    return Status(Code::invalid, "a ticket of verbs that makes no sense");
  return ticket;
}

Result<Key> parse_key(ByteView bytes) {
  auto key = parse_summed<Key>(bytes, kMaker, "key");
  if (key.ok() && (key->zero != 0 || key->zero2 != 0 || key->access > uint8_t(Access::both) ||
                   key->bytes == 0 || key->address + key->bytes < key->address))
    return Status(Code::invalid, "a key of verbs that makes no sense");
  return key;
}

std::optional<Identity> parse_identity(ByteView bytes) noexcept {
  Identity identity;
  if (!take(bytes, identity) || !bytes.empty() || identity.magic != kMagic || identity.version != kVersion ||
      !known(identity.link))
    return std::nullopt;
  return identity;
}

}  // namespace plait::transport::verbs
