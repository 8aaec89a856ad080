// Joining: finding a parent, keeping or sending on those who look for one.
#include <algorithm>

#include "base/log.h"
#include "bootstrap/tree.h"

namespace plait::bootstrap {
namespace {

constexpr int kMostHops = 64;  // more redirections than any tree is deep
constexpr int kRoundsElsewhere =
    8;  // then rank 0 is asked again: perhaps that rank is gone, and rank 0 knows why

int32_t planned_parent(int32_t rank) { return (rank - 1) / Group::kChildren; }

// "rank 2", "ranks 2, 3": at most 8 by number.
std::string ranks_text(const std::vector<int32_t>& ranks) {
  constexpr size_t kNamed = 8;
  std::string text;
  for (size_t i = 0; i < std::min(ranks.size(), kNamed); i++) {
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  }
  if (ranks.size() > kNamed) text += " and " + std::to_string(ranks.size() - kNamed) + " more";
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

// Addresses by which others may reach this rank: how it was reached or reached others, then its interfaces'.
// Loopback says nothing to other hosts, so it only stands where there is nothing else.
void add_addresses(Contact& contact, const std::vector<Address>& used, uint16_t port) {
  std::vector<Address> all;
  for (const Address& address : used) {
    if (address.valid() && !address.loopback()) all.push_back(address.with_port(port));
  }
  for (const Address& address : contact.addresses) {
    if (std::find(all.begin(), all.end(), address) == all.end()) all.push_back(address);
  }
  contact.addresses = std::move(all);
}

// What it says of itself and, where that differs, how it is seen from here.
std::string described(const Arrival& arrival) {
  const std::string process = "process " + std::to_string(arrival.hello.contact.pid);
  const std::string says = "host " + arrival.hello.contact.host + ", " + process;
  return arrival.link->who() == process + " of this host" ? says : says + ", " + arrival.link->who();
}

}  // namespace

void Tree::seek(std::vector<Place> root) {
  root_ = std::move(root);
  target_.rank = 0;
  seen_[size_t(self_.rank)].instance = self_.instance;
}

void Tree::seek_again(std::vector<Place> root) {
  if (root_ == root || planned_) return;
  root_ = std::move(root);
  if (dialer_ && target_.rank == 0) dialer_.reset();
}

void Tree::plan(std::vector<Contact> contacts) {
  planned_ = true;
  mine_ = contacts[size_t(self_.rank)];
  seen_[size_t(self_.rank)].instance = self_.instance;
  if (self_.rank == 0) return;
  target_.rank = planned_parent(self_.rank);
  target_.contact = contacts[size_t(target_.rank)];
  root_ = places_of(target_.contact);
}

// Rank 0 says where it is last of all, as only then it is known at which addresses it can be reached.
void Tree::introduce_root() {
  if (begun_ || arrived_ < self_.size - 1 || !failed_.ok()) return;
  if (!planned_ && mine_.door.empty()) add_addresses(mine_, door_.reached(), port_);
  begin(encode(mine_));
}

// One step towards a parent.
void Tree::climb() {
  if (parent_.link) return;
  if (target_.link) {
    if (const auto message = target_.link->receive()) {
      hear_answer(*message);
    } else if (target_.link->state() == Link::State::closed) {
      restart(Status(target_.link->status()));
    }
    return;
  }
  if (!dialer_) {
    const bool first = target_.rank == 0 || planned_;
    const int64_t delay_ms = restarts_ == 0 ? 0 : std::min(250, 5 << std::min(restarts_, 6));
    dialer_.emplace(self_, poller_, self_.claim(target_.rank, Purpose::tree),
                    first ? root_ : places_of(target_.contact), first ? delay_ms : 0);
  }
  if (auto link = dialer_->poll()) {
    dialer_.reset();
    ask(std::move(link));
  } else if (dialer_->hopeless()) {
    fail({dialer_->why().code(), "joining job \"" + self_.job + "\" as rank " + std::to_string(self_.rank) +
                                     ": " + std::string(dialer_->why().text())});
  } else if (target_.rank != 0 && !planned_ && dialer_->rounds() >= kRoundsElsewhere) {
    restart(Status(dialer_->why()));
  }
}

int Tree::idle_ms() const noexcept {
  if (dialer_) return dialer_->idle_ms();
  const bool at_rest = self_.rank == 0 || joined() || parent_.link || target_.link || !failed_.ok();
  return at_rest ? 100 : 0;
}

void Tree::ask(std::unique_ptr<Link> link) {
  if (!planned_ && mine_.door.empty()) add_addresses(mine_, {link->local()}, port_);
  Hello hello;
  hello.size = self_.size;
  hello.instance = self_.instance;
  hello.contact = mine_;
  link->send(encode(hello));
  target_.link = std::move(link);
}

void Tree::hear_answer(ByteView message) {
  const auto kind = take_kind(message);
  Redirect redirect;
  Refusal refusal;
  if (kind == Kind::welcome && message.empty()) {
    parent_ = std::move(target_);
    parent_.link->limit(kMostFrame);
    begin(encode(mine_));
  } else if (kind == Kind::redirect && decode(message, redirect)) {
    follow(redirect);
  } else if (kind == Kind::refuse && decode(message, refusal)) {
    if (!refusal.later) return fail(refusal.status);
    restart(refusal.status);
  } else {
    restart({Code::internal,
             "rank " + std::to_string(target_.rank) + " answered with a message that makes no sense"});
  }
}

void Tree::follow(const Redirect& redirect) {
  const bool sound =
      redirect.rank > 0 && redirect.rank < self_.size && redirect.rank != self_.rank && !planned_;
  if (!sound || ++hops_ > kMostHops)
    return restart({Code::internal, "it was sent on to a rank that makes no sense"});
  door_.let_go(std::move(target_.link));
  target_ = Neighbour();
  target_.rank = redirect.rank;
  target_.contact = redirect.contact;
}

// Back to where everybody begins, after a pause.
void Tree::restart(const Status& why) {
  refused_ = Status(why.code(), "rank " + std::to_string(target_.rank) + ": " + std::string(why.text()));
  restarts_++;
  hops_ = 0;
  target_.link.reset();
  dialer_.reset();
  if (planned_) return;
  target_ = Neighbour();
  target_.rank = 0;
}

void Tree::arrive(Arrival arrival) {
  const int32_t rank = arrival.rank();
  if (Status no = objection(arrival); !no.ok()) {
    if (no.code() == Code::mismatch && failed_.ok()) {
      mismatch_ = std::string(no.text());
      log::warn("bootstrap of job \"{}\": refused a rank: {}", self_.job, no.text());
    }
    return door_.refuse(std::move(arrival.link), {false, 0, no});
  }
  Seen& seen = seen_[size_t(rank)];
  seen.instance = arrival.hello.instance;
  seen.who = described(arrival);
  if (child(rank) != nullptr || (seen.sent_to < 0 && children_.size() < size_t(Group::kChildren))) {
    adopt(std::move(arrival));
  } else {
    if (seen.sent_to < 0) seen.sent_to = children_[next_child_++ % children_.size()].rank;
    redirect(std::move(arrival), seen.sent_to);
  }
}

// Why a rank that knows the secret may not join all the same.
Status Tree::objection(const Arrival& arrival) const {
  const int32_t rank = arrival.rank();
  const std::string who = "rank " + std::to_string(rank) + " (" + described(arrival) + ")";
  if (!failed_.ok()) return failed_;
  if (arrival.hello.size != self_.size) {
    return {Code::mismatch, who + " says the job has " + std::to_string(arrival.hello.size) +
                                " ranks, rank " + std::to_string(self_.rank) + " says " +
                                std::to_string(self_.size)};
  }
  if (rank >= self_.size) return {Code::mismatch, who + " is out of range"};
  const Seen& seen = seen_[size_t(rank)];
  if (seen.instance != 0 && seen.instance != arrival.hello.instance) {
    return {Code::mismatch, "rank " + std::to_string(rank) +
                                " came twice: " + (rank == self_.rank ? "this one" : seen.who) + ", and " +
                                described(arrival) + ": two processes were given the same rank"};
  }
  if (joined()) return {Code::mismatch, who + " came when all ranks of job \"" + self_.job + "\" had met"};
  if (planned_ && planned_parent(rank) != self_.rank) return {Code::mismatch, who + " does not belong here"};
  return {};
}

Tree::Neighbour* Tree::child(int32_t rank) {
  for (Neighbour& child : children_) {
    if (child.rank == rank) return &child;
  }
  return nullptr;
}

void Tree::adopt(Arrival arrival) {
  Neighbour* place = child(arrival.rank());  // it dials again when it lost the first answer
  if (place == nullptr) place = &children_.emplace_back();
  place->rank = arrival.rank();
  place->contact = arrival.hello.contact;
  place->link = std::move(arrival.link);
  place->link->limit(kMostFrame);
  place->link->send(plain(Kind::welcome));
}

void Tree::redirect(Arrival arrival, int32_t to) {
  arrival.link->send(encode(Redirect{to, child(to)->contact}));
  door_.let_go(std::move(arrival.link));
}

// `begin`: of a question about those who did not come.
std::string Tree::advice(const std::string& begin) const {
  return self_.met_before ? "; do they run still, and can ranks reach each other's addresses?"
                          : begin + ", with the same job name, secret and PLAIT_ROOT?";
}

Status Tree::missing() const {
  const std::string job = "bootstrap of job \"" + self_.job + "\": ";
  if (self_.rank == 0) return missing_ranks();
  if (parent_.link) {
    return {Code::timeout,
            job + "not all ranks came before the deadline, and rank 0 did not say who is missing"};
  }
  const Status& why = dialer_ && !dialer_->why().ok() ? dialer_->why() : refused_;
  std::string text = job + "rank " + std::to_string(target_.rank) +
                     " did not come or could not be reached before the "
                     "deadline";
  if (!why.ok()) text += " (" + std::string(why.text()) + ")";
  const bool refused =
      why.code() == Code::auth || why.code() == Code::version || why.code() == Code::mismatch;
  return {refused ? why.code() : Code::timeout, text + advice("; did it start") + door_.hint()};
}

Status Tree::missing_ranks() const {
  std::vector<int32_t> absent, astray;
  for (int32_t r = 1; r < self_.size; r++) {
    if (have_[size_t(r)]) continue;
    if (joined() || (!planned_ && seen_[size_t(r)].instance == 0)) {
      absent.push_back(r);
    } else if (!planned_) {
      astray.push_back(r);
    } else if (const int32_t parent = planned_parent(r); parent == 0 || have_[size_t(parent)]) {
      absent.push_back(r);  // those below it may well be there
    }
  }
  std::string text = "bootstrap of job \"" + self_.job + "\": ";
  if (!absent.empty()) text += ranks_text(absent) + " did not come before the deadline";
  if (!absent.empty() && !joined()) text += advice("; did they start");
  if (!astray.empty()) {
    const Seen& first = seen_[size_t(astray.front())];
    text += (absent.empty() ? "" : " ") + ranks_text(astray) + " came and did not get their place (rank " +
            std::to_string(astray.front()) + ", " + first.who + ", was sent to rank " +
            std::to_string(first.sent_to) + "): can they reach each other's addresses?";
  }
  if (!mismatch_.empty()) text += "; " + mismatch_;
  return {mismatch_.empty() ? Code::timeout : Code::mismatch, text + door_.hint()};
}

}  // namespace plait::bootstrap
