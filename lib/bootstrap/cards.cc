// Meeting by the framework's own allgather: each rank hands in a card of one size.
#include <algorithm>
#include <array>

#include "bootstrap/messages.h"
#include "bootstrap/setup.h"

namespace plait::bootstrap {
namespace {

struct Card {
  std::array<char, 8> magic = {'P', 'L', 'A', 'I', 'T', 'c', 'd', '\n'};
  uint32_t version = kProtocol;
  int32_t size = 0, rank = 0;
  uint32_t has_secret = 0;  // of its own: then no other is made
  uint32_t contact_bytes = 0;
  std::array<std::byte, Secret::kRandom> secret{};  // rank 0's, fresh
  std::array<std::byte, 484> contact{};
};
static_assert(sizeof(Card) == 544);

Status judge(const Card& card, const Card& mine, int32_t rank) {
  const std::string who = "the allgather callback: what came for rank " + std::to_string(rank);
  if (card.magic != mine.magic) return {Code::mismatch, who + " is no card of plait's"};
  if (card.version != mine.version) {
    return {Code::version, who + " is of version " + std::to_string(card.version) + ", this rank of " +
                               std::to_string(mine.version) + ": all ranks must run the same plait"};
  }
  if (card.size != mine.size || card.rank != rank) {
    return {Code::mismatch, who + " is of rank " + std::to_string(card.rank) + " of " +
                                std::to_string(card.size) + "; this rank is " + std::to_string(mine.rank) +
                                " of " + std::to_string(mine.size)};
  }
  if (card.has_secret != mine.has_secret) {
    return {Code::auth, "rank " + std::to_string(card.has_secret != 0 ? rank : mine.rank) +
                            " has a secret file, rank " +
                            std::to_string(card.has_secret != 0 ? mine.rank : rank) +
                            " has none: give all ranks the same PLAIT_SECRET_FILE, or none"};
  }
  return {};
}

}  // namespace

Result<std::vector<Contact>> exchange_cards(const Membership& m, const Contact& mine, SecretPtr& secret) {
  Card card;
  card.size = m.size;
  card.rank = m.rank;
  card.has_secret = m.secret != nullptr;
  const Bytes contact = encode(mine);
  if (contact.size() > card.contact.size()) return Status(Code::internal, "a contact is too long");
  card.contact_bytes = uint32_t(contact.size());
  std::copy(contact.begin(), contact.end(), card.contact.begin());
  if (m.rank == 0 && !m.secret) PLAIT_TRY(random_bytes(card.secret));
  std::vector<Card> all(static_cast<size_t>(m.size));
  PLAIT_TRY(m.allgather(&card, all.data(), sizeof card));
  std::vector<Contact> contacts(all.size());
  for (size_t r = 0; r < all.size(); r++) {
    PLAIT_TRY(judge(all[r], card, int32_t(r)));
    const bool fits = all[r].contact_bytes <= all[r].contact.size();
    if (!fits || !decode(ByteView(all[r].contact).first(all[r].contact_bytes), contacts[r])) {
      return Status(Code::mismatch,
                    "the allgather callback: the card of rank " + std::to_string(r) + " makes no sense");
    }
  }
  if (!m.secret) secret = std::make_shared<const Secret>(all[0].secret);
  wipe(card.secret);
  for (Card& c : all) wipe(c.secret);
  return contacts;
}

}  // namespace plait::bootstrap
