// What a rank hears from a peer that it connects to: offer and answer, ticket and keys of shared memory.
#include "fuzz.h"
#include "runtime/offer.h"
#include "transport/shm/wire.h"

namespace plait::fuzz {
namespace {

using namespace transport::shm;

void try_ticket(ByteView bytes) {
  const auto ticket = parse_ticket(bytes);
  if (ticket.ok()) require(equal(bytes_of(*ticket), bytes), "a ticket is what was read");
}

// Its sum made right: the rest is looked at.
void try_summed_ticket(ByteView bytes) {
  Ticket ticket;
  if (!take(bytes, ticket) || !bytes.empty()) return;
  ticket.sum = sum_of(ticket);
  try_ticket(bytes_of(ticket));
}

void try_key(ByteView bytes) {
  const auto key = parse_key(bytes);
  if (!key.ok()) return;
  require(equal(bytes_of(*key), bytes), "a key is what was read");
  require(key->kind <= 1 && key->access <= 3, "a key is of a kind of memory, for something");
}

bool inside(ByteView part, ByteView whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void try_offer(ByteView bytes) {
  runtime::Offer offer;
  if (!runtime::decode(bytes, offer)) return;
  require(inside(offer.ticket, bytes) && inside(offer.key, bytes) && inside(offer.probe, bytes),
          "an offer's parts lie in it");
  require(equal(runtime::encode(offer), bytes), "an offer is what was read");
  try_ticket(offer.ticket);
  try_key(offer.key);
  try_key(offer.probe);
}

void try_answer(ByteView bytes) {
  runtime::Answer answer, again;
  if (!runtime::decode(bytes, answer)) return;
  const std::string_view text = answer.status.text();
  require(code_name(answer.status.code()) != "unknown status", "an answer's code is one of plait's");
  require(text.size() <= runtime::Answer::kMostText && is_printable(text), "an answer can be shown");
  require(runtime::decode(runtime::encode(answer), again), "an answer can be written");
  require(again.can_pull == answer.can_pull && again.status.code() == answer.status.code() &&
              again.status.text() == text,
          "an answer that is written is read alike");
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  return try_one_of(data, size, {try_ticket, try_summed_ticket, try_key, try_offer, try_answer});
}
