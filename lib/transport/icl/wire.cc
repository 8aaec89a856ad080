#include "transport/icl/wire.h"

#include "drivers/icl/icl_driver.h"

namespace plait::transport::icl {
namespace {

// The counters' key is of the queue's chip, and covers them.
bool makes_sense(const Ticket& ticket) noexcept {
  icl_ticket_fields queue;
  icl_key_fields words;
  if (ticket.counters > kCounters || icl_ticket_read(ticket.queue.data(), &queue) != ICL_OK) return false;
  if (ticket.counters == 0) return ticket.words == DriverKey{};
  return icl_key_read(ticket.words.data(), &words) == ICL_OK && words.chip == queue.chip &&
         words.rights == ICL_SIGNAL && words.bytes == ticket.counters * sizeof(uint64_t);
}

bool makes_sense(const Key& key) noexcept {
  icl_key_fields memory;
  return key.zero == 0 && key.access <= uint8_t(Access::both) &&
         icl_key_read(key.memory.data(), &memory) == ICL_OK && memory.bytes != 0 &&
         memory.rights == rights_of(Access(key.access));
}

}  // namespace

uint32_t rights_of(Access access) noexcept {
  return (may_read(access) ? unsigned(ICL_READ) : 0) | (may_write(access) ? unsigned(ICL_WRITE) : 0);
}

Result<Ticket> parse_ticket(ByteView bytes) {
  auto ticket = parse_summed<Ticket>(bytes, kMaker, "ticket");
  if (ticket.ok() && !makes_sense(*ticket))
    return Status(Code::invalid, "a ticket of inter-chip links that makes no sense");
  return ticket;
}

Result<Key> parse_key(ByteView bytes) {
  auto key = parse_summed<Key>(bytes, kMaker, "key");
  if (key.ok() && !makes_sense(*key))
    return Status(Code::invalid, "a key of inter-chip links that makes no sense");
  return key;
}

std::optional<Identity> parse_identity(ByteView bytes) noexcept {
  Identity identity;
  if (!take(bytes, identity) || !bytes.empty() || identity.magic != kMagic || identity.version != kVersion ||
      identity.zero != 0)
    return std::nullopt;
  return identity;
}

uint32_t chip_of(const Ticket& ticket) noexcept {
  icl_ticket_fields queue{};
  icl_ticket_read(ticket.queue.data(), &queue);
  return queue.chip;
}

uint64_t bytes_of_memory(const Key& key) noexcept {
  icl_key_fields memory{};
  icl_key_read(key.memory.data(), &memory);
  return memory.bytes;
}

}  // namespace plait::transport::icl
