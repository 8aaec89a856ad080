// What the verbs transport reads out of band: tickets, keys and identities.
#include "fuzz.h"
#include "summed.h"
#include "transport/verbs/wire.h"

namespace plait::fuzz {
namespace {

using namespace transport::verbs;
using rdma::Immediate, rdma::kCounters, rdma::kMaxAdd, rdma::kSlots, rdma::pack, rdma::unpack;

void try_ticket(ByteView bytes) {
  const auto ticket = parse_ticket(bytes);
  if (!ticket.ok()) return;
  require(equal(bytes_of(*ticket), bytes), "a ticket is what was read");
  require(ticket->counters <= kCounters && ticket->station.slot < kSlots, "its counters can be named");
  require(ticket->station.queue_pair >> 24 == 0 && ticket->station.packet >> 24 == 0, "numbers have 24 bits");
  require(ticket->station.mtu >= 1 && ticket->station.mtu <= 5 && ticket->station.signals > 0 &&
              ticket->station.reads > 0,
          "it can be connected to");
  require(is_printable(rdma::to_string(ticket->station.gid)) && !rdma::to_string(ticket->station.gid).empty(),
          "its address can be shown");
  const Immediate last = unpack(pack({ticket->station.slot, ticket->counters, kMaxAdd}));
  require(last.slot == ticket->station.slot && last.number == ticket->counters, "signals name its counters");
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
