// The receiving half of a message link: finds the slot that each message meets, tells the peer where it may
// put, and sees what landed. It alone decides what meets what; the peer comes to the same answer by counting.
#pragma once

#include "base/ring.h"
#include "transport/message_burst.h"
#include "transport/message_lines.h"
#include "transport/message_pool.h"
#include "transport/message_request.h"

namespace plait::transport {

// Where a message of a tag may go.
struct MessageSlot {
  uint32_t tag = 0;
  LocalSlice
      data;  // region: exposed with Access::write or both, for bytes to be put there; null: they are copied
};

// Which units hold messages that nobody has taken yet. They come in order, leave in any, and are given back
// in order.
class UnitLedger {
 public:
  // Where the next message's n units begin. False when there are not so many.
  bool take(uint32_t n, uint32_t& at) noexcept;
  void give(uint32_t at) noexcept;
  // Both at once, where none are taken.
  bool pass(uint32_t n, uint32_t& at) noexcept {
    if (head_ != tail_) return false;
    at = place_units(head_, n);
    head_ = tail_ = at + n;
    return true;
  }
  // The same of one, where none are held: gives what given() is then.
  uint32_t pass() noexcept { return tail_ = ++head_; }
  bool room(uint32_t n) const noexcept { return place_units(head_, n) + n - tail_ <= kUnits; }
  uint32_t given() const noexcept { return tail_; }
  uint32_t held() const noexcept { return head_ - tail_; }

 private:
  void note(uint32_t from, uint32_t to, bool free) noexcept;
  uint32_t head_ = 0, tail_ = 0;
  std::array<uint32_t, kUnits> end_{};  // by first unit
  std::array<bool, kUnits> free_{};
};

class MessageReceives {
 public:
  static constexpr uint32_t kMost = kMessageSlots;

  MessageReceives(const MessageWiring& wiring, MessageLines& lines, std::string_view peer);

  // Null: no room now.
  MessageRequest* start(std::span<const MessageSlot> slots) noexcept;
  void release(MessageRequest* request) noexcept;

  // Receives a short message that landed without a request. False: none that may be received so.
  bool receive_now(uint32_t tag, std::byte* data, size_t room, size_t& moved) noexcept;
  // message_inline.h: the same of one whose bytes lie in its line, for which it looks `looks` times.
  [[gnu::always_inline]] bool receive_inline(uint32_t tag, std::byte* data, size_t room, uint32_t looks,
                                             size_t& moved) noexcept;
  // May any? Not behind others that wait, or came and are waited for.
  bool takes_now() const noexcept {
    return lines_.mapped() && waiting_.first() == kNoIndex && early_.first() == kNoIndex;
  }

  // A line that refusal() let pass. Null, or what is wrong with it, as part of a sentence.
  const char* take(const MessageLine& line) noexcept;
  // The same of one that lends. False: it stays the next one, as nobody receives it, or it was withdrawn:
  // soon it is an eager one.
  bool take_lent(const MessageLine& line, const char*& why) noexcept;
  // What landed since. True when something did.
  bool land() noexcept;
  // Tells the peer of slots. True when something was told.
  bool advance() noexcept;
  void fail(const Status& status) noexcept;
  const Status& trouble() const noexcept { return trouble_; }
  uint32_t ended() const noexcept { return ended_; }
  // Does a message come through the parts just now?
  bool streamed() noexcept { return !coming_.empty() && coming_.front().streamed; }

 private:
  enum class Phase : uint8_t { free, waiting, matched, refusing, receiving, ended };
  struct Slot {
    Phase phase = Phase::free;
    bool posted = false;  // the peer knows it
    bool due = false;     // in due_
    uint16_t generation = 0, request = 0, place = 0, region = 0;
    uint32_t tag = 0, send = 0;
    uint64_t bytes = 0;  // of its message
    LocalSlice data;
  };
  // A message that came before its receive.
  struct Arrival {
    bool asked = false;
    uint32_t tag = 0, unit = 0, send = 0;
    uint64_t bytes = 0;
    std::array<std::byte, kInlineBytes> inlined;
  };
  // A message whose bytes are on their way.
  struct Coming {
    uint16_t slot = 0;
    bool streamed = false, shared = false;
    uint32_t pieces = 0;
    uint64_t copied = 0;  // through parts
    // Where both copy it:
    uint32_t share = 0;  // its number
    bool taken = false;  // all its chunks were
    const std::byte* from = nullptr;
  };
  struct Told {
    std::array<std::byte, kMessageKeyMost> key{};
    size_t key_bytes = 0;
    uint32_t uses = 0;  // by slots
    uint64_t latest = 0;
  };
  static constexpr size_t kArrivals = kUnits + kMessageSends;
  static constexpr uint32_t kPartLooks = 64;         // for the next part, where the peer maps them
  static constexpr size_t kShareBytes = 256 * 1024;  // that it copies in one go of messages that both copy

  uint16_t waiting_for(uint32_t tag) const noexcept;
  uint16_t arrived(uint32_t tag) const noexcept;
  const char* take_eager(const MessageLine& line) noexcept;
  bool receive_lent(const MessageLine& line, uint32_t tag, std::byte* data, size_t room,
                    size_t& moved) noexcept;
  const std::byte* lent_at(uint64_t offset, uint64_t bytes) const noexcept;
  const char* take_ask(const MessageLine& line) noexcept;
  const char* take_direct(const MessageLine& line) noexcept;
  const char* take_start(const MessageLine& line) noexcept;
  const char* expect(uint16_t slot, const MessageLine& line) noexcept;
  const char* expect_shared(Coming& coming, const MessageLine& line) noexcept;
  void deliver(uint16_t slot, const std::byte* from, uint64_t bytes) noexcept;
  void match(uint16_t slot, uint64_t bytes, uint32_t send) noexcept;
  void meet(uint16_t slot, uint16_t arrival) noexcept;

  void owe(uint16_t slot) noexcept;
  bool tell(uint16_t slot) noexcept;
  void write_place(const Slot& slot, MessageLine& line) const noexcept;
  uint32_t ahead_of(uint16_t slot) const noexcept;
  uint16_t region_of(const Slot& slot) noexcept;
  void tell_key(uint16_t region, ByteView key) noexcept;
  bool is_whole(Coming& coming, uint64_t landed, bool& moved) noexcept;
  bool copy_shared() noexcept;
  SharedCopy copy_of(const Coming& coming) const noexcept;
  bool land_parts(Coming& coming, uint64_t landed) noexcept;
  bool has_part(uint64_t landed) noexcept;

  void end(uint16_t slot, size_t bytes) noexcept;
  void too_long(uint16_t slot, uint64_t bytes) noexcept;

  const MessageWiring wiring_;
  MessageLines& lines_;
  const std::string peer_;
  std::array<MessageRequest, kMost> requests_;
  IndexPool<kMost> free_requests_;
  std::array<Slot, kMessageSlots> slots_;
  IndexPool<kMessageSlots> free_slots_;
  IndexList<kMessageSlots> waiting_;   // in the order of posting, without a message
  Ring<uint16_t, kMessageSlots> due_;  // that the peer may have to be told of
  std::array<Arrival, kArrivals> arrivals_;
  IndexPool<kArrivals> free_arrivals_;
  IndexList<kArrivals> early_;  // in the order of coming, without a receive
  UnitLedger units_;
  uint32_t messages_ = 0;               // that came
  Ring<Coming, kMessageSlots> coming_;  // in the order of their bytes
  uint64_t landed_ = 0;                 // pieces and parts that were counted
  uint32_t shares_ = 0;                 // messages that both copy, announced
  MessageBurst burst_;                  // slots that have not ended
  std::array<Told, kMessageRegions> told_;
  uint64_t tells_ = 0;
  Status trouble_;
  uint32_t ended_ = 0;
};

}  // namespace plait::transport
