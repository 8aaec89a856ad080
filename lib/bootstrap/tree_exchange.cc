// Exchanges: contributions go up as they come, gathered a little at each rank; rank 0 sends them all down.
#include "bootstrap/tree.h"

namespace plait::bootstrap {
void Tree::begin(ByteView mine) {
  begun_ = true;
  result_.reset();
  if (self_.rank == 0) {
    add({0, mine});
    complete();
    return;
  }
  Bundle bundle;
  bundle.round = round_;
  bundle.items.push_back({self_.rank, mine});
  going_up_.push_back(encode(Kind::up, bundle));
  send_up();
}

// From a child. Its round is ours: it got the result of the last one from us.
bool Tree::take_up(ByteView message) {
  ByteView view = message.subspan(1);
  Bundle bundle;
  if (!decode(view, self_.size, bundle) || bundle.round != round_) return false;
  if (self_.rank != 0) {
    going_up_.emplace_back(message.begin(), message.end());
    return true;
  }
  for (const Bundle::Item& item : bundle.items) {
    if (have_[size_t(item.rank)]) return false;
    add(item);
  }
  complete();
  return true;
}

// Rank 0: one contribution.
void Tree::add(const Bundle::Item& item) {
  have_[size_t(item.rank)] = true;
  arrived_++;
  collected_ += item.bytes.size();
  // What is too much is not kept, but the exchange goes on until all came: then it fails for all alike.
  if (collected_ <= kMostExchange) slots_[size_t(item.rank)].assign(item.bytes.begin(), item.bytes.end());
}

// One message for all that came since the last one.
void Tree::send_up() {
  if (going_up_.empty() || !parent_.link) return;
  if (going_up_.size() == 1) {
    parent_.link->send(going_up_.front());
  } else {
    Bundle all;
    all.round = round_;
    for (const Bytes& message : going_up_) {
      Bundle one;
      if (decode(ByteView(message).subspan(1), self_.size, one)) {
        all.items.insert(all.items.end(), one.items.begin(), one.items.end());
      }
    }
    parent_.link->send(encode(Kind::up, all));
  }
  going_up_.clear();
}

// Rank 0: everybody's bytes are here.
void Tree::complete() {
  if (arrived_ < self_.size || !failed_.ok()) return;
  if (collected_ > kMostExchange) {
    return fail({Code::invalid, "an exchange of job \"" + self_.job + "\" has " + std::to_string(collected_) +
                                    " bytes in all; " + std::to_string(kMostExchange) + " are the most"});
  }
  Bundle all;
  all.round = round_;
  for (int32_t r = 0; r < self_.size; r++) all.items.push_back({r, slots_[size_t(r)]});
  const Bytes message = encode(Kind::down, all);
  for (Neighbour& child : children_) {
    if (child.link) child.link->send(message);
  }
  finish_round(std::exchange(slots_, std::vector<Bytes>(size_t(self_.size))));
}

bool Tree::take_down(ByteView message) {
  Bundle bundle;
  if (!begun_ || !decode(message.subspan(1), self_.size, bundle) || bundle.round != round_ ||
      bundle.items.size() != size_t(self_.size))
    return false;
  for (Neighbour& child : children_) {
    if (child.link) child.link->send(message);
  }
  std::vector<Bytes> all(size_t(self_.size));
  for (const Bundle::Item& item : bundle.items) {
    all[size_t(item.rank)].assign(item.bytes.begin(), item.bytes.end());
  }
  finish_round(std::move(all));
  return true;
}

void Tree::finish_round(std::vector<Bytes> all) {
  begun_ = false;
  arrived_ = 0;
  collected_ = 0;
  have_.assign(have_.size(), false);
  if (round_++ > 0) {
    result_ = std::move(all);
    return;
  }
  // Exchange 0: who is where.
  std::vector<Contact> contacts(all.size());
  for (size_t r = 0; r < all.size(); r++) {
    if (!decode(all[r], contacts[r])) {
      return fail(
          {Code::internal, "rank " + std::to_string(r) + " said where it is in a way that makes no sense"});
    }
    // What is local to a host is not told: our own is as we know it.
    if (int32_t(r) == self_.rank) contacts[r] = mine_;
  }
  contacts_ = std::move(contacts);
}

}  // namespace plait::bootstrap
