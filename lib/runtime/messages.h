// The sends and receives of a communicator: those that wait for their turn at a peer's link, and those that
// the links have. They match by peer and tag and take no part in the order of collectives.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/peer.h"
#include "runtime/request.h"

namespace plait::runtime {

// "plait_recv of 400 bytes from rank 2 with tag 5"
std::string describe(const Letter& letter);

// What short messages go by that need no request.
struct ShortMessages {
  // By rank: the link, since a request found it mapped and ready, until the peer is gone.
  std::vector<transport::MessageLink*> links;
  std::atomic<transport::MessageLink* const*> open{nullptr};  // `links`; null for good: aborted, or broken
  uint32_t count = 0;
  uint32_t landed_in_a_row = 0;    // of receive_landed()
  plait_request* brief = nullptr;  // the latest of brief(), while it is held
};

class Messages {
 public:
  // A peer that so many short messages had come from has likely sent some more.
  static constexpr uint32_t kMany = 4;

  Messages(int32_t rank, int32_t size);

  // Puts a request behind those of the same peer and direction.
  void start(plait_request* request);
  // Do none wait for their turn to be sent to this rank?
  bool may_send_now(int32_t rank) const noexcept {
    const Channel* channel = channels_[size_t(rank)].get();
    return channel != nullptr && channel->sends.first == nullptr;
  }
  // Is any request not done?
  bool busy() const noexcept { return pending_ != 0; }
  // Were there any messages at all?
  bool used() const noexcept { return !used_.empty(); }
  // Of the peers with requests that are not done, does any of them need the network?
  bool network(std::span<const std::unique_ptr<Peer>> peers) const noexcept;
  // The next rank with requests that is not connected and was not asked for; -1: none.
  int32_t missing(std::span<const std::unique_ptr<Peer>> peers) const noexcept;
  // Is it a receive of a short message, with which `link` has nothing to do as long as messages come in the
  // order of the receives?
  static bool waits_here(const Letter& letter, const transport::MessageLink& link) noexcept {
    return letter.kind == Letter::Kind::receive && letter.bytes <= transport::kEagerBytes && link.takes_now();
  }
  // Is there nothing from or to `rank` that is not done?
  bool idle(int32_t rank) const noexcept {
    const Channel* const channel = channels_[size_t(rank)].get();
    return channel == nullptr || channel->idle();
  }
  // Ends the receives from `rank`, whose link is `link`, that wait here and whose messages have landed. Is
  // nothing left then that a receive from there must not overtake?
  bool settle(int32_t rank, transport::MessageLink& link) noexcept;
  // Moves all on whose peers are connected. True when something moved.
  bool advance(std::span<const std::unique_ptr<Peer>> peers, const Local& local) noexcept;
  // Only gives the link of `peer`, which is connected, what waits for it: short messages leave with that.
  void hand_on(Peer& peer, const Local& local) noexcept;
  // What went wrong in advance() or hand_on(), and with which rank; ok: nothing.
  const Status& failure() const noexcept { return failure_; }
  int32_t culprit() const noexcept { return culprit_; }
  // Ends every request.
  void fail(const Status& status) noexcept;

  // For errors: the request that was started first of those not done, or null.
  const plait_request* oldest() const noexcept;
  // The same of those that wait for messages of rank `rank`.
  const plait_request* awaits(int32_t rank) const noexcept;
  // Ranks that were ever sent to or received from.
  std::span<const int32_t> ranks() const noexcept { return used_; }
  // Since when rank `rank` has been seen leaving with receives from it open; the caller's own.
  int64_t& leaving_since(int32_t rank) noexcept { return channels_[size_t(rank)]->leaving_since_ns; }

 private:
  // Requests linked by `next`.
  struct List {
    plait_request *first = nullptr, *last = nullptr;
    void push(plait_request* request) noexcept;
    plait_request* pop() noexcept;
    // `before`: the one before it, or null.
    void remove(plait_request* request, plait_request* before) noexcept;
  };
  struct Channel {
    List sends, receives;  // for the link to take, in order
    List handed;           // to it
    int64_t leaving_since_ns = 0;
    bool idle() const noexcept {
      return sends.first == nullptr && receives.first == nullptr && handed.first == nullptr;
    }
  };

  bool advance_self(Channel& channel) noexcept;
  bool advance_link(Channel& channel, Peer& peer, const Local& local) noexcept;
  bool take_short(Channel& channel, transport::MessageLink& link, bool& moved) noexcept;
  bool hand_on(List& list, Channel& channel, Peer& peer, const Local& local, bool at_once) noexcept;
  bool collect(Channel& channel, transport::MessageLink& link, int32_t rank) noexcept;
  void end(plait_request* request, const Status& status, int32_t rank) noexcept;
  void blame(const Status& status, int32_t rank) noexcept;

  const int32_t rank_;
  std::vector<std::unique_ptr<Channel>> channels_;  // by rank; null until it is used
  std::vector<int32_t> used_;
  size_t pending_ = 0;
  uint64_t started_ = 0;
  Status failure_;
  int32_t culprit_ = -1;
};

}  // namespace plait::runtime
