#include <algorithm>

#include "base/log.h"
#include "bootstrap/group_parts.h"

namespace plait::bootstrap {
namespace {

using transport::Bounds;

constexpr int64_t kGraceMs = 500;       // rank 0 knows best who is missing: it gets a moment to say so
constexpr int64_t kFlushMs = 200;       // for last words
constexpr int64_t kLatecomersMs = 500;  // those who are about to dial hear why, too
constexpr int64_t kResolveAgainMs = 3'000;
constexpr int kResolveMs = 5'000;  // for one name: the next may do
constexpr int kLookMs = 50;        // the abort flag and the clock are looked at that often

}  // namespace

// Everything that can fail for reasons of this rank's own.
Status Group::Parts::open(const Bounds& bounds) {
  PLAIT_TRY(check(membership));
  PLAIT_TRY(poller.open());
  if (!membership.root.empty() && !membership.allgather) {
    auto parsed = parse_host_ports(membership.root);
    if (!parsed.ok()) return parsed.status();
    root = std::move(*parsed);
  }
  auto own = open_own(membership, loopback_of(root));
  if (!own.ok()) return own.status();
  std::vector<Contact> contacts;
  if (membership.allgather) {
    auto cards = exchange_cards(membership, own->contact, membership.secret);
    if (!cards.ok()) return cards.status();
    contacts = std::move(*cards);
  }
  auto made = self_of(membership);
  if (!made.ok()) return made.status();
  self = std::move(*made);
  if (self.trusted.trust == Trust::insecure) {
    log::warn(
        "bootstrap of job \"{}\": no secret (PLAIT_INSECURE=1): whoever reaches this rank's ports can join "
        "the job "
        "or forge its messages",
        self.job);
  }
  PLAIT_TRY(open(std::move(*own)));
  if (membership.allgather) {
    tree->plan(std::move(contacts));
    return {};
  }
  if (self.rank == 0 && self.size > 1) {
    auto known = open_known(membership, root, bounds);
    if (!known.ok()) return known.status();
    for (Fd& fd : *known) PLAIT_TRY(door->open(std::move(fd), true));
  }
  if (root.empty()) {
    tree->seek({meeting_place(membership)});
  } else {
    tree->seek({});
  }
  return {};
}

// The door, and what is behind it.
Status Group::Parts::open(Own own) {
  door.emplace(self, poller);
  PLAIT_TRY(door->open(std::move(own.listener), false));
  tree.emplace(self, poller, *door, std::move(own.contact), own.port);
  meetings.emplace(self, poller, *door);
  return {};
}

// Where rank 0 is, by name: again and again, as a name may be known later than a rank starts.
Status Group::Parts::find_root(const Bounds& bounds) {
  Status why;
  std::vector<Place> places;
  for (const HostPort& at : root) {
    const Bounds soon{Deadline::in_ms(bounds.deadline.left_ms(kResolveMs)), bounds.abort};
    auto found = resolve(at.host, at.port, soon);
    if (!found.ok()) {
      if (found.status().code() == Code::aborted) return found.status();
      why = found.status();
      continue;
    }
    for (const Address& address : *found) places.push_back({address, {}});
  }
  if (places.empty()) return why;
  tree->seek_again(std::move(places));
  return {};
}

void Group::Parts::step(int ms) {
  poller.wait(ms);
  door->poll();
  while (auto arrival = door->next()) {
    if (arrival->purpose() == Purpose::tree) {
      tree->arrive(std::move(*arrival));
    } else {
      meetings->arrive(std::move(*arrival));
    }
  }
  tree->poll();
  meetings->poll();
}

// One round of a wait: moves what can move, and says when the wait is over for a bad reason.
Status Group::Parts::settle(const Bounds& bounds) {
  step(std::min({kLookMs, bounds.deadline.left_ms(kLookMs), tree->idle_ms()}));
  if (!tree->failed().ok()) return tree->failed();
  if (watched) {
    if (Status status = watched->look(); !status.ok()) tree->fail(status);
  }
  if (bounds.aborted()) {
    tree->fail(
        {Code::aborted, "job \"" + self.job + "\": rank " + std::to_string(self.rank) + " was aborted"});
  } else if (bounds.deadline.passed()) {
    tree->fail(tree->missing());
  }
  return tree->failed();
}

void Group::Parts::flush(int64_t ms) {
  const Deadline deadline = Deadline::in_ms(ms);
  while (!(tree->all_flushed() && door->all_flushed()) && !deadline.passed()) step(1);
}

namespace {

Bounds with_grace(const Bounds& bounds) {
  return {Deadline::in_ms(bounds.deadline.left_ms(1'000'000'000) + kGraceMs), bounds.abort};
}

}  // namespace

Status Group::Parts::join(const Bounds& bounds) {
  const Bounds late = with_grace(bounds);
  const bool by_name = !root.empty() && self.rank != 0;
  Deadline again = Deadline::in_ms(0);
  Status unknown;
  step(0);
  while (!tree->joined()) {
    if (by_name && !tree->has_parent() && again.passed()) {
      unknown = find_root(bounds);
      again = Deadline::in_ms(unknown.ok() ? kResolveAgainMs : 200);
    }
    Status status = settle(self.rank != 0 && tree->has_parent() ? late : bounds);
    if (status.ok() || tree->joined()) continue;  // a loss right after joining is news for later
    if (!unknown.ok() && status.code() == Code::timeout)
      status = Status(Code::timeout, std::string(unknown.text()));
    const Deadline latecomers = Deadline::in_ms(status.code() == Code::timeout ? 0 : kLatecomersMs);
    while (self.rank == 0 && !latecomers.passed()) step(10);
    flush(kFlushMs);
    return status;
  }
  door->close_known();
  return {};
}

Result<std::unique_ptr<Group>> Group::join(const Membership& membership, const Bounds& bounds) {
  auto parts = std::make_unique<Parts>();
  parts->membership = membership;
  PLAIT_TRY(parts->open(bounds));
  PLAIT_TRY(parts->join(bounds));
  return std::unique_ptr<Group>(new Group(std::move(parts)));
}

Group::Group(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
Group::~Group() { parts_->flush(kFlushMs); }

int Group::rank() const noexcept { return parts_->self.rank; }
int Group::size() const noexcept { return parts_->self.size; }
const Contact& Group::contact(int rank) const { return parts_->tree->contacts()[size_t(rank)]; }

Result<std::vector<Bytes>> Group::allgather(ByteView mine, const Bounds& bounds) {
  Tree& tree = *parts_->tree;
  if (!tree.failed().ok()) return tree.failed();
  if (mine.size() > kMostExchange) {
    tree.fail({Code::invalid, "rank " + std::to_string(rank()) + " gives " + std::to_string(mine.size()) +
                                  " bytes to an exchange; " + std::to_string(kMostExchange) +
                                  " are the most in all"});
    parts_->flush(kFlushMs);
    return tree.failed();
  }
  tree.begin(mine);
  const Bounds late = rank() == 0 ? bounds : with_grace(bounds);
  for (;;) {
    if (auto all = tree.finished()) return std::move(*all);
    Status status = parts_->settle(late);
    if (status.ok()) continue;
    if (auto all = tree.finished()) return std::move(*all);  // it came before the bad news
    parts_->flush(kFlushMs);
    return status;
  }
}

void Group::begin(ByteView mine) { parts_->tree->begin(mine); }
std::optional<std::vector<Bytes>> Group::finished() { return parts_->tree->finished(); }
const Status& Group::failed() const noexcept { return parts_->tree->failed(); }
Status Group::missing() const { return parts_->tree->missing(); }

void Group::poll() { parts_->step(0); }
int Group::wait_fd() const noexcept { return parts_->poller.fd(); }
std::optional<Key> Group::derived_key(std::string_view label) const {
  const Self& self = parts_->self;
  if (!self.trusted.secret || self.trusted.trust != Trust::secret) return std::nullopt;
  Bytes salt;
  append(salt, self.job_hash);
  append(salt, self.epoch);
  return derive(self.trusted.secret->bytes(), salt, label);
}

void Group::tell(const Notice& notice) { parts_->tree->tell(notice); }
std::optional<Notice> Group::heard() { return parts_->tree->heard(); }
void Group::leave() { parts_->tree->leave(); }
bool Group::all_left() const noexcept { return parts_->tree->all_left(); }
std::vector<int> Group::visitors() const { return parts_->meetings->visitors(); }

std::unique_ptr<Meeting> Group::meet(int rank) { return parts_->meetings->meet(rank, contact(rank)); }

}  // namespace plait::bootstrap
