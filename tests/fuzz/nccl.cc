// What NCCL's network hears before it has a peer: handles, and the words of a connection's two sides.
#include <cstddef>

#include "fuzz.h"
#include "handle.h"
#include "transport/keys.h"
#include "words.h"

namespace plait::fuzz {
namespace {

using nccl::Handle;

void try_handle(ByteView bytes) {
  const auto handle = nccl::parse_handle(bytes);
  if (!handle.ok()) return;
  require(equal(bytes_of(*handle), bytes.first(sizeof *handle)), "a handle is what was read");
  require(handle->address_count >= 1 && handle->address_count <= nccl::kHandleAddresses,
          "its addresses are there");
  for (size_t i = 0; i < handle->address_count; i++) {
    const Address& a = handle->addresses[i];
    require(a.valid() && !a.any() && a.port != 0, "its addresses can be dialed");
  }
}

// Its sum made right: the rest is looked at.
void try_summed_handle(ByteView bytes) {
  Handle handle;
  if (!take(bytes, handle)) return;
  handle.sum = transport::sum_of(bytes_of(handle).first(offsetof(Handle, sum)));
  try_handle(bytes_of(handle));
}

bool inside(ByteView part, ByteView whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void try_offer(const nccl::Offer& offer, ByteView bytes) {
  require(inside(offer.identity, bytes) && inside(offer.ticket, bytes) && inside(offer.key, bytes),
          "an offer's parts lie in it");
  require(offer.network.size() <= nccl::kMostName && offer.name.size() <= nccl::kMostName, "names are short");
  require(is_printable(offer.network) && is_printable(offer.name), "names can be shown");
  nccl::Word again;
  const Bytes written = encode(offer);
  require(decode(written, again) && again.is_offer, "an offer can be written");
  require(again.offer.network == offer.network && again.offer.name == offer.name &&
              equal(again.offer.identity, offer.identity) && equal(again.offer.ticket, offer.ticket) &&
              equal(again.offer.key, offer.key),
          "an offer that is written is read alike");
}

void try_word(ByteView bytes) {
  nccl::Word word, again;
  if (!decode(bytes, word)) return;
  if (word.is_offer) return try_offer(word.offer, bytes);
  require(code_name(word.answer.code()) != "unknown status", "an answer's code is one of plait's");
  require(is_printable(word.answer.text()), "an answer can be shown");
  require(decode(nccl::encode_answer(word.answer), again) && !again.is_offer, "an answer can be written");
  require(again.answer.code() == word.answer.code() && again.answer.text() == word.answer.text(),
          "an answer that is written is read alike");
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  return try_one_of(data, size, {try_handle, try_summed_handle, try_word});
}
