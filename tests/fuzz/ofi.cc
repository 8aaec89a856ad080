// What endpoints on libfabric read beside messages and tickets (am.cc): where a peer is, keys, and bells.
#include "fabric/bell_message.h"
#include "fuzz.h"
#include "transport/ofi/wire.h"

namespace plait::fuzz {
namespace {

using namespace transport::ofi;

void try_where(ByteView bytes) {
  ByteView address = bytes;
  const auto where = parse_where(address);
  if (!where) return;
  require(equal(bytes_of(*where), bytes.first(bytes.size() - address.size())), "a place is what was read");
  require(!address.empty() && address.size() <= kMostAddress, "its address is behind it");
}

void try_bell_message(ByteView bytes) {
  const auto message = fabric::parse_bell_message(bytes);
  if (message) require(equal(bytes_of(*message), bytes) && message->to != 0, "a bell is what was read");
}

void try_key(ByteView bytes) {
  const auto key = parse_key(bytes);
  if (!key.ok()) return;
  require(equal(bytes_of(*key), bytes), "a key is what was read");
  require(key->region.bytes > 0 && key->region.access <= 3 && key->base + key->region.bytes >= key->base,
          "a key is of some memory");
}

// Random bytes hardly ever have the sums that they should.
void try_summed_key(ByteView bytes) {
  Key key;
  if (!take(bytes, key) || !bytes.empty()) return;
  key.region.sum = transport::sum_of(key.region);
  key.sum = transport::sum_of(key);
  try_key(bytes_of(key));
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  return try_one_of(data, size, {try_where, try_key, try_summed_key, try_bell_message});
}
