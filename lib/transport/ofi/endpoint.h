// One rail to one peer: a libfabric endpoint of its own with a completion queue of its own, so that closing
// it ends all that could come through it, and nothing else. endpoint.cc: its life; progress.cc: messages;
// direct.cc: writes.
#pragma once

#include "base/pages.h"
#include "transport/am/endpoint.h"
#include "transport/ofi/device.h"

namespace plait::transport::ofi {

class OfiDomain;

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

// Puts and gets are messages, which are copied at both sides: so a source is free once its last one is sent.
class OfiEndpoint : public am::MessageEndpoint {
 public:
  OfiEndpoint(OfiDomain& domain, const am::TicketHead& mine, uint64_t cookie);
  ~OfiEndpoint() override;
  virtual Status start();  // opens what libfabric has to have

  // What the domain calls.
  void progress(size_t& budget) noexcept;
  // What there would be to do without anything new from outside.
  enum class Rest : uint8_t { sleep, soon, now };
  virtual Rest rest() const noexcept;
  fid_cq* queue() const noexcept { return cq_.get(); }
  uint32_t quiet = 0;  // polls that found nothing

 protected:
  Status reach(const am::Ticket& peer) override;
  am::Sent send(const am::Message& message) noexcept override;
  void let_go() noexcept override;
  std::string peer_name() const override;
  // Direct: a write was done; a signal came; looks for signals, and sends what there was no room for.
  virtual void written(Context& /*context*/) noexcept {}
  virtual void signalled(uint64_t /*word*/) noexcept {}
  virtual void listen() noexcept {}

  OfiDomain& ours() const noexcept;
  const Device& device() const noexcept;
  // 0: done. Else there is no room, or the endpoint fails.
  am::Sent went(ssize_t rc, const char* doing) noexcept;
  void break_off(Code code, const std::string& why) noexcept;
  // A forked child has no part in what its parent opened.
  bool forked() const noexcept;

  Where where_, their_where_;
  Fid<fid_av> av_;
  Fid<fid_cq> cq_;
  Fid<fid_mr> memory_mr_;  // where the provider moves from registered memory only
  Fid<fid_ep> ep_;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;

 private:
  Status open_objects();
  Status post_receive(Slot& slot) noexcept;
  void read() noexcept;
  void read_error() noexcept;
  void take_messages(size_t& budget) noexcept;
  void hang_up() noexcept;

  static constexpr size_t kSlots = 32, kReceives = kSlots / 2;
  const size_t slot_bytes_;
  Mapping memory_;
  std::array<Slot, kSlots> slots_;
  Slot* free_slot_ = nullptr;  // to send from
  size_t next_receive_ = 0;    // messages are taken in the order of the receives that they met
  size_t inject_ = 0;
  bool ending_ = false;
};

// Puts are writes, each with its signal. Gets are messages all the same: progress is the target's anyway, and
// the tcp provider of libfabric 1.17 frees what a read uses twice when its connection ends in mid-read.
class DirectEndpoint final : public OfiEndpoint {
 public:
  DirectEndpoint(OfiDomain& domain, const am::TicketHead& mine, uint64_t cookie);
  ~DirectEndpoint() override;
  static constexpr uint64_t kSpareBells = 8;  // for those that only say what was heard
  Status start() override;
  Result<std::unique_ptr<RemoteRegion>> import(ByteView key) override;
  Rest rest() const noexcept override;

 private:
  struct Write : Context {
    Write* next = nullptr;  // free
    Op* op = nullptr;       // null: nobody is to be told
    uint64_t bell = 0;
    std::array<std::byte, kInline> small;
  };
  const char* refusal(const Transfer& transfer) const noexcept override;
  bool take(const Transfer& transfer) noexcept override;
  void let_go() noexcept override;
  void written(Context& context) noexcept override;
  void signalled(uint64_t word) noexcept override;
  void listen() noexcept override;
  bool write(const Transfer& transfer, bool told) noexcept;
  bool rang(uint64_t number) const noexcept { return bells()[number % kBells] >> 56 == lap(number); }
  const uint64_t* bells() const noexcept { return reinterpret_cast<const uint64_t*>(bells_.data()); }
  bool owes() const noexcept { return rings_ && seen_ - told_ >= kBells / 2; }

  const bool rings_;
  Mapping bells_;
  std::unique_ptr<Write[]> writes_;
  Fid<fid_mr> bells_mr_, writes_mr_;
  Write* free_write_ = nullptr;
  uint64_t sent_ = 0, seen_ = 0;   // signals
  uint64_t taken_ = 0, told_ = 0;  // of these, as far as the target said, and as I said
  uint64_t look_ = 0;
};

}  // namespace plait::transport::ofi
