#include "transport/ofi/wire.h"

#include <algorithm>

namespace plait::transport::ofi {
namespace {

template <class T>
Result<T> parse_summed(ByteView view, const std::string& what) {
  T parsed;
  const size_t bytes = view.size();
  if (!take(view, parsed) || !view.empty() || parsed.magic != kMagic)
    return Status(Code::invalid,
                  std::to_string(bytes) + " bytes that are no " + what + " of libfabric endpoints");
  if (parsed.sum != sum_of(parsed)) return Status(Code::invalid, "ofi: a damaged " + what);
  if (parsed.version != kVersion) {
    return Status(Code::version, "ofi: a " + what + " of version " + std::to_string(parsed.version) +
                                     ", not " + std::to_string(kVersion) +
                                     ": all ranks must run the same plait");
  }
  return parsed;
}

bool is_mode(uint8_t mode) noexcept {
  return mode == uint8_t(Mode::direct) || mode == uint8_t(Mode::messages);
}

bool makes_sense(const Header& h) noexcept {
  const bool puts = h.kind == Kind::put, gets = h.kind == Kind::get;
  if (h.zero != 0 || h.wants_ack > 1 || (h.wants_ack != 0 && !puts) || (!puts && (h.counter | h.add) != 0))
    return false;
  if (!puts && !gets && (h.slot != 0 || (h.nonce | h.offset) != 0)) return false;
  if (!puts && h.kind != Kind::data && h.length != 0) return false;
  if (h.offset + std::max<uint64_t>(h.length, gets ? h.value : 0) < h.offset) return false;
  switch (h.kind) {
    case Kind::put:
      return h.value == 0 && h.counter < kCounters;
    case Kind::get:
      return h.value != 0 && h.value <= kMaxTransfer;
    case Kind::data:
      return h.value == 0 && h.length != 0;
    case Kind::ack:
      return h.value != 0;
    case Kind::refuse:
      return h.value >= uint64_t(Refusal::region) && h.value <= uint64_t(Refusal::order);
  }
  return false;
}

}  // namespace

const char* describe(uint64_t refusal) noexcept {
  switch (Refusal(refusal)) {
    case Refusal::region:
      return "a transfer to or from a region that is not there any more, or never was";
    case Refusal::bounds:
      return "a transfer beyond the end of a region";
    case Refusal::rights:
      return "a transfer that the region's rights do not allow";
    case Refusal::counter:
      return "a signal on a counter that the endpoint does not have";
    case Refusal::order:
      return "a message that cannot come now: some were lost on the way, or the provider connected anew in "
             "between";
  }
  return "something unknown";
}

Result<Ticket> parse_ticket(ByteView bytes) {
  auto t = parse_summed<Ticket>(bytes, "ticket");
  if (t.ok() && (!is_mode(t->mode) || t->counters > kCounters || t->address_bytes == 0 ||
                 t->address_bytes > t->address.size()))
    return Status(Code::invalid, "ofi: a ticket that makes no sense");
  return t;
}

Result<Key> parse_key(ByteView bytes) {
  auto k = parse_summed<Key>(bytes, "key");
  if (k.ok() && (k->zero != 0 || k->zero2 != 0 || k->access > uint8_t(Access::both) || k->bytes == 0 ||
                 k->base + k->bytes < k->bytes))
    return Status(Code::invalid, "ofi: a key that makes no sense");
  return k;
}

std::optional<Identity> parse_identity(ByteView bytes) noexcept {
  Identity i;
  if (!take(bytes, i) || !bytes.empty() || i.magic != kMagic || i.version != kVersion || !is_mode(i.mode) ||
      i.zero != 0 || i.zero2 != 0)
    return std::nullopt;
  return i;
}

std::optional<Hello> parse_hello(ByteView bytes) noexcept {
  Hello h;
  if (!take(bytes, h) || !bytes.empty() || h.magic != kMagic || h.version != kVersion || h.zero != 0)
    return std::nullopt;
  return h;
}

std::optional<Header> parse_header(ByteView message) noexcept {
  Header h;
  if (!take(message, h) || !makes_sense(h) || message.size() != h.length) return std::nullopt;
  return h;
}

}  // namespace plait::transport::ofi
