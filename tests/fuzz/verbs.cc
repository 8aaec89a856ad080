// What the verbs transport reads out of band: tickets, keys and identities.
#include "fuzz.h"
#include "transport/verbs/wire.h"

namespace plait::fuzz {
namespace {

using namespace transport::verbs;

// Random bytes hardly ever have the sum that they should: so the last field is made right now and then.
template <class T>
Bytes with_sum(ByteView bytes) {
  T value;
  if (!take(bytes, value) || !bytes.empty()) return {};
  value.sum = transport::sum_of(value);
  return Bytes(bytes_of(value).begin(), bytes_of(value).end());
}

void try_ticket(ByteView bytes) {
  const auto ticket = parse_ticket(bytes);
  if (!ticket.ok()) return;
  require(equal(bytes_of(*ticket), bytes), "a ticket is what was read");
  require(ticket->counters <= kCounters && ticket->slot < kSlots, "its counters can be named");
  require(ticket->queue_pair >> 24 == 0 && ticket->packet >> 24 == 0, "numbers have 24 bits");
  require(ticket->mtu >= 1 && ticket->mtu <= 5 && ticket->signals > 0 && ticket->reads > 0,
          "it can be connected to");
  require(is_printable(to_string(ticket->gid)) && !to_string(ticket->gid).empty(),
          "its address can be shown");
  const Immediate last = unpack(pack({ticket->slot, ticket->counters, kMaxAdd}));
  require(last.slot == ticket->slot && last.number == ticket->counters, "signals name its counters");
}

void try_summed_ticket(ByteView bytes) { try_ticket(with_sum<Ticket>(bytes)); }

void try_key(ByteView bytes) {
  const auto key = parse_key(bytes);
  if (!key.ok()) return;
  require(equal(bytes_of(*key), bytes), "a key is what was read");
  require(key->bytes > 0 && key->access <= 3, "a key is of some memory, for something");
  require(key->address + key->bytes > key->address, "no memory ends beyond all memory");
}

void try_summed_key(ByteView bytes) { try_key(with_sum<Key>(bytes)); }

void try_identity(ByteView bytes) {
  const auto identity = parse_identity(bytes);
  if (identity) require(equal(bytes_of(*identity), bytes), "an identity is what was read");
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  return try_one_of(data, size, {try_ticket, try_summed_ticket, try_key, try_summed_key, try_identity});
}
