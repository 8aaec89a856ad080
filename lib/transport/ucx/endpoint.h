// One rail to one peer. endpoint.cc: its life; post.cc: messages out; receive.cc: messages in.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "transport/ucx/flight.h"

namespace plait::transport::ucx {

class UcxDomain;

class UcxEndpoint final : public Endpoint {
 public:
  // Messages that UCX has, and about how much is in them: what is urgent waits for no more.
  static constexpr size_t kFlights = 8, kFlyingBytes = size_t{1} << 20;

  UcxEndpoint(UcxDomain& domain, const Ticket& mine, uint64_t cookie);
  ~UcxEndpoint() override;

  ByteView ticket() const noexcept override { return ticket_; }
  Status connect(ByteView peer_ticket) noexcept override;
  State state() const noexcept override { return state_; }
  std::string_view error() const noexcept override { return error_; }
  Result<std::unique_ptr<RemoteRegion>> import(ByteView key) override;
  size_t post(std::span<const Transfer> transfers) noexcept override;
  void close() noexcept override;

  // What the domain calls.
  uint64_t nonce() const noexcept { return nonce_; }
  void receive(const Header& h, ByteView payload) noexcept;
  // Sends what it may, up to about `budget` bytes.
  void move(size_t& budget) noexcept;
  size_t harvest(std::span<Done> done) noexcept;
  bool busy() const noexcept { return !dones_.empty() || can_send(); }
  // The domain goes: no call of it may follow.
  void orphan() noexcept;
  // The endpoint goes: moves the Dones of its transfers (its own cookie means nothing any more).
  void leave_dones(SlabQueue<DoneItem>& to) noexcept;
  bool listed = false;  // among the domain's busy ones

  void sent(Flight& flight) noexcept;
  Peer* peer() const noexcept { return peer_; }
  void lost(ucs_status_t status) noexcept;

 private:
  // post.cc
  void begin(const Transfer& transfer) noexcept;
  Flight& take(Kind kind) noexcept;
  bool room() const noexcept { return flying_ < kFlights && flying_bytes_ < kFlyingBytes; }
  bool can_send() const noexcept;
  void send_next(size_t& budget) noexcept;
  void send_part(Op& op, OpQueue& queue, size_t& budget) noexcept;
  void answer(Served& get, size_t& budget) noexcept;
  void tell(Kind kind, uint64_t value, uint8_t flags = 0) noexcept;
  void send(Flight& flight) noexcept;
  void add_done(uint64_t cookie, Code code) noexcept;
  void finished(Op& op, Code code) noexcept;

  // receive.cc
  void greeted(const Header& h) noexcept;
  std::optional<Refusal> land(const Header& h, ByteView payload) noexcept;
  std::optional<Refusal> land_data(const Header& h, ByteView payload) noexcept;
  bool acknowledged(uint64_t count) noexcept;

  void refuse(Refusal refusal) noexcept;
  void fail(Code code, std::string text) noexcept;
  void drop(Code code) noexcept;
  std::string peer_name() const;

  UcxDomain* domain_;
  const uint64_t nonce_, cookie_;
  const uint32_t counter_count_;
  State state_ = State::opened;
  bool own_done_ = false;
  std::string error_;
  Bytes ticket_;
  TicketHead theirs_;
  Peer* peer_ = nullptr;
  std::unique_ptr<std::atomic<uint64_t>[]> counter_words_;

  OpList ops_;
  std::array<OpQueue, 2> waiting_;  // for even counters, for odd ones
  OpQueue unacked_, gets_;          // on their way, in that order
  SlabQueue<Served> served_;        // to answer
  SlabQueue<DoneItem> dones_;
  Flight* flights_ = nullptr;
  size_t flying_ = 0, flying_bytes_ = 0;
  size_t turn_ = 0;                          // of waiting_[0], waiting_[1], served_
  uint32_t out_number_ = 0, in_number_ = 0;  // of messages
  uint64_t asked_ = 0, acked_ = 0;           // of puts that I sent
  uint64_t landed_ = 0, told_ = 0;           // of the peer's that asked
};

}  // namespace plait::transport::ucx
