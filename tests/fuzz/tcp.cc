// What the TCP transport reads: frame headers off a connection, hellos of whoever connects, tickets, keys and
// identities that came out of band.
#include "fuzz.h"
#include "summed.h"
#include "transport/tcp/frame.h"
#include "transport/tcp/wire.h"

namespace plait::fuzz {
namespace {

using namespace transport::tcp;
using transport::describe;
using transport::kMaxTransfer;
using transport::Refusal;
using transport::sum_of;

void try_header(ByteView bytes) {
  const auto h = parse_header(bytes);
  if (!h) return;
  require(equal(bytes_of(*h), bytes.first(sizeof *h)), "a header is what was read");
  require(h->length <= kPiece, "no header announces more than a piece");
  const auto kind = FrameKind(h->kind);
  const uint64_t moved = kind == FrameKind::get ? h->value : h->length;
  require(h->offset + moved >= h->offset, "no transfer ends beyond all memory");
  if (kind != FrameKind::put && kind != FrameKind::data)
    require(h->length == 0, "nothing follows other frames");
  if (kind == FrameKind::get) require(h->value <= kMaxTransfer, "nobody asks for more than a transfer");
  if (kind == FrameKind::error)
    require(std::string_view(describe(Refusal(h->value))) != "an unknown refusal", "an error says why");
  if (kind == FrameKind::ack) require(h->value >> kLaneShift <= kLastFrameLane, "five lanes carry frames");
}

void try_ticket(ByteView bytes) {
  const auto ticket = parse_ticket(bytes);
  if (!ticket.ok()) return;
  require(equal(bytes_of(*ticket), bytes), "a ticket is what was read");
  require(ticket->counters <= kCounters, "no endpoint has so many counters");
  require(ticket->tls <= 1, "TLS is wanted or not");
  require(ticket->bulk_lanes >= 1 && ticket->bulk_lanes <= kBulkMost, "bulk has 1 to 4 connections");
  require(ticket->address_count >= 1 && ticket->address_count <= kAddresses, "a ticket has 1 to 4 addresses");
  for (size_t i = 0; i < ticket->address_count; i++) {
    const Address& a = ticket->addresses[i];
    const auto again = parse_ip(to_string(a.with_port(0)));
    require(again.ok() && again->with_port(a.port) == a, "an address has one form only");
    const SocketAddress s = to_socket(a);
    require(s.length > 0 && a.port != 0, "an address can be dialed");
  }
}

void try_summed_ticket(ByteView bytes) { try_ticket(with_sum<Ticket>(bytes)); }

void try_key(ByteView bytes) {
  const auto key = parse_key(bytes);
  if (!key.ok()) return;
  require(equal(bytes_of(*key), bytes), "a key is what was read");
  require(key->bytes > 0 && key->access <= 3, "a key is of some memory, for something");
}

void try_summed_key(ByteView bytes) { try_key(with_sum<Key>(bytes)); }

void try_identity(ByteView bytes) {
  const auto identity = parse_identity(bytes);
  if (identity) require(equal(bytes_of(*identity), bytes), "an identity is what was read");
}

void try_hello(ByteView bytes) {
  const auto hello = parse_hello(bytes);
  if (!hello) return;
  require(equal(bytes_of(*hello), bytes), "a hello is what was read");
  require(hello->lane < kLanes, "there are six lanes");
  const std::string sender = sender_of(*hello);
  require(sender.size() < 100 && is_printable(sender), "its sender's name can be shown");
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  return try_one_of(
      data, size,
      {try_header, try_ticket, try_summed_ticket, try_key, try_summed_key, try_identity, try_hello});
}
