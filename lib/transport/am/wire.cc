#include "transport/am/wire.h"

#include <algorithm>

namespace plait::transport::am {

namespace {

uint64_t sum_of_ticket(TicketHead head, ByteView address) {
  head.sum = sum_of(address);
  return sum_of(bytes_of(head));
}

// Text that may be printed, ended by a 0 and nothing behind it.
bool is_name(std::span<const char> text) noexcept {
  const auto end = std::ranges::find(text, '\0');
  return end != text.end() && std::all_of(text.begin(), end, [](char c) { return c > ' ' && c < 127; }) &&
         std::all_of(end, text.end(), [](char c) { return c == '\0'; });
}

bool fits(uint64_t offset, uint64_t bytes) noexcept {
  return bytes <= kMaxTransfer && in_bounds(offset, bytes, UINT64_MAX);
}
bool no_region(const Header& h) noexcept { return h.slot == 0 && h.nonce == 0 && h.offset == 0; }
bool no_signal(const Header& h) noexcept { return h.counter == 0 && h.add == 0; }
bool plain(const Header& h, size_t length) noexcept { return no_signal(h) && no_region(h) && length == 0; }

}  // namespace

Bytes to_bytes(Ticket ticket) {
  ticket.head.address_bytes = uint32_t(ticket.address.size());
  ticket.head.sum = sum_of_ticket(ticket.head, ticket.address);
  Bytes bytes;
  append(bytes, ticket.head);
  bytes.insert(bytes.end(), ticket.address.begin(), ticket.address.end());
  return bytes;
}

Result<Ticket> parse_ticket(ByteView view, const Maker& maker) {
  const std::string kind = "ticket of " + std::string(maker.title);
  Ticket ticket;
  TicketHead& head = ticket.head;
  const size_t bytes = view.size();
  if (!take(view, head) || view.size() > kAddressMost)
    return Status(Code::invalid, std::to_string(bytes) + " bytes are no " + kind);
  if (head.magic != maker.magic) return Status(Code::invalid, "not a " + kind);
  if (head.sum != sum_of_ticket(head, view)) return Status(Code::invalid, "a damaged " + kind);
  if (head.version != maker.version) {
    return Status(Code::version, "a " + kind + " of version " + std::to_string(head.version) + ", not " +
                                     std::to_string(maker.version) + ": all ranks must run the same plait");
  }
  if (head.zero != 0 || head.zero2 != 0 || head.counters > kCounters || head.address_bytes != view.size() ||
      view.empty() || head.endpoint == 0 || !is_name(head.host))
    return Status(Code::invalid, "a " + kind + " that makes no sense");
  ticket.address.assign(view.begin(), view.end());
  return ticket;
}

std::optional<Identity> parse_identity(ByteView bytes, const Maker& maker) noexcept {
  Identity i;
  if (!take(bytes, i) || !bytes.empty() || i.magic != maker.magic || i.version != maker.version ||
      i.zero != 0 || i.zero2 != 0)
    return std::nullopt;
  return i;
}

std::optional<Header> parse_header(ByteView bytes, size_t length) noexcept {
  Header h;
  if (!take(bytes, h) || !bytes.empty() || h.zero != 0 || h.to == 0) return std::nullopt;
  const Kind kind = Kind(h.kind);
  if (!counted(kind) && h.number != 0) return std::nullopt;
  const bool last = (h.flags & kLast) != 0;
  const bool flags_fit = h.flags <= (kind == Kind::put ? kLast | kAsked : kLast);
  bool good = false;
  switch (kind) {
    case Kind::put:
      good = (last || (no_signal(h) && length != 0)) && h.value == 0 &&
             (length == 0 ? no_region(h) : fits(h.offset, length));
      break;
    case Kind::get:
      good = h.flags == 0 && no_signal(h) && length == 0 &&
             (h.value == 0 ? no_region(h) : fits(h.offset, h.value));
      break;
    case Kind::data:
      good = no_signal(h) && no_region(h) && h.value == 0 && length >= sizeof kIntact &&
             (last || length > sizeof kIntact);
      break;
    case Kind::hello:
      good = h.flags == 0 && plain(h, length) && h.value != 0;
      break;
    case Kind::ack:
      good = h.flags == 0 && plain(h, length);
      break;
    case Kind::error:
      good = h.flags == 0 && plain(h, length) && h.value >= uint8_t(Refusal::nonsense) &&
             h.value <= uint8_t(Refusal::order);
      break;
    case Kind::goodbye:
      good = h.flags == 0 && plain(h, length) && h.value == 0;
      break;
  }
  return good && flags_fit ? std::optional(h) : std::nullopt;
}

}  // namespace plait::transport::am
