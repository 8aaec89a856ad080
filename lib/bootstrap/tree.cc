#include "bootstrap/tree.h"

#include <algorithm>

#include "base/log.h"

namespace plait::bootstrap {
namespace {

std::string name_of(const Contact& contact) {
  if (contact.host.empty()) return "";
  return " (host " + contact.host + ", process " + std::to_string(contact.pid) + ")";
}

}  // namespace

Tree::Tree(const Self& self, Poller& poller, Door& door, Contact mine, uint16_t port)
    : self_(self), poller_(poller), door_(door), mine_(std::move(mine)), port_(port) {
  seen_.resize(size_t(self.size));
  if (self.rank == 0) {
    slots_.resize(size_t(self.size));
    have_.resize(size_t(self.size));
  }
}

void Tree::poll() {
  if (self_.rank != 0 && !joined() && failed_.ok()) climb();
  if (parent_.link) pump(parent_);
  for (Neighbour& child : children_) {
    if (child.link) pump(child);
  }
  send_up();
  if (self_.rank == 0 && !joined()) introduce_root();
}

void Tree::pump(Neighbour& from) {
  while (from.link) {
    const auto message = from.link->receive();
    if (!message) break;
    handle(from, *message);
  }
  if (from.link && from.link->state() == Link::State::closed) lost(from);
}

void Tree::handle(Neighbour& from, ByteView message) {
  const bool from_parent = &from == &parent_;
  ByteView view = message;
  const auto kind = take_kind(view);
  bool good = false;
  if (kind == Kind::up && !from_parent) {
    good = take_up(message);
  } else if (kind == Kind::down && from_parent) {
    good = take_down(message);
  } else if (kind == Kind::notice) {
    Notice notice;
    good = decode(view, notice) && notice.origin >= 0 && notice.origin < self_.size && notice.culprit >= -1 &&
           notice.culprit < self_.size;
    if (good) {
      flood(message, &from);
      hear(notice);
    }
  } else if (kind == Kind::left && !from_parent) {
    good = from.left = true;
    check_left();
  } else if (kind == Kind::all_left && from_parent && said_left_) {
    good = true;
    say_all_left();
  }
  if (!good && from.link) {
    from.link->close({Code::internal, "its message makes no sense (kind " +
                                          std::to_string(kind ? int(*kind) : -1) +
                                          "): is it the same plait?"});
  }
}

void Tree::lost(Neighbour& neighbour) {
  const Status why = neighbour.link->status();
  neighbour.link.reset();
  if (all_left_) return;
  Notice notice;
  notice.kind = Notice::kLost;
  notice.origin = self_.rank;
  notice.culprit = neighbour.rank;
  notice.code = int32_t(Code::peer);
  notice.text = "job \"" + self_.job + "\" lost rank " + std::to_string(neighbour.rank) +
                name_of(joined() ? contacts_[size_t(neighbour.rank)] : neighbour.contact) +
                (joined() ? "" : " while its ranks were meeting") + ": " + std::string(why.text()) +
                ", as rank " + std::to_string(self_.rank) + " saw";
  flood(encode(notice), &neighbour);
  hear(notice);
}

void Tree::flood(ByteView message, const Neighbour* except) {
  if (parent_.link && &parent_ != except) parent_.link->send(message);
  for (Neighbour& child : children_) {
    if (child.link && &child != except) child.link->send(message);
  }
}

void Tree::hear(const Notice& notice) {
  if (failed_.ok() && (notice.kind == Notice::kLost || notice.kind == Notice::kFailed)) {
    const bool known = notice.code < 0 && notice.code >= int32_t(Code::internal);
    failed_ = Status(known ? Code(notice.code) : Code::internal, notice.text);
  }
  // An exchange that failed here is no news here.
  if (notice.origin == self_.rank && notice.kind != Notice::kLost) return;
  if (heard_.size() < kMostHeard) heard_.push_back(notice);
}

void Tree::tell(Notice notice) {
  notice.origin = self_.rank;
  notice.text.resize(std::min(notice.text.size(), Notice::kMostText));
  flood(encode(notice), nullptr);
}

std::optional<Notice> Tree::heard() {
  if (heard_.empty()) return std::nullopt;
  Notice notice = std::move(heard_.front());
  heard_.pop_front();
  return notice;
}

void Tree::fail(const Status& why) {
  if (!failed_.ok()) return;
  failed_ = why;
  Notice notice;
  notice.kind = Notice::kFailed;
  notice.code = int32_t(why.code());
  notice.text = std::string(why.text());
  tell(notice);
}

void Tree::leave() {
  leaving_ = true;
  check_left();
}

// A rank says that it left once all below it did, so that rank 0's knowing is everybody's.
void Tree::check_left() {
  if (!leaving_ || said_left_) return;
  for (const Neighbour& child : children_) {
    if (!child.left) return;
  }
  said_left_ = true;
  if (self_.rank == 0) {
    say_all_left();
  } else if (parent_.link) {
    parent_.link->send(plain(Kind::left));
  }
}

void Tree::say_all_left() {
  all_left_ = true;
  for (Neighbour& child : children_) {
    if (child.link) child.link->send(plain(Kind::all_left));
  }
}

bool Tree::all_flushed() const noexcept {
  if (parent_.link && !parent_.link->flushed()) return false;
  return std::all_of(children_.begin(), children_.end(),
                     [](const Neighbour& child) { return !child.link || child.link->flushed(); });
}

}  // namespace plait::bootstrap
