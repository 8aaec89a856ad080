#include "transport/verbs/wire.h"

namespace plait::transport::verbs {

Result<Ticket> parse_ticket(ByteView bytes) {
  auto ticket = parse_summed<Ticket>(bytes, kMaker, "ticket");
  if (ticket.ok() && (!rdma::makes_sense(ticket->station) || ticket->counters > rdma::kCounters))
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
