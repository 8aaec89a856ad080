// One rail to one peer: a libfabric endpoint of its own with a completion queue of its own, so that closing
// it ends all that could come through it, and nothing else. endpoint.cc: its life; direct.cc and messages.cc:
// moving bytes.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "base/pages.h"
#include "base/slab.h"
#include "transport/ofi/device.h"

namespace plait::transport::ofi {

class OfiDomain;

constexpr size_t kDepth = 256;
constexpr size_t kInline = 256;
constexpr uint64_t kSpareBells = 8;  // for those that only say what was heard
constexpr size_t kPollBytes = size_t{256} << 10;

// What a provider gets as the context of an operation; its own part comes first.
enum class Step : uint8_t { sent, received, moved };
struct Context {
  fi_context2 provider{};
  Step step = Step::sent;
};

// Memory of one message.
struct Slot : Context {
  Slot* next = nullptr;
  std::byte* data = nullptr;
  size_t bytes = 0;
  bool full = false;
};

// A transfer that post() took and that is not done.
struct Op : Context {
  Op* next = nullptr;  // free, or in the one queue that it is in
  bool used = false;
  Verb verb = Verb::put;
  When when = When::never;
  Signal signal;
  uint64_t cookie = 0;
  const Key* key = nullptr;           // of the remote region
  const OfiRegion* region = nullptr;  // direct: the local one
  uint64_t offset = 0;
  std::byte* local = nullptr;
  size_t bytes = 0, moved = 0;
  uint64_t bell = 0;
  std::array<std::byte, kInline> small;
};

// In the order in which they came.
class OpQueue {
 public:
  Op* front() const noexcept { return first_; }
  void push(Op& op) noexcept {
    op.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &op;
    last_ = &op;
  }
  Op& pop() noexcept {
    Op& op = *first_;
    first_ = op.next;
    return op;
  }

 private:
  Op *first_ = nullptr, *last_ = nullptr;
};

struct DoneItem {
  DoneItem* next = nullptr;
  Done done;
};

class OfiEndpoint : public Endpoint {
 public:
  OfiEndpoint(OfiDomain& domain, uint16_t counters, uint64_t cookie, size_t slots, size_t slot_bytes);
  ~OfiEndpoint() override;
  Status start();  // opens what libfabric has to have

  ByteView ticket() const noexcept override { return bytes_of(ticket_); }
  Status connect(ByteView peer_ticket) noexcept override;
  State state() const noexcept override { return state_; }
  std::string_view error() const noexcept override { return error_; }
  Result<std::unique_ptr<RemoteRegion>> import(ByteView key) override;
  size_t post(std::span<const Transfer> transfers) noexcept override;
  void close() noexcept override;

  // What the domain calls. rest: what there would be to do without anything new from outside.
  enum class Rest : uint8_t { sleep, soon, now };
  void progress(size_t& budget) noexcept;
  size_t harvest(std::span<Done> done) noexcept;
  virtual Rest rest() const noexcept;
  fid_cq* queue() const noexcept { return cq_.get(); }
  void orphan() noexcept;
  void leave_dones(SlabQueue<DoneItem>& to) noexcept;
  uint32_t quiet = 0;  // polls that found nothing

 protected:
  // False: there is no room now.
  virtual bool take(const Transfer& transfer) noexcept = 0;
  virtual void written(Op& op) noexcept = 0;
  virtual void signalled(uint64_t word) noexcept = 0;
  virtual void listen() noexcept {}
  virtual void heard(ByteView message) noexcept = 0;
  virtual void push(size_t& budget) noexcept = 0;  // does what could not be done at once
  virtual bool pushing() const noexcept = 0;

  const Device& device() const noexcept;
  bool has_ops(size_t count) const noexcept;
  Op& take_op(const Transfer& transfer) noexcept;
  void finish(Op& op, Code code) noexcept;
  void done(When when, uint64_t cookie, Code code) noexcept;
  // A message; false: there is no room now, or the endpoint failed.
  bool send(ByteView head, ByteView body) noexcept;
  // 0: true. Else there is no room (false) or the endpoint fails.
  bool went(ssize_t rc, const char* doing) noexcept;
  void fail(Code code, std::string text) noexcept;
  void add(uint16_t counter, uint16_t n) noexcept {
    counters_[counter].store(counters_[counter].load(std::memory_order_relaxed) + n,
                             std::memory_order_release);
  }

  OfiDomain* domain_;
  const uint64_t cookie_;
  const uint16_t counter_count_;
  State state_ = State::opened;
  Ticket ticket_, theirs_;
  Fid<fid_av> av_;
  Fid<fid_cq> cq_;
  Fid<fid_mr> memory_mr_, ops_mr_;  // where the provider moves from registered memory only
  Fid<fid_mr> bells_mr_;            // direct
  Fid<fid_ep> ep_;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  size_t inject_ = 0;
  std::unique_ptr<Op[]> ops_;
  Op* free_op_ = nullptr;
  Slot* free_slot_ = nullptr;  // to send from
  const uint64_t* bells_ = nullptr;

 private:
  Status open_objects();
  Status post_receive(Slot& slot) noexcept;
  void read() noexcept;
  void read_error() noexcept;
  void receive(size_t& budget) noexcept;
  void greet() noexcept;
  const char* refusal(const Transfer& transfer) const noexcept;
  const char* slice_refusal(const Transfer& transfer) const noexcept;
  void hang_up() noexcept;
  std::string peer_name() const;

  const size_t slot_bytes_, receives_;
  Mapping memory_;
  std::unique_ptr<Slot[]> slots_;
  size_t next_receive_ = 0;  // messages are taken in the order of the receives that they met
  size_t used_ = 0;
  bool own_done_ = false, greeted_ = false, ending_ = false;
  std::optional<Hello> heard_hello_;
  std::unique_ptr<std::atomic<uint64_t>[]> counter_words_;
  SlabQueue<DoneItem> dones_;
  std::string error_;
};

// Puts and gets are messages, in pieces.
class MessageEndpoint : public OfiEndpoint {
 public:
  MessageEndpoint(OfiDomain& domain, uint16_t counters, uint64_t cookie);
  static size_t slot_bytes(const Choice& choice) noexcept;

 protected:
  bool take(const Transfer& transfer) noexcept override;
  void written(Op& /*op*/) noexcept override {}
  void signalled(uint64_t /*word*/) noexcept override {}
  void push(size_t& budget) noexcept override;
  bool pushing() const noexcept override;
  OpQueue queue_;                           // to be sent
  std::array<uint16_t, kCounters> gets_{};  // under way, by counter

 private:
  struct Served {
    Header get;
    uint64_t moved;
  };
  void heard(ByteView message) noexcept override;
  bool say(Header header, ByteView body) noexcept;
  bool put_piece(Op& op) noexcept;
  bool ask(Op& op) noexcept;
  bool serve(size_t& budget) noexcept;
  void put(const Header& header, ByteView body) noexcept;
  void data(ByteView body) noexcept;
  void acknowledged(uint64_t count) noexcept;
  void refuse(Refusal why) noexcept;

  const size_t piece_;
  uint64_t sent_ = 0, seen_ = 0;  // messages
  uint64_t landed_ = 0, told_ = 0,
           confirmed_ = 0;  // puts that want acknowledgement: the peer's, that it knows; mine
  uint64_t refused_ = 0;    // a Refusal to tell the peer
  OpQueue unconfirmed_, asked_;
  std::array<Served, kDepth> served_;
  size_t first_served_ = 0, served_count_ = 0;
};

// Puts are writes, each with its signal. Gets are messages all the same: progress is the target's anyway, and
// the tcp provider of libfabric 1.17 frees what a read uses twice when its connection ends in mid-read.
class DirectEndpoint final : public MessageEndpoint {
 public:
  DirectEndpoint(OfiDomain& domain, uint16_t counters, uint64_t cookie);

 private:
  bool take(const Transfer& transfer) noexcept override;
  void written(Op& op) noexcept override { finish(op, Code::ok); }
  void signalled(uint64_t word) noexcept override;
  void listen() noexcept override;
  Rest rest() const noexcept override;
  void push(size_t& budget) noexcept override;
  bool pushing() const noexcept override { return owes() || MessageEndpoint::pushing(); }
  bool write(const Transfer& transfer) noexcept;
  bool rang(uint64_t number) const noexcept { return bells_[number % kBells] >> 56 == lap(number); }
  bool owes() const noexcept { return rings_ && seen_ - told_ >= kBells / 2; }

  const bool rings_;
  uint64_t sent_ = 0, seen_ = 0;   // signals
  uint64_t taken_ = 0, told_ = 0;  // of these, as far as the target said, and as I said
  uint64_t look_ = 0;
};

}  // namespace plait::transport::ofi
