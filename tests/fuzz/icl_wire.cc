// What the transport over inter-chip links reads out of band: tickets, keys, identities, and its address.
#include "fuzz.h"
#include "summed.h"
#include "transport/icl/icl.h"
#include "transport/icl/wire.h"

namespace plait::fuzz {
namespace {

using namespace transport::icl;

void try_ticket(ByteView bytes) {
  const auto ticket = parse_ticket(bytes);
  if (!ticket.ok()) return;
  require(equal(bytes_of(*ticket), bytes), "a ticket is what was read");
  require(ticket->counters <= kCounters && chip_of(*ticket) < ICL_MAX_CHIPS, "its counters can be named");
}

void try_key(ByteView bytes) {
  const auto key = parse_key(bytes);
  if (!key.ok()) return;
  require(equal(bytes_of(*key), bytes), "a key is what was read");
  require(bytes_of_memory(*key) > 0 && key->access <= uint8_t(transport::Access::both),
          "a key is of some memory");
}

void try_identity(ByteView bytes) {
  const auto identity = parse_identity(bytes);
  if (identity) require(equal(bytes_of(*identity), bytes), "an identity is what was read");
}

void try_detail(ByteView bytes) {
  const auto options = parse_detail({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!options.ok()) return;
  require(!options->address.empty() && options->chip >= -1 && options->chip < ICL_MAX_CHIPS,
          "an address, and a chip that can be");
}

void try_summed_ticket(ByteView bytes) { try_ticket(with_sum<Ticket>(bytes)); }
void try_summed_key(ByteView bytes) { try_key(with_sum<Key>(bytes)); }

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  return try_one_of(data, size,
                    {try_ticket, try_key, try_identity, try_detail, try_summed_ticket, try_summed_key});
}
