// What ranks of a bootstrap say to each other once they proved who they are, and what comes back from a
// framework's allgather.
#include "bootstrap/messages.h"

#include "bootstrap/setup.h"
#include "fuzz.h"

namespace plait::fuzz {
namespace {

using namespace bootstrap;

void check_contact(const Contact& contact) {
  require(contact.host.size() <= 64 && is_printable(contact.host), "a host's name can be shown");
  require(contact.door.size() <= Place::kMostName, "a door's name fits a socket's");
  require(contact.addresses.size() <= 8, "a rank has at most 8 addresses");
  for (const Address& a : contact.addresses)
    require(a.valid() && a.port != 0 && to_socket(a).length > 0, "an address can be dialed");
  require(places_of(contact).size() <= 8, "a rank is reached at 8 places at most");
}

// What was decoded is written as long as it was, and is read as what was written.
template <class T>
void check_round_trip(const T& decoded, size_t size) {
  const Bytes written = encode(decoded);
  T again;
  require(written.size() == size, "a message has one form only");
  ByteView view = written;
  if constexpr (!std::is_same_v<T, Contact>)
    require(take_kind(view).has_value(), "a message begins with its kind");
  require(decode(view, again) && encode(again) == written, "a message that is written is read alike");
}

template <class T>
bool try_message(ByteView bytes, T& message) {
  if (!decode(bytes, message)) return false;
  check_round_trip(message, bytes.size() + 1);
  return true;
}

void try_hello(ByteView bytes) {
  Hello hello;
  if (try_message(bytes, hello)) check_contact(hello.contact);
}

void try_redirect(ByteView bytes) {
  Redirect redirect;
  if (try_message(bytes, redirect)) check_contact(redirect.contact);
}

void try_refusal(ByteView bytes) {
  Refusal refusal;
  if (!try_message(bytes, refusal)) return;
  require(!refusal.status.ok() && is_printable(refusal.status.text()), "a refusal says why");
  require(refusal.status.text().size() <= 4096, "a refusal is short");
}

void try_notice(ByteView bytes) {
  Notice notice;
  if (!try_message(bytes, notice)) return;
  require(notice.text.size() <= Notice::kMostText && is_printable(notice.text), "a notice can be shown");
}

void try_contact(ByteView bytes) {
  Contact contact;
  if (!decode(bytes, contact)) return;
  check_contact(contact);
  check_round_trip(contact, bytes.size());
}

void try_bundle(Input& input) {
  const int32_t size = 1 + input.number();
  const ByteView bytes = input.rest();
  Bundle bundle;
  if (!decode(bytes, size, bundle)) return;
  require(bundle.items.size() <= size_t(size), "no more contributions than ranks");
  std::vector<bool> seen(static_cast<size_t>(size));
  for (const Bundle::Item& item : bundle.items) {
    require(item.rank >= 0 && item.rank < size && !seen[size_t(item.rank)], "each rank contributes once");
    seen[size_t(item.rank)] = true;
  }
  require(equal(ByteView(encode(Kind::up, bundle)).subspan(1), bytes), "a bundle has one form only");
}

// What the framework's allgather gives back: honest cards of three ranks, with a few bytes changed.
void try_cards(Input& input) {
  Membership m;
  m.size = 3;
  m.allgather = [&](const void* mine, void* all, size_t bytes) {
    auto* out = static_cast<std::byte*>(all);
    for (uint8_t r = 0; r < 3; r++) {
      std::memcpy(out + r * bytes, mine, bytes);
      out[r * bytes + 16] = std::byte(r);  // the card's rank
    }
    while (!input.empty()) {
      const size_t at = input.number<uint16_t>() % (3 * bytes);
      const ByteView change = input.bytes(std::min<size_t>(input.number() % 64u, 3 * bytes - at));
      std::copy(change.begin(), change.end(), out + at);
    }
    return Status();
  };
  Contact mine;
  mine.host = "host";
  mine.addresses = {parse_ip("10.0.0.1")->with_port(7), parse_ip("fd00::1")->with_port(7)};
  SecretPtr secret;
  const auto contacts = exchange_cards(m, mine, secret);
  if (!contacts.ok()) return;
  require(contacts->size() == 3 && secret && secret->bytes().size() == Secret::kRandom,
          "all ranks, and a secret");
  for (const Contact& contact : *contacts) check_contact(contact);
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  return try_one_of(data, size,
                    {try_hello, try_redirect, try_refusal, try_notice, try_contact, try_bundle, try_cards});
}
