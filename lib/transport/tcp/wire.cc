#include "transport/tcp/wire.h"

#include <sys/random.h>

#include <algorithm>
#include <cctype>

#include "base/hash.h"

namespace plait::transport::tcp {

namespace {

template <class T>
Result<T> parse_summed(ByteView view, std::string_view what) {
  T parsed;
  const size_t bytes = view.size();
  if (!take(view, parsed) || !view.empty())
    return Status(Code::invalid, std::to_string(bytes) + " bytes are no " + std::string(what) + " of TCP");
  if (parsed.magic != kMagic) return Status(Code::invalid, "not a " + std::string(what) + " of TCP");
  if (parsed.sum != sum_of(parsed))
    return Status(Code::invalid, "a damaged " + std::string(what) + " of TCP");
  if (parsed.version != kVersion) {
    return Status(Code::version, "a " + std::string(what) + " of version " + std::to_string(parsed.version) +
                                     ", not " + std::to_string(kVersion) +
                                     ": all ranks must run the same plait");
  }
  return parsed;
}

bool usable(const Address& address) noexcept {
  return address.valid() && address.port != 0 && address.scope == 0 && !address.any();
}

bool makes_sense(const Ticket& ticket) noexcept {
  const auto end = ticket.addresses.begin() + std::min<size_t>(ticket.address_count, kAddresses);
  return ticket.zero == 0 && ticket.zero2 == 0 && ticket.counters <= kCounters && ticket.address_count >= 1 &&
         ticket.address_count <= kAddresses && std::all_of(ticket.addresses.begin(), end, usable) &&
         std::all_of(end, ticket.addresses.end(), [](const Address& a) { return a == Address(); });
}

// Text that may be printed, ended by a 0.
bool is_name(std::span<const char> text) noexcept {
  const auto end = std::ranges::find(text, '\0');
  return end != text.end() && std::all_of(text.begin(), end, [](char c) { return c > ' ' && c < 127; });
}

}  // namespace

bool same_token(const Token& a, const Token& b) noexcept { return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0; }

Token random_token() noexcept {
  Token token{};
  while (getrandom(&token, sizeof token, 0) != ssize_t(sizeof token)) {
  }
  return token;
}

uint64_t random_word() noexcept {
  uint64_t word = 0;
  while (word == 0) word = random_token()[0];
  return word;
}

uint8_t family_of(const Address& address) noexcept {
  if (address.family == 4) return address.loopback() ? kLoopback4 : kIp4;
  return address.loopback() ? kLoopback6 : kIp6;
}

uint64_t sum_of(ByteView bytes) noexcept { return fnv1a(bytes); }

Result<Ticket> parse_ticket(ByteView bytes) {
  auto ticket = parse_summed<Ticket>(bytes, "ticket");
  if (ticket.ok() && !makes_sense(*ticket))
    return Status(Code::invalid, "a ticket of TCP that makes no sense");
  return ticket;
}

Result<Key> parse_key(ByteView bytes) {
  auto key = parse_summed<Key>(bytes, "key");
  if (key.ok() &&
      (key->zero != 0 || key->zero2 != 0 || key->access > uint8_t(Access::both) || key->bytes == 0))
    return Status(Code::invalid, "a key of TCP that makes no sense");
  return key;
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
