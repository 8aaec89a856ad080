// What endpoints read whose puts and gets are messages (UCX's, libfabric's): headers, and tickets, keys and
// identities that came out of band.
#include "transport/am/wire.h"

#include "fuzz.h"

namespace plait::fuzz {
namespace {

using namespace transport::am;
using transport::kMaxTransfer;

constexpr transport::Maker kMaker{"ucx", "UCX", 0x58435550, 1};  // one like any

void try_header(Input& input) {
  const size_t length = input.number<uint32_t>();
  const ByteView bytes = input.rest();
  const auto h = parse_header(bytes, length);
  if (!h) return;
  require(equal(bytes_of(*h), bytes), "a header is what was read");
  require(h->to != 0, "it is for somebody");
  const auto kind = Kind(h->kind);
  const uint64_t moved = kind == Kind::get ? h->value : kind == Kind::put ? length : 0;
  require(h->offset + moved >= h->offset, "no transfer ends beyond all memory");
  if (kind != Kind::put && kind != Kind::data) require(length == 0, "nothing follows other messages");
  if (kind == Kind::data) require(length >= sizeof kIntact, "an answer says that it is intact");
  if (kind == Kind::get) require(h->value <= kMaxTransfer, "nobody asks for more than a transfer");
  if (kind == Kind::error)
    require(std::string_view(describe(transport::Refusal(h->value))) != "an unknown refusal",
            "an error says why");
  if (kind == Kind::hello) require(h->value != 0, "a hello is somebody's");
  if (!counted(kind)) require(h->number == 0, "only some are counted");
}

void try_ticket(ByteView bytes) {
  const auto ticket = parse_ticket(bytes, kMaker);
  if (!ticket.ok()) return;
  require(equal(to_bytes(*ticket), bytes), "a ticket is what was read");
  require(ticket->head.counters <= kCounters && !ticket->address.empty(), "it is of an endpoint");
  require(is_printable(ticket->head.host.data()), "its host's name can be shown");
}

// Random bytes hardly ever have the sum that they should.
void try_summed_ticket(ByteView bytes) {
  Ticket ticket;
  if (!take(bytes, ticket.head)) return;
  ticket.address.assign(bytes.begin(), bytes.end());
  try_ticket(to_bytes(ticket));
}

void try_key(ByteView bytes) {
  const auto key = transport::parse_region_key(bytes, kMaker);
  if (key.ok()) require(equal(bytes_of(*key), bytes), "a key is what was read");
}

void try_identity(ByteView bytes) {
  const auto identity = parse_identity(bytes, kMaker);
  if (identity) require(equal(bytes_of(*identity), bytes), "an identity is what was read");
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  return try_one_of(data, size, {try_header, try_ticket, try_summed_ticket, try_key, try_identity});
}
