#include "bootstrap/messages.h"

#include <algorithm>

#include "base/text.h"

namespace plait::bootstrap {
namespace {

constexpr size_t kMostHost = 64, kMostAddresses = 8, kMostReason = 4096;

Bytes begin(Kind kind) { return Bytes(1, std::byte(kind)); }

void append_text(Bytes& to, std::string_view text, size_t most) {
  text = text.substr(0, most);
  append(to, uint32_t(text.size()));
  const auto bytes = std::as_bytes(std::span(text));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

bool take_bytes(ByteView& from, ByteView& bytes, size_t most) {
  uint32_t length = 0;
  if (!take(from, length) || length > most || length > from.size()) return false;
  bytes = from.first(length);
  from = from.subspan(length);
  return true;
}

bool take_text(ByteView& from, std::string& text, size_t most) {
  ByteView bytes;
  if (!take_bytes(from, bytes, most)) return false;
  text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  make_printable(text);
  return true;
}

void append_contact(Bytes& to, const Contact& contact) {
  append_text(to, contact.host, kMostHost);
  append(to, contact.pid);
  append_text(to, contact.door, Place::kMostName);
  const size_t count = std::min(contact.addresses.size(), kMostAddresses);
  append(to, uint32_t(count));
  for (size_t i = 0; i < count; i++) {
    Address address = contact.addresses[i];
    address.scope = 0;  // means something on this host only
    append(to, address);
  }
}

bool take_contact(ByteView& from, Contact& contact) {
  uint32_t count = 0;
  if (!take_text(from, contact.host, kMostHost) || !take(from, contact.pid) ||
      !take_text(from, contact.door, Place::kMostName) || !take(from, count) || count > kMostAddresses)
    return false;
  contact.addresses.resize(count);
  for (Address& address : contact.addresses) {
    if (!take(from, address) || !address.valid() || address.port == 0) return false;
    address.scope = 0;
  }
  return true;
}

// Errors only; what is no code we know is a bug of the sender's.
Code code_of(int32_t number) {
  const bool known = number < 0 && number >= int32_t(Code::internal);
  return known ? Code(number) : Code::internal;
}

}  // namespace

std::optional<Kind> take_kind(ByteView& message) {
  uint8_t kind = 0;
  if (!take(message, kind) || kind < uint8_t(Kind::hello) || kind > uint8_t(Kind::say)) return std::nullopt;
  return Kind(kind);
}

Bytes encode(const Hello& hello) {
  Bytes to = begin(Kind::hello);
  append(to, hello.size);
  append(to, hello.instance);
  append(to, hello.meeting);
  append_contact(to, hello.contact);
  return to;
}

bool decode(ByteView from, Hello& hello) {
  return take(from, hello.size) && take(from, hello.instance) && take(from, hello.meeting) &&
         take_contact(from, hello.contact) && from.empty();
}

Bytes encode(const Redirect& redirect) {
  Bytes to = begin(Kind::redirect);
  append(to, redirect.rank);
  append_contact(to, redirect.contact);
  return to;
}

bool decode(ByteView from, Redirect& redirect) {
  return take(from, redirect.rank) && take_contact(from, redirect.contact) && from.empty();
}

Bytes encode(const Refusal& refusal) {
  Bytes to = begin(Kind::refuse);
  append(to, uint8_t(refusal.later));
  append(to, refusal.meeting);
  append(to, int32_t(refusal.status.code()));
  append_text(to, refusal.status.text(), kMostReason);
  return to;
}

bool decode(ByteView from, Refusal& refusal) {
  uint8_t later = 0;
  int32_t code = 0;
  std::string text;
  if (!take(from, later) || !take(from, refusal.meeting) || !take(from, code) ||
      !take_text(from, text, kMostReason) || !from.empty())
    return false;
  refusal.later = later != 0;
  refusal.status = Status(code_of(code), std::move(text));
  return true;
}

Bytes encode(const Notice& notice) {
  Bytes to = begin(Kind::notice);
  append(to, notice.kind);
  append(to, notice.origin);
  append(to, notice.culprit);
  append(to, notice.code);
  append(to, notice.number);
  append_text(to, notice.text, Notice::kMostText);
  return to;
}

bool decode(ByteView from, Notice& notice) {
  return take(from, notice.kind) && take(from, notice.origin) && take(from, notice.culprit) &&
         take(from, notice.code) && take(from, notice.number) &&
         take_text(from, notice.text, Notice::kMostText) && from.empty();
}

Bytes encode(Kind kind, const Bundle& bundle) {
  Bytes to = begin(kind);
  size_t bytes = 1 + 2 * sizeof(uint32_t);
  for (const Bundle::Item& item : bundle.items) bytes += 2 * sizeof(uint32_t) + item.bytes.size();
  to.reserve(bytes);
  append(to, bundle.round);
  append(to, uint32_t(bundle.items.size()));
  for (const Bundle::Item& item : bundle.items) {
    append(to, item.rank);
    append(to, uint32_t(item.bytes.size()));
    to.insert(to.end(), item.bytes.begin(), item.bytes.end());
  }
  return to;
}

bool decode(ByteView from, int32_t size, Bundle& bundle) {
  uint32_t count = 0;
  if (!take(from, bundle.round) || !take(from, count) || count > uint32_t(size)) return false;
  std::vector<bool> seen(static_cast<size_t>(size));
  for (uint32_t i = 0; i < count; i++) {
    Bundle::Item item{};
    if (!take(from, item.rank) || item.rank < 0 || item.rank >= size || seen[size_t(item.rank)] ||
        !take_bytes(from, item.bytes, from.size()))
      return false;
    seen[size_t(item.rank)] = true;
    bundle.items.push_back(item);
  }
  return from.empty();
}

Bytes plain(Kind kind) { return begin(kind); }

Bytes plain(Kind kind, uint64_t number) {
  Bytes to = begin(kind);
  append(to, number);
  return to;
}

Bytes plain(Kind kind, ByteView bytes) {
  Bytes to = begin(kind);
  to.insert(to.end(), bytes.begin(), bytes.end());
  return to;
}

Bytes encode(const Contact& contact) {
  Bytes to;
  append_contact(to, contact);
  return to;
}

bool decode(ByteView from, Contact& contact) { return take_contact(from, contact) && from.empty(); }

std::vector<Place> places_of(const Contact& contact) {
  if (!contact.door.empty()) return {Place{{}, contact.door}};
  std::vector<Place> places;
  for (const Address& address : contact.addresses) places.push_back({address, {}});
  return places;
}

}  // namespace plait::bootstrap
