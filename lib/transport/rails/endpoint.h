// An endpoint over several rails. endpoint.cc: its life; connect.cc; import.cc; post.cc: taking transfers;
// send.cc, gets.cc, landed.cc: parts; receive.cc: counters and credits; control.cc: lines to the peer's
// endpoint; recovery.cc: what state.h asks for; silence.cc: what is due.
#pragma once

#include <deque>
#include <list>
#include <span>
#include <string>

#include "base/pages.h"
#include "transport/rails/parts.h"
#include "transport/rails/rail.h"

namespace plait::transport::rails {

class RailsDomain;

// Tags of cookies given to rails; smaller ones are slots of parts.
constexpr uint32_t kOwnTag = 0xffffff, kProbeTag = 0xfffffe, kGetTag = 0x800000;
constexpr int kTagBits = 24;

class RailsEndpoint final : public Endpoint {
 public:
  RailsEndpoint(RailsDomain& domain, Layout layout, uint64_t cookie);
  ~RailsEndpoint() override;
  // Opens the first link of every rail.
  Status start();

  ByteView ticket() const noexcept override { return ticket_; }
  Status connect(ByteView peer_ticket) noexcept override;
  State state() const noexcept override { return state_; }
  std::string_view error() const noexcept override { return error_; }
  Result<std::unique_ptr<RemoteRegion>> import(ByteView key) override;
  size_t post(std::span<const Transfer> transfers) noexcept override;
  bool sent(uint16_t counter) const noexcept override;
  // What rails owe for parts. Credits for slots no Done of the peer's waits for.
  bool acks_sent() const noexcept override;
  void close() noexcept override;

  // What the domain calls.
  bool step() noexcept;  // true: something happened
  // What is due; when the next thing will be, INT64_MAX: never.
  int64_t tick(int64_t now) noexcept;
  void done(size_t rail, uint32_t tag, Code status) noexcept;
  void harvested() noexcept { --owed_; }
  void orphan() noexcept;  // the domain goes
  void trim() noexcept;
  bool on_rail(size_t rail) const noexcept { return rails_[rail].live(); }
  bool joining() const noexcept;
  std::string describe() const;

  // Of its remote regions.
  void drop(Import& import) noexcept;

 private:
  // endpoint.cc
  bool over() const noexcept { return state_ == State::failed || state_ == State::closed; }
  Status open_link(size_t rail);
  Status accept(const Ticket& ticket);
  Status connect_rails(const Ticket& ticket);
  bool step_connecting() noexcept;
  void become_ready() noexcept;
  Status know_peer(size_t rail);
  void unuse(Import* import) noexcept;
  void fail(Code code, std::string text) noexcept;
  void fail_if_alone() noexcept;
  void hang_up() noexcept;
  void drop_transfers(Code code) noexcept;
  std::string rail_errors() const;

  // post.cc
  const char* refusal(const Transfer& transfer) const noexcept;
  bool take(const Transfer& transfer) noexcept;
  bool take_short(const Transfer& transfer) noexcept;
  bool take_long(const Transfer& transfer) noexcept;
  bool has_depth() const noexcept;
  Op& make_op(const Transfer& transfer) noexcept;
  bool behind_others(const Op* newest, size_t counter) const noexcept;
  void complete(Op& op) noexcept;
  void finish(Op& op, Code code) noexcept;
  void give_done(uint64_t cookie, Code code) noexcept;

  // send.cc
  Part& part(size_t counter, uint64_t number) noexcept {
    return parts_[counter * theirs_.window + number % theirs_.window];
  }
  const Part& part(size_t counter, uint64_t number) const noexcept {
    return parts_[counter * theirs_.window + number % theirs_.window];
  }
  bool has_slot(size_t counter) const noexcept;
  bool must_wait(size_t counter, const Import* import, uint64_t offset, size_t bytes) noexcept;
  size_t pick(size_t bytes, const Import* import, uint32_t tried, size_t usual, bool wait) const noexcept;
  bool send(size_t counter, size_t slot) noexcept;
  bool post_part(size_t rail, size_t counter, size_t slot) noexcept;
  bool post_get(GetPart& get) noexcept;
  bool pump() noexcept;
  void pump(size_t counter) noexcept;
  bool cut_put(Op& op, size_t counter) noexcept;
  bool cut_get(Op& op, size_t counter) noexcept;
  void fence(size_t counter) noexcept;
  bool fence_part(size_t slot) noexcept;
  void send_again() noexcept;
  void send_gets_again() noexcept;
  bool cut_flush(Op& op) noexcept;
  GetPart* free_get() noexcept;
  void posted(size_t rail, size_t bytes) noexcept;
  void part_done(size_t slot) noexcept;
  void get_done(size_t index) noexcept;
  void landed(Part& part, size_t counter) noexcept;
  void leave_rail(Part& part) noexcept;
  void free_if_over(Part& part) noexcept;

  // receive.cc
  bool receive() noexcept;
  bool receive(size_t counter) noexcept;
  uint16_t arrival(size_t counter, size_t slot, In& in) noexcept;
  void give_credit(size_t counter) noexcept;
  bool take_credits() noexcept;
  void credited(size_t counter, uint64_t parts) noexcept;
  void sweep(Link& link) noexcept;

  // control.cc
  bool control() noexcept;
  void hear(size_t rail) noexcept;
  void obey(const Line& line) noexcept;
  void say(LineKind kind, size_t rail, ByteView payload) noexcept;
  bool send_line() noexcept;
  bool post_signal(size_t rail, size_t counter, uint16_t add) noexcept;

  // recovery.cc
  void die(size_t rail, std::string why) noexcept;
  void act(size_t rail, uint8_t actions, ByteView payload) noexcept;
  void close_link(size_t rail) noexcept;
  void freeze_parts(size_t rail) noexcept;
  void say_dead(size_t rail) noexcept;
  bool settle(size_t rail, ByteView report) noexcept;
  void reopen(size_t rail, bool connect, ByteView ticket) noexcept;
  void connect_again(size_t rail, ByteView ticket) noexcept;
  void went_live(size_t rail) noexcept;
  void went_down(size_t rail) noexcept;
  bool step_joining() noexcept;

  // silence.cc
  int64_t tick_connecting(int64_t now) noexcept;
  int64_t tick_rail(size_t rail, int64_t now) noexcept;
  int64_t tick_dying(size_t rail, int64_t now) noexcept;
  int64_t tick_credits(int64_t now) noexcept;
  int64_t tick_silence(size_t rail, int64_t now) noexcept;
  uint32_t oldest_owed(size_t rail) const noexcept;
  bool probe_others(size_t rail, int64_t now) noexcept;
  void probe_own(size_t rail) noexcept;

  RailsDomain* domain_;
  const Layout mine_;
  Layout theirs_;
  const uint64_t cookie_;
  State state_ = State::opened;
  bool own_done_ = false;
  std::string error_;
  Bytes ticket_;
  std::vector<Rail> rails_;
  std::unique_ptr<std::atomic<uint64_t>[]> counter_words_;
  std::list<Import> imports_;

  std::vector<In> in_;
  std::vector<uint16_t> arrived_;  // values of parts that came by a rail that is gone, by slot
  std::vector<Out> out_;
  Mapping part_pages_;
  std::span<Part> parts_;  // in these
  std::array<GetPart, kGets> gets_;
  Op* newest_ = nullptr;
  size_t ops_ = 0, owed_ = 0;     // transfers, and Dones that were not taken yet
  size_t queued_ = 0, lost_ = 0;  // transfers to be cut; parts to be sent again
  size_t lost_gets_ = 0;
  uint64_t posts_ = 0;
  const char* stuck_ = nullptr;  // why no rail can take a part, ever

  // Control: a cell a rail for what comes in, and one for what goes out.
  size_t cell_bytes_ = 0, their_cell_bytes_ = 0;
  std::unique_ptr<std::byte[]> cells_, cells_out_;
  std::vector<std::unique_ptr<Region>> cell_regions_, out_regions_;
  std::deque<Bytes> lines_;  // the first is under way, on rails_ of line_on_
  uint32_t line_number_ = 0, line_on_ = 0, heard_ = 0;
  int64_t line_since_ns_ = 0;
  bool line_late_ = false;
  bool may_talk_ = false;  // the peer is ready, too
  int64_t ready_since_ns_ = 0;
};

}  // namespace plait::transport::rails
