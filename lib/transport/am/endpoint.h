// One rail to one peer, over a fabric that carries messages in order. All that moves is checked by its target
// and copied there, in the target's poll: so what a peer may do is what the target's tables say, and close()
// is final. endpoint.cc: its life; send.cc: messages out; receive.cc: messages in.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "transport/am/message.h"
#include "transport/am/pacer.h"

namespace plait::transport::am {

class MessageDomain;

// What a fabric is like.
struct Manners {
  size_t piece = 0;              // bytes of a transfer that fit behind a header, and kIntact, in a message
  size_t before = 0;             // bytes of the fabric's that a stream has before those of a message
  size_t under_way = 0;          // bytes of puts that the peer did not acknowledge, at most; 0: any number
  bool both_greet = true;        // false: one side speaks first, since its message makes the connection
  bool says_goodbye = true;      // in close()
  const char* out_of_turn = "";  // what may be the cause of a message out of turn, to end a sentence
};

class MessageEndpoint : public Endpoint {
 public:
  ByteView ticket() const noexcept final { return ticket_; }
  Status connect(ByteView peer_ticket) noexcept final;
  State state() const noexcept final { return state_; }
  std::string_view error() const noexcept final { return error_; }
  Result<std::unique_ptr<RemoteRegion>> import(ByteView key) override;
  size_t post(std::span<const Transfer> transfers) noexcept final;
  bool sent(uint16_t /*counter*/) const noexcept final { return !pending() && ops_.used() == 0; }
  bool acks_sent() const noexcept final { return state_ != State::ready || landed_ == told_; }
  void close() noexcept final;

  // What the domain calls.
  uint64_t nonce() const noexcept { return nonce_; }
  // A message for this endpoint, whose header was parsed.
  void receive(const Header& h, ByteView body) noexcept;
  void has_room() noexcept;  // send() may be tried again
  // Sends what it may, up to about `budget` bytes.
  void move(size_t& budget) noexcept {
    while (budget != 0 && can_send() && send_next(budget)) {
    }
  }
  size_t harvest(std::span<Done> done) noexcept { return dones_.take(done); }
  bool busy() const noexcept { return !dones_.empty() || can_send(); }
  // Whether there is something to send.
  bool pending() const noexcept {
    if (state_ != State::ready) return has_last_or_first_word();
    return landed_ != told_ || !served_.empty() || can_go(waiting_[0]) || can_go(waiting_[1]);
  }
  // The domain goes: no call of it may follow.
  void orphan() noexcept;
  // The endpoint goes: moves the Dones of its transfers.
  void leave_dones(OrphanedDones& to) noexcept { to.adopt(dones_); }
  bool listed = false;  // among the domain's busy ones

 protected:
  MessageEndpoint(MessageDomain& domain, const TicketHead& mine, uint64_t cookie, const Manners& manners);
  // The fabric's part; close() calls let_go(), so its destructor begins with leave().
  // Of connect(): a path to the peer. An error is connect()'s; it may fail the endpoint, too.
  virtual Status reach(const Ticket& peer) = 0;
  // Takes the message, or not. Of put, up to kInline bytes are read before it returns.
  virtual Sent send(const Message& message) noexcept = 0;
  // Forgets the messages that were kept: nothing of them is read any more. The state is failed, or closed:
  // then nothing that comes may touch anything, either.
  virtual void let_go() noexcept = 0;
  virtual std::string peer_name() const;
  // Null when it keeps to the contract.
  virtual const char* refusal(const Transfer& transfer) const noexcept {
    return refusal_of(transfer, this, theirs_.counters);
  }
  // False: there is no room now, or the endpoint failed.
  virtual bool take(const Transfer& transfer) noexcept;

  void leave() noexcept;
  void announce(ByteView address) { ticket_ = to_bytes({mine_, Bytes(address.begin(), address.end())}); }
  void released(Op& op) noexcept { finished(op, Code::ok); }  // a message that was kept, and had it, is sent
  void fail(Code code, std::string text) noexcept;
  void refuse(Refusal refusal) noexcept;  // what the peer sent
  void add_done(uint64_t cookie, Code code) noexcept;
  void finished(Op& op, Code code) noexcept;
  void signal(uint16_t counter, uint16_t add) noexcept {
    counters_[counter].store(counters_[counter].load(std::memory_order_relaxed) + add,
                             std::memory_order_release);
  }
  MessageDomain* domain() const noexcept { return domain_; }  // null: it is gone
  const TicketHead& theirs() const noexcept { return theirs_; }
  const TicketHead& mine() const noexcept { return mine_; }
  // Whether a put on this counter would overtake what was posted before it.
  bool waits(uint16_t counter) const noexcept {
    return !waiting_[counter % 2].empty() || gets_under_way_[counter % kCounters] != 0;
  }
  bool has_ops(size_t count) const noexcept { return ops_.used() + dones_.size() + count <= depth_; }
  OpList& ops() noexcept { return ops_; }

 private:
  // send.cc
  bool can_send() const noexcept { return !blocked_ && pending(); }
  bool can_go(const OpQueue& queue) const noexcept {
    if (queue.empty() || queue.front().verb == Verb::get) return !queue.empty();
    return pacer_.may_send() && gets_under_way_[queue.front().signal.counter % kCounters] == 0;
  }
  bool has_last_or_first_word() const noexcept;
  Op& new_op(const Transfer& transfer) noexcept;
  void sent_at_once(const Transfer& transfer, Op* op, Sent sent) noexcept;
  Sent deliver(Message& m) noexcept;
  bool tell(Kind kind, uint64_t value) noexcept;
  bool send_next(size_t& budget) noexcept;
  bool send_part(OpQueue& queue, size_t& budget) noexcept;
  bool better_parted(const std::byte* from, size_t bytes) const noexcept;
  bool ask(OpQueue& queue) noexcept;
  bool answer(size_t& budget) noexcept;

  // receive.cc
  std::optional<Refusal> land(const Header& h, ByteView body) noexcept;
  std::optional<Refusal> land_put(const Header& h, ByteView body) noexcept;
  std::optional<Refusal> land_data(const Header& h, ByteView body) noexcept;
  bool acknowledged(uint64_t count) noexcept;

  bool may_greet() const noexcept {
    return !greeted_ && (heard_ == theirs_.endpoint || manners_.both_greet || nonce_ < theirs_.endpoint);
  }
  void become_ready() noexcept;
  void drop(Code code) noexcept;

  MessageDomain* domain_;
  const TicketHead mine_;
  const uint64_t nonce_, cookie_;
  const Manners manners_;
  const size_t depth_;
  State state_ = State::opened;
  bool greeted_ = false, blocked_ = false;
  Refusal refused_{};   // to be told; 0: none
  uint64_t heard_ = 0;  // whose hello came
  std::string error_;
  Bytes ticket_;
  TicketHead theirs_;
  std::unique_ptr<std::atomic<uint64_t>[]> counter_words_;

  OpList ops_;
  std::array<OpQueue, 2> waiting_;  // for even counters, for odd ones
  OpQueue unacked_, gets_;          // on their way, in that order
  std::array<uint16_t, kCounters>
      gets_under_way_{};      // on a counter: puts wait, or gets might see their bytes
  SlabQueue<Served> served_;  // to answer
  OwnedDones dones_;
  Pacer pacer_;
  size_t unanswered_ = 0;                    // bytes of the stream since a message came
  size_t budget_ = 0;                        // bytes that this post() may still send
  size_t turn_ = 0;                          // of waiting_[0], waiting_[1], served_
  uint32_t out_number_ = 0, in_number_ = 0;  // of messages
  uint64_t asked_ = 0, acked_ = 0;           // of puts that I sent
  uint64_t landed_ = 0, told_ = 0;           // of the peer's that asked
};

}  // namespace plait::transport::am
