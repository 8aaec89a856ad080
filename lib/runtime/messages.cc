#include "runtime/messages.h"

#include <algorithm>
#include <cstring>

#include "base/log.h"

namespace plait::runtime {

namespace {

// Between hosts, a receive in plain memory is exposed from here on, for its message to be put there; shorter
// ones are copied. On one host all are: two copies through parts that stay in a cache, by a core each, are
// three times as fast as one by the kernel, which looks up every page of it (1 MiB: 23 us against 72).
constexpr size_t kExposeBytes = size_t(128) << 10;

constexpr auto kDone = plait_request::State::done;

// Where the peer may put a message: its region lives as long as the request.
transport::LocalSlice place_of(Letter& letter, Way way, const Local& local) noexcept {
  transport::LocalSlice slice{letter.data, letter.bytes, nullptr};
  if (letter.kind != Letter::Kind::receive || letter.bytes <= transport::kEagerBytes) return slice;
  if (way == Way::shm && local.arena->owns(letter.data, letter.bytes)) {
    slice.region = local.fabric->arena_region();
  } else if (way != Way::shm && letter.bytes >= kExposeBytes) {
    auto region = local.fabric->domain(way)->expose({.base = letter.data, .bytes = letter.bytes},
                                                    transport::Access::write);
    if (region.ok()) letter.region = std::move(region).value();  // else it is copied
    slice.region = letter.region.get();
  }
  return slice;
}

}  // namespace

std::string describe(const Letter& letter) {
  const bool send = letter.kind == Letter::Kind::send;
  return std::string(send ? "plait_send" : "plait_recv") + " of " + std::to_string(letter.bytes) +
         (send ? " bytes to rank " : " bytes from rank ") + std::to_string(letter.peer) + " with tag " +
         std::to_string(letter.tag);
}

Messages::Messages(int32_t rank, int32_t size) : rank_(rank), channels_(size_t(size)) {}

void Messages::List::push(plait_request* request) noexcept {
  request->next = nullptr;
  (first == nullptr ? first : last->next) = request;
  last = request;
}

plait_request* Messages::List::pop() noexcept {
  plait_request* request = first;
  first = request->next;
  request->next = nullptr;
  return request;
}

void Messages::List::remove(plait_request* request, plait_request* before) noexcept {
  (before == nullptr ? first : before->next) = request->next;
  if (last == request) last = before;
  request->next = nullptr;
}

void Messages::start(plait_request* request) {
  const int32_t r = request->letter.peer;
  if (channels_[size_t(r)] == nullptr) {
    channels_[size_t(r)] = std::make_unique<Channel>();
    used_.push_back(r);
  }
  Channel& channel = *channels_[size_t(r)];
  request->state = plait_request::State::running;
  request->number = ++started_;
  request->letter.moved = 0;
  (request->letter.kind == Letter::Kind::send ? channel.sends : channel.receives).push(request);
  pending_++;
}

bool Messages::network(std::span<const std::unique_ptr<Peer>> peers) const noexcept {
  return std::any_of(used_.begin(), used_.end(), [&](int32_t r) {
    return r != rank_ && !channels_[size_t(r)]->idle() && peers[size_t(r)] != nullptr &&
           !peers[size_t(r)]->mapped();
  });
}

int32_t Messages::missing(std::span<const std::unique_ptr<Peer>> peers) const noexcept {
  const auto it = std::find_if(used_.begin(), used_.end(), [&](int32_t r) {
    return r != rank_ && peers[size_t(r)] == nullptr && !channels_[size_t(r)]->idle();
  });
  return it == used_.end() ? -1 : *it;
}

bool Messages::advance(std::span<const std::unique_ptr<Peer>> peers, const Local& local) noexcept {
  bool moved = false;
  for (int32_t r : used_) {
    Channel& channel = *channels_[size_t(r)];
    if (r == rank_) {
      moved = advance_self(channel) || moved;
    } else if (peers[size_t(r)] != nullptr && peers[size_t(r)]->ready() && !peers[size_t(r)]->gone) {
      moved = advance_link(channel, *peers[size_t(r)], local) || moved;
    }
    if (!failure_.ok()) return true;
  }
  return moved;
}

// The k-th send of a tag meets the k-th receive of that tag, here as between ranks.
bool Messages::advance_self(Channel& channel) noexcept {
  bool moved = false;
  List waiting;
  while (channel.sends.first != nullptr && failure_.ok()) {
    plait_request* send = channel.sends.pop();
    List others;
    plait_request* met = nullptr;
    while (channel.receives.first != nullptr) {
      plait_request* receive = channel.receives.pop();
      const bool first = met == nullptr && receive->letter.tag == send->letter.tag;
      first ? void(met = receive) : others.push(receive);
    }
    channel.receives = others;
    if (met == nullptr) {
      waiting.push(send);
      continue;
    }
    Letter &from = send->letter, &to = met->letter;
    Status status;
    if (from.bytes > to.bytes) {
      status = {Code::mismatch, describe(from) + " met a receive of " + std::to_string(to.bytes) + " bytes"};
    } else if (from.bytes != 0) {
      std::memmove(to.data, from.data, from.bytes);
    }
    from.moved = to.moved = from.bytes;
    end(send, status, rank_);
    end(met, status, rank_);
    moved = true;
  }
  while (channel.sends.first != nullptr) waiting.push(channel.sends.pop());
  channel.sends = waiting;
  return moved;
}

bool Messages::advance_link(Channel& channel, Peer& peer, const Local& local) noexcept {
  if (channel.idle() && !peer.has_messages()) return false;
  transport::MessageLink& link = peer.messages();
  bool moved = false;
  if (!take_short(channel, link, moved)) {
    moved = hand_on(channel.receives, channel, peer, local, false) || moved;
  } else if (channel.sends.first == nullptr && channel.handed.first == nullptr && !link.owes_credit()) {
    return moved;  // what comes is left to take_short()
  }
  moved = hand_on(channel.sends, channel, peer, local, false) || moved;
  moved = link.progress() || moved;
  const int32_t r = peer.rank();
  if (!link.status().ok()) blame(link.status(), r);
  return collect(channel, link, r) || moved;
}

// What waits_here(). False: the first one does not, or no longer; it and those behind it are to be handed on.
bool Messages::take_short(Channel& channel, transport::MessageLink& link, bool& moved) noexcept {
  for (uint32_t taken = 0; channel.receives.first != nullptr; taken++) {
    if (taken >= kMany) link.fetch_ahead();
    plait_request* const request = channel.receives.first;
    Letter& letter = request->letter;
    if (!waits_here(letter, link)) return false;
    if (!link.has_landed()) return true;
    if (!link.receive_now(uint32_t(letter.tag), letter.data, letter.bytes, letter.moved)) return false;
    channel.receives.pop();
    request->state = kDone;  // its result was well when it began
    pending_--;
    moved = true;
  }
  return link.takes_now();
}

bool Messages::settle(int32_t rank, transport::MessageLink& link) noexcept {
  bool moved = false;
  return idle(rank) || (take_short(*channels_[size_t(rank)], link, moved) && idle(rank));
}

void Messages::hand_on(Peer& peer, const Local& local) noexcept {
  Channel& channel = *channels_[size_t(peer.rank())];
  (void)hand_on(channel.receives, channel, peer, local, true);
  (void)hand_on(channel.sends, channel, peer, local, true);
  (void)collect(channel, peer.messages(), peer.rank());
}

// As many as the link has room for. `at_once`: sends need no progress() of it.
bool Messages::hand_on(List& list, Channel& channel, Peer& peer, const Local& local, bool at_once) noexcept {
  bool moved = false;
  for (; list.first != nullptr; moved = true) {
    Letter& letter = list.first->letter;
    transport::MessageLink& link = peer.messages();
    const transport::LocalSlice slice = place_of(letter, peer.way(), local);
    letter.handed = letter.kind == Letter::Kind::send ? link.send(uint32_t(letter.tag), slice, at_once)
                                                      : link.receive(uint32_t(letter.tag), slice);
    if (letter.handed == nullptr) {
      letter.region.reset();
      return moved;
    }
    channel.handed.push(list.pop());
  }
  return moved;
}

// The oldest ones end first, mostly.
bool Messages::collect(Channel& channel, transport::MessageLink& link, int32_t rank) noexcept {
  if (link.ended() == 0) return false;
  plait_request* before = nullptr;
  for (plait_request *request = channel.handed.first, *next; request != nullptr; request = next) {
    Letter& letter = request->letter;
    next = request->next;
    if (!letter.handed->done()) {
      before = request;
      continue;
    }
    channel.handed.remove(request, before);
    const Status status = letter.handed->status();
    letter.moved = letter.handed->bytes()[0];
    link.release(letter.handed);
    letter.handed = nullptr;
    if (status.ok()) letter.region.reset();
    end(request, status, rank);
    if (link.ended() == 0) break;
  }
  return true;
}

void Messages::end(plait_request* request, const Status& status, int32_t rank) noexcept {
  if (!status.ok()) blame(status, rank);
  request->result = status;
  request->state = kDone;
  pending_--;
}

void Messages::blame(const Status& status, int32_t rank) noexcept {
  if (!failure_.ok()) return;
  failure_ = status;
  culprit_ = rank;
}

void Messages::fail(const Status& status) noexcept {
  for (int32_t r : used_) {
    Channel& channel = *channels_[size_t(r)];
    for (List* list : {&channel.sends, &channel.receives, &channel.handed}) {
      while (list->first != nullptr) {
        plait_request* request = list->pop();
        request->result = status;
        request->state = kDone;
      }
    }
  }
  pending_ = 0;
}

const plait_request* Messages::oldest() const noexcept {
  const plait_request* found = nullptr;
  for (int32_t r : used_) {
    const Channel& channel = *channels_[size_t(r)];
    for (const List* list : {&channel.sends, &channel.receives, &channel.handed}) {
      const plait_request* first = list->first;
      if (first != nullptr && (found == nullptr || first->number < found->number)) found = first;
    }
  }
  return found;
}

const plait_request* Messages::awaits(int32_t rank) const noexcept {
  if (channels_[size_t(rank)] == nullptr) return nullptr;
  const Channel& channel = *channels_[size_t(rank)];
  if (channel.receives.first != nullptr) return channel.receives.first;
  const plait_request* request = channel.handed.first;
  while (request != nullptr && request->letter.kind != Letter::Kind::receive) request = request->next;
  return request;
}

}  // namespace plait::runtime
