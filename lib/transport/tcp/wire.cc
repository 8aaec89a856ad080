#include "transport/tcp/wire.h"

#include <algorithm>
#include <cctype>

namespace plait::transport::tcp {

namespace {

bool usable(const Address& address) noexcept {
  return address.valid() && address.port != 0 && address.scope == 0 && !address.any();
}

bool makes_sense(const Ticket& ticket) noexcept {
  const auto end = ticket.addresses.begin() + std::min<size_t>(ticket.address_count, kAddresses);
  return ticket.bulk_lanes >= 1 && ticket.bulk_lanes <= kBulkMost && ticket.tls <= 1 &&
         ticket.counters <= kCounters && ticket.address_count >= 1 && ticket.address_count <= kAddresses &&
         std::all_of(ticket.addresses.begin(), end, usable) &&
         std::all_of(end, ticket.addresses.end(), [](const Address& a) { return a == Address(); });
}

// Text that may be printed, ended by a 0.
bool is_name(std::span<const char> text) noexcept {
  const auto end = std::ranges::find(text, '\0');
  return end != text.end() && std::all_of(text.begin(), end, [](char c) { return c > ' ' && c < 127; });
}

}  // namespace

uint8_t family_of(const Address& address) noexcept {
  if (address.family == 4) return address.loopback() ? kLoopback4 : kIp4;
  return address.loopback() ? kLoopback6 : kIp6;
}

Result<Ticket> parse_ticket(ByteView bytes) {
  auto ticket = parse_summed<Ticket>(bytes, kMaker, "ticket");
  if (ticket.ok() && !makes_sense(*ticket))
    return Status(Code::invalid, "a ticket of TCP that makes no sense");
  return ticket;
}

std::optional<Identity> parse_identity(ByteView bytes) noexcept {
  Identity identity;
  if (!take(bytes, identity) || !bytes.empty() || identity.magic != kMagic || identity.version != kVersion ||
      identity.zero != 0)
    return std::nullopt;
  return identity;
}

std::optional<Hello> parse_hello(ByteView bytes) noexcept {
  Hello hello;
  if (!take(bytes, hello) || !bytes.empty() || hello.magic != kMagic || hello.version != kVersion)
    return std::nullopt;
  if (hello.kind < uint8_t(HelloKind::hello) || hello.kind > uint8_t(HelloKind::refusal) ||
      hello.lane >= kLanes || hello.zero != 0 || !is_name(hello.host))
    return std::nullopt;
  return hello;
}

std::string sender_of(const Hello& hello) {
  return "host " + std::string(hello.host.data()) + ", process " + std::to_string(hello.pid);
}

}  // namespace plait::transport::tcp
