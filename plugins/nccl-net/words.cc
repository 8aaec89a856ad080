#include "words.h"

#include <algorithm>

#include "base/text.h"
#include "runtime/rail_spec.h"

namespace plait::nccl {
namespace {

constexpr uint32_t kOffer = 0x10002, kAnswer = 0x20001;  // kind, version

// Behind it, in this order: what the sizes are of.
struct OfferHead {
  uint32_t kind = kOffer;
  uint32_t network = 0, name = 0, identity = 0, ticket = 0, key = 0;
  uint32_t rails = 0;  // a number
};
static_assert(sizeof(OfferHead) == 28);

// Behind it, of an error: its sentence.
struct AnswerHead {
  uint32_t kind = kAnswer;
  int32_t code = 0;
};

void append_bytes(Bytes& to, ByteView bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }
ByteView view_of(std::string_view text) noexcept { return std::as_bytes(std::span(text)); }

bool take_bytes(ByteView& from, uint32_t bytes, ByteView& to) noexcept {
  if (from.size() < bytes) return false;
  to = from.first(bytes);
  from = from.subspan(bytes);
  return true;
}

bool take_text(ByteView& from, uint32_t bytes, std::string& to) {
  ByteView text;
  if (bytes > kMostName || !take_bytes(from, bytes, text)) return false;
  to.assign(reinterpret_cast<const char*>(text.data()), text.size());
  make_printable(to);
  return true;
}

bool decode_offer(ByteView message, Offer& offer) {
  OfferHead head;
  if (!take(message, head) || head.rails < 1 || head.rails > runtime::kMostRails) return false;
  offer.rails = head.rails;
  return take_text(message, head.network, offer.network) && take_text(message, head.name, offer.name) &&
         take_bytes(message, head.identity, offer.identity) &&
         take_bytes(message, head.ticket, offer.ticket) && take_bytes(message, head.key, offer.key) &&
         message.empty();
}

bool decode_answer(ByteView message, Status& answer) {
  AnswerHead head;
  if (!take(message, head)) return false;
  answer = {};
  if (head.code == 0) return message.empty();
  if (message.size() > kMostName * 4) return false;
  std::string text(reinterpret_cast<const char*>(message.data()), message.size());
  make_printable(text);
  const bool known = head.code < 0 && head.code >= int32_t(Code::internal);
  answer = Status(known ? Code(head.code) : Code::internal, std::move(text));
  return true;
}

}  // namespace

Bytes encode(const Offer& offer) {
  const std::string_view network = std::string_view(offer.network).substr(0, kMostName),
                         name = std::string_view(offer.name).substr(0, kMostName);
  Bytes message;
  append(message,
         OfferHead{kOffer, uint32_t(network.size()), uint32_t(name.size()), uint32_t(offer.identity.size()),
                   uint32_t(offer.ticket.size()), uint32_t(offer.key.size()), offer.rails});
  append_bytes(message, view_of(network));
  append_bytes(message, view_of(name));
  append_bytes(message, offer.identity);
  append_bytes(message, offer.ticket);
  append_bytes(message, offer.key);
  return message;
}

Bytes encode_answer(const Status& status) {
  Bytes message;
  append(message, AnswerHead{kAnswer, int32_t(status.code())});
  if (!status.ok()) append_bytes(message, view_of(status.text().substr(0, kMostName * 4)));
  return message;
}

bool decode(ByteView message, Word& word) {
  ByteView view = message;
  uint32_t kind = 0;
  if (!take(view, kind)) return false;
  word.is_offer = kind == kOffer;
  if (word.is_offer) return decode_offer(message, word.offer);
  return kind == kAnswer && decode_answer(message, word.answer);
}

}  // namespace plait::nccl
