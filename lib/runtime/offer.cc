#include "runtime/offer.h"

#include "base/text.h"

namespace plait::runtime {
namespace {

// Behind it: ticket, key, probe key.
struct OfferHead {
  uint16_t way = 0, rings = 0;
  uint32_t ticket_bytes = 0, key_bytes = 0, probe_bytes = 0;
  uint64_t mail = 0, board = 0;
};
static_assert(sizeof(OfferHead) == 32);

// Behind it, of an error: its sentence.
struct AnswerHead {
  int32_t code = 0;
  uint32_t can_pull = 0;
};
static_assert(sizeof(AnswerHead) == 8);

void append_bytes(Bytes& to, ByteView bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

// What is no code we know is a bug of the sender's.
Code code_of(int32_t number) {
  return number < 0 && number >= int32_t(Code::internal) ? Code(number) : Code::internal;
}

}  // namespace

Bytes encode(const Offer& offer) {
  OfferHead head;
  head.way = offer.way;
  head.ticket_bytes = uint32_t(offer.ticket.size());
  head.key_bytes = uint32_t(offer.key.size());
  head.probe_bytes = uint32_t(offer.probe.size());
  head.mail = offer.mail;
  head.board = offer.board;
  head.rings = offer.rings;
  Bytes message;
  append(message, head);
  append_bytes(message, offer.ticket);
  append_bytes(message, offer.key);
  append_bytes(message, offer.probe);
  return message;
}

bool decode(ByteView message, Offer& offer) {
  OfferHead head;
  if (!take(message, head)) return false;
  if (message.size() != uint64_t(head.ticket_bytes) + head.key_bytes + head.probe_bytes) return false;
  offer.way = head.way;
  offer.ticket = message.first(head.ticket_bytes);
  offer.key = message.subspan(head.ticket_bytes, head.key_bytes);
  offer.probe = message.last(head.probe_bytes);
  offer.mail = head.mail;
  offer.board = head.board;
  offer.rings = head.rings;
  return true;
}

Bytes encode(const Answer& answer) {
  Bytes message;
  append(message, AnswerHead{int32_t(answer.status.code()), answer.can_pull});
  if (!answer.status.ok())
    append_bytes(message, std::as_bytes(std::span(answer.status.text().substr(0, Answer::kMostText))));
  return message;
}

bool decode(ByteView message, Answer& answer) {
  AnswerHead head;
  if (!take(message, head)) return false;
  answer.can_pull = head.can_pull == 1;
  answer.status = {};
  if (head.code == 0) return true;
  std::string text(reinterpret_cast<const char*>(message.data()),
                   std::min(message.size(), Answer::kMostText));
  make_printable(text);
  answer.status = Status(code_of(head.code), std::move(text));
  return true;
}

}  // namespace plait::runtime
