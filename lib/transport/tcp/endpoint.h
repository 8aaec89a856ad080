// One rail to one peer: connections of its own. endpoint.cc: its life; handshake.cc: connecting;
// post.cc: taking transfers; connection.h: moving them.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "transport/tcp/connection.h"
#include "transport/tcp/link.h"

namespace plait::transport::tcp {

class TcpDomain;

class TcpEndpoint final : public Endpoint {
 public:
  TcpEndpoint(TcpDomain& domain, uint64_t id, const Ticket& ticket, uint64_t cookie);
  ~TcpEndpoint() override;

  ByteView ticket() const noexcept override {
    return greeting_ ? bytes_of(greeting_->parties.mine) : ByteView();
  }
  Status connect(ByteView peer_ticket) noexcept override;
  State state() const noexcept override { return state_; }
  std::string_view error() const noexcept override { return error_; }
  Result<std::unique_ptr<RemoteRegion>> import(ByteView key) override;
  size_t post(std::span<const Transfer> transfers) noexcept override;
  bool sent(uint16_t counter) const noexcept override {
    return state_ != State::ready || !lanes_[lane_number(counter)].pending();
  }
  bool acks_sent() const noexcept override {
    return state_ != State::ready || (!owes_ack() && !lanes_[0].holds_ack());
  }
  void close() noexcept override;

  // What the domain calls.
  uint64_t id() const noexcept { return id_; }
  uint64_t nonce() const noexcept { return nonce_; }
  uint64_t watch_id(Lane lane) const noexcept { return id_ * kLanes + size_t(lane); }  // for the poller
  bool over() const noexcept { return state_ == State::closed || state_ == State::failed; }
  // A connection that the peer dialed, maybe before connect(). False: it is none of ours.
  bool greeted(Fd& socket, std::unique_ptr<Tls>& tls, const Hello& hello) noexcept;
  void ready(Lane lane, uint32_t events) noexcept;  // a descriptor is
  void tick(int64_t now) noexcept;
  int64_t due_ns() const noexcept;  // when tick() is
  void progress(size_t& budget) noexcept;
  size_t harvest(std::span<Done> done) noexcept { return dones_.take(done); }
  bool busy() const noexcept { return !dones_.empty() || (ending_ && state_ == State::ready); }
  // The domain goes: no call of it may follow.
  void orphan() noexcept;
  // The endpoint goes: moves the Dones of its transfers (its own cookie means nothing any more).
  void leave_dones(OrphanedDones& to) noexcept { to.adopt(dones_); }
  bool listed = false;  // among the domain's busy ones

  // What its connections call.
  RegionTable& regions() noexcept;
  uint32_t counter_count() const noexcept { return counter_count_; }
  void signal(uint16_t counter, uint16_t add) noexcept {
    counters_[counter].fetch_add(add, std::memory_order_release);
  }
  bool owes_ack() const noexcept {
    return std::ranges::any_of(lanes_, [](const Connection& lane) { return lane.owes_ack(); });
  }
  void owe_ack() noexcept { lanes_[0].wants_to_send(); }
  bool stage_acks() noexcept {
    return std::ranges::any_of(lanes_, [this](Connection& lane) { return lanes_[0].stage_ack(lane); });
  }
  bool acknowledged(Lane lane, uint64_t count) noexcept {
    return size_t(lane) < lanes_.size() && lanes_[size_t(lane)].acknowledged(count);
  }
  void finished(Op& op, Code code) noexcept;
  void refuse(Refusal refusal) noexcept;   // what the peer did; the peer is told
  void refused(Refusal refusal) noexcept;  // what this endpoint did, says the peer
  void goodbye() noexcept;
  void ended(int error) noexcept;  // a connection
  void broken_seal(const char* why) noexcept;

 private:
  // handshake.cc
  Status begin(const Ticket& peer_ticket);
  void drop_links() noexcept;
  bool has(size_t lane) const noexcept { return lane < lanes_.size() || Lane(lane) == Lane::pulse; }
  bool dials(size_t lane) const noexcept { return dials_ == (Lane(lane) != Lane::pulse); }
  void move_on(const Status& status) noexcept;
  bool all_up() const noexcept;
  Link* link_of(size_t lane) noexcept;  // null: this side has no such lane
  Status become_ready();
  void pulse_ready() noexcept;

  // post.cc
  // One for each counter, or they would lose their order.
  size_t lane_number(uint16_t counter) const noexcept {
    return counter % 2 == 0 ? 0 : 1 + counter / 2 % (lanes_.size() - 1);
  }
  bool takes() const noexcept {
    return state_ == State::ready && !ending_ && ops_.used() + dones_.size() < kDepth;
  }
  bool post_now(const Transfer& transfer) noexcept;
  void take(const Transfer& transfer) noexcept;
  void done(const Transfer& transfer) noexcept;

  std::string peer_name() const;
  void end(Code code, std::string why) noexcept;
  void fail(Code code, std::string text) noexcept;
  void drop_ops(Code code) noexcept;
  void hang_up() noexcept;

  TcpDomain* domain_;
  const uint64_t id_, nonce_, cookie_;
  const uint32_t counter_count_;
  State state_ = State::opened;
  bool dials_ = false;
  bool ending_ = false;  // the peer has gone; what it sent before is still taken
  Code end_code_ = Code::ok;
  std::string error_, end_text_;

  // How its connections come to be; gone when they are there.
  struct Greeting {
    Parties parties;
    std::vector<Link> links;  // those that this side may have, the pulse last
  };
  std::unique_ptr<Greeting> greeting_;
  std::string peer_name_;      // once greeting_ is gone
  uint64_t their_domain_ = 0;  // a nonce
  uint32_t their_counters_ = 0;
  // The mailbox, then bulk: as many as this side may have, and once the peer is known as many as there are.
  std::vector<Connection> lanes_;
  Fd pulse_;
  std::array<Fd, kLanes> leaving_;  // of a failed endpoint, so that its last words reach the peer

  std::unique_ptr<std::atomic<uint64_t>[]> counter_words_;
  OpList ops_;
  OwnedDones dones_;
};

}  // namespace plait::transport::tcp
