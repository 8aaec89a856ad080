#include "transport/verbs/wire.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/hash.h"

namespace plait::transport::verbs {

namespace {

constexpr uint32_t k24Bits = (1U << 24) - 1;
constexpr uint8_t kSmallestMtu = 1, kLargestMtu = 5;  // 256 and 4096 bytes

template <class T>
Result<T> parse_summed(ByteView view, std::string_view what) {
  T parsed;
  const size_t bytes = view.size();
  if (!take(view, parsed) || !view.empty())
    return Status(Code::invalid, std::to_string(bytes) + " bytes are no " + std::string(what) + " of verbs");
  if (parsed.magic != kMagic) return Status(Code::invalid, "not a " + std::string(what) + " of verbs");
  if (parsed.sum != sum_of(parsed))
    return Status(Code::invalid, "a damaged " + std::string(what) + " of verbs");
  if (parsed.version != kVersion) {
    return Status(Code::version, "a " + std::string(what) + " of version " + std::to_string(parsed.version) +
                                     ", not " + std::to_string(kVersion) +
                                     ": all ranks must run the same plait");
  }
  return parsed;
}

bool known(Link link) noexcept { return link >= Link::infiniband && link <= Link::roce2; }

bool makes_sense(const Ticket& t) noexcept {
  return known(t.link) && t.mtu >= kSmallestMtu && t.mtu <= kLargestMtu && t.queue_pair > 1 &&
         t.queue_pair <= k24Bits && t.packet <= k24Bits && t.slot < kSlots && t.counters <= kCounters &&
         t.signals >= 1 && t.reads >= 1 && t.zero == 0 && t.zero2 == 0 && t.gid != Gid{};
}

}  // namespace

uint64_t sum_of(ByteView bytes) noexcept { return fnv1a(bytes); }

bool is_ip4(const Gid& gid) noexcept {
  constexpr std::array<uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kMapped.begin(), kMapped.end(), gid.begin());
}

std::string to_string(const Gid& gid) {
  char text[INET6_ADDRSTRLEN] = "";
  const bool ip4 = is_ip4(gid);
  inet_ntop(ip4 ? AF_INET : AF_INET6, gid.data() + (ip4 ? 12 : 0), text, sizeof text);
  return text;
}

Result<Ticket> parse_ticket(ByteView bytes) {
  auto ticket = parse_summed<Ticket>(bytes, "ticket");
  if (ticket.ok() && !makes_sense(*ticket))
    return Status(Code::invalid, "a ticket of verbs that makes no sense");
  return ticket;
}

Result<Key> parse_key(ByteView bytes) {
  auto key = parse_summed<Key>(bytes, "key");
  if (key.ok() && (key->zero != 0 || key->zero2 != 0 || key->access > uint8_t(Access::both) ||
                   key->bytes == 0 || key->address + key->bytes < key->address))
    return Status(Code::invalid, "a key of verbs that makes no sense");
  return key;
}

std::optional<Identity> parse_identity(ByteView bytes) noexcept {
  Identity identity;
  if (!take(bytes, identity) || !bytes.empty() || identity.magic != kMagic || identity.version != kVersion ||
      !known(identity.link))
    return std::nullopt;
  return identity;
}

}  // namespace plait::transport::verbs
