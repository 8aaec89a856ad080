#include "transport/shm/wire.h"

#include <string>

#include "base/hash.h"

namespace plait::transport::shm {

uint64_t sum_of(const Ticket& ticket) noexcept {
  return fnv1a(bytes_of(ticket).first(sizeof ticket - sizeof ticket.sum));
}

Result<Ticket> parse_ticket(ByteView view) {
  Ticket ticket;
  if (!take(view, ticket) || !view.empty() || ticket.magic != kMagic || ticket.zero != 0)
    return Status(Code::invalid, "not a ticket of shared memory");
  if (ticket.sum != sum_of(ticket)) return Status(Code::invalid, "a damaged ticket of shared memory");
  if (ticket.version != kVersion) {
    return Status(Code::version, "the peer speaks version " + std::to_string(ticket.version) +
                                     " of the shared-memory transport, this rank " +
                                     std::to_string(kVersion));
  }
  return ticket;
}

Result<Key> parse_key(ByteView view) {
  Key key;
  const size_t bytes = view.size();
  if (!take(view, key) || !view.empty())
    return Status(Code::invalid, "a key of " + std::to_string(bytes) + " bytes is not of shared memory");
  if (key.magic != kMagic) return Status(Code::invalid, "a key that is not of shared memory");
  if (key.version != kVersion) {
    return Status(Code::invalid, "a key of version " + std::to_string(key.version) + ", not " +
                                     std::to_string(kVersion) + ": all ranks must run the same plait");
  }
  if (key.kind > uint8_t(Kind::plain) || key.access > uint8_t(Access::both))
    return Status(Code::invalid, "a damaged key: no such kind of memory or of access");
  return key;
}

}  // namespace plait::transport::shm
