// What endpoints on libfabric read: messages and hellos that a provider brings, tickets, keys and identities
// that came out of band.
#include "fuzz.h"
#include "transport/ofi/wire.h"

namespace plait::fuzz {
namespace {

using namespace transport::ofi;

// Random bytes hardly ever have the sum that they should.
template <class T>
Bytes with_sum(ByteView bytes) {
  T value;
  if (!take(bytes, value) || !bytes.empty()) return {};
  value.sum = transport::sum_of(value);
  return Bytes(bytes_of(value).begin(), bytes_of(value).end());
}

void try_message(ByteView bytes) {
  const auto h = parse_header(bytes);
  if (!h) return;
  require(equal(bytes_of(*h), bytes.first(sizeof *h)), "a header is what was read");
  require(h->length == bytes.size() - sizeof *h, "as many bytes follow as it says");
  require(h->counter < kCounters, "no endpoint has so many counters");
  require(h->offset + h->length >= h->offset, "no put ends beyond all memory");
  if (h->kind == Kind::get) {
    require(h->length == 0 && h->value != 0 && h->value <= kMaxTransfer,
            "a get wants something, and brings nothing");
    require(h->offset + h->value >= h->offset, "no get ends beyond all memory");
  }
  if (h->kind != Kind::put) require(h->add == 0 && h->wants_ack == 0, "only puts signal");
  if (h->kind == Kind::refuse)
    require(std::string_view(describe(h->value)) != "something unknown", "a refusal says why");
}

void try_hello(ByteView bytes) {
  const auto hello = parse_hello(bytes);
  if (hello) require(equal(bytes_of(*hello), bytes), "a hello is what was read");
}

void try_ticket(ByteView bytes) {
  const auto ticket = parse_ticket(bytes);
  if (!ticket.ok()) return;
  require(equal(bytes_of(*ticket), bytes), "a ticket is what was read");
  require(ticket->address_bytes != 0 && ticket->address_bytes <= ticket->address.size(),
          "its address is in it");
  require(ticket->counters <= kCounters, "no endpoint has so many counters");
}

void try_summed_ticket(ByteView bytes) { try_ticket(with_sum<Ticket>(bytes)); }

void try_key(ByteView bytes) {
  const auto key = parse_key(bytes);
  if (!key.ok()) return;
  require(equal(bytes_of(*key), bytes), "a key is what was read");
  require(key->bytes > 0 && key->access <= 3 && key->base + key->bytes >= key->base,
          "a key is of some memory");
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
  return try_one_of(
      data, size,
      {try_message, try_hello, try_ticket, try_summed_ticket, try_key, try_summed_key, try_identity});
}
