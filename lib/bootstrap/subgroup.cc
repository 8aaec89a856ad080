#include "bootstrap/subgroup.h"

#include "bootstrap/crypto.h"
#include "bootstrap/group_parts.h"

namespace plait::bootstrap {
namespace {

using CardNonce = std::array<std::byte, 16>;

constexpr size_t kMostJobName = 200;

// Names of subgroups of subgroups grow: the end tells more than the beginning.
std::string name_of(const std::string& job, const std::string& name) {
  std::string whole = job + "/" + name;
  if (whole.size() <= kMostJobName) return whole;
  return "..." + whole.substr(whole.size() - (kMostJobName - 3));
}

Result<Contact> contact_of(ByteView card, int32_t rank) {
  CardNonce nonce;
  Contact contact;
  if (take(card, nonce) && decode(card, contact)) return contact;
  return Status(Code::version,
                "rank " + std::to_string(rank) +
                    " said where it listens in a way that makes no sense: is it the same plait?");
}

// Alike on all ranks of the subgroup, and of no other: where it comes from, which one it is, what its ranks
// said.
Bytes context_of(const Self& parent, const Subgroup& what) {
  Bytes context;
  append(context, parent.job_hash);
  append(context, parent.epoch);
  append(context, what.number);
  append(context, uint32_t(what.cards.size()));
  for (const Bytes& card : what.cards) {
    append(context, uint32_t(card.size()));
    context.insert(context.end(), card.begin(), card.end());
  }
  return context;
}

Result<Self> self_of(const Self& parent, const Subgroup& what) {
  const Bytes context = context_of(parent, what);
  Self self;
  self.rank = what.rank;
  self.size = int32_t(what.cards.size());
  self.job = name_of(parent.job, what.name);
  self.job_hash = sha256(context);
  self.trusted.trust = parent.trusted.trust;
  if (parent.trusted.secret) self.trusted.secret = derived_secret(*parent.trusted.secret, context);
  PLAIT_TRY(random_bytes(std::as_writable_bytes(std::span(&self.instance, 1))));
  self.instance |= 1;  // never 0
  self.sources = parent.sources;
  self.met_before = true;
  return self;
}

}  // namespace

Invitation::Invitation(std::unique_ptr<Own> own, Bytes card) noexcept
    : own_(std::move(own)), card_(std::move(card)) {}
Invitation::Invitation(Invitation&&) noexcept = default;
Invitation::~Invitation() = default;

Result<Invitation> Group::invite(uint16_t port_min, uint16_t port_max) const {
  auto own = open_another(contact(rank()), port_min, port_max);
  if (!own.ok()) return own.status();
  CardNonce nonce;
  PLAIT_TRY(random_bytes(nonce));
  Bytes card;
  append(card, nonce);
  const Bytes contact = encode(own->contact);
  card.insert(card.end(), contact.begin(), contact.end());
  return Invitation(std::make_unique<Own>(std::move(*own)), std::move(card));
}

Result<std::unique_ptr<Group>> Group::subgroup(Invitation mine, const Subgroup& what, Watch watch,
                                               const transport::Bounds& bounds) const {
  std::vector<Contact> contacts;
  for (const Bytes& card : what.cards) {
    auto contact = contact_of(card, int32_t(contacts.size()));
    if (!contact.ok()) return contact.status();
    contacts.push_back(std::move(*contact));
  }
  // What is local to a host is not told: our own is as we know it.
  contacts.at(size_t(what.rank)) = mine.own_->contact;
  auto parts = std::make_unique<Parts>();
  auto self = self_of(parts_->self, what);
  if (!self.ok()) return self.status();
  parts->self = std::move(*self);
  PLAIT_TRY(parts->poller.open());
  PLAIT_TRY(parts->open(std::move(*mine.own_)));
  if (watch.look) parts->watched.emplace(parts->poller, std::move(watch));
  parts->tree->plan(std::move(contacts));
  PLAIT_TRY(parts->join(bounds));
  return std::unique_ptr<Group>(new Group(std::move(parts)));
}

void Group::unwatch() noexcept { parts_->watched.reset(); }

}  // namespace plait::bootstrap
