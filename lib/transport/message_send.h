// The sending half of a message link: announces messages in order, finds out from the peer's posts and grants
// where they go, and moves their bytes.
#pragma once

#include <array>
#include <memory>

#include "base/ring.h"
#include "transport/message_burst.h"
#include "transport/message_lines.h"
#include "transport/message_pool.h"
#include "transport/message_request.h"

namespace plait::transport {

class MessageSends {
 public:
  MessageSends(const MessageWiring& wiring, MessageLines& lines, std::string_view peer);

  // Null: no room now.
  MessageRequest* start(uint32_t tag, const LocalSlice& data) noexcept;
  void release(MessageRequest* request) noexcept;
  // Are no messages on their way?
  bool idle() const noexcept { return queued_.empty() && moving_.empty() && shared_.empty(); }

  // Sends a short message without a request, and it has left. False: it cannot go so now. `waits`: its caller
  // would wait a moment for the peer to take it where it lies.
  bool send_now(uint32_t tag, const std::byte* data, size_t bytes, bool waits) noexcept;

  // message_inline.h: the same of one of kInlineBytes at most.
  [[gnu::always_inline]] bool send_inline(uint32_t tag, const std::byte* data, uint32_t bytes) noexcept;

  // A line that refusal() let pass. Null, or what is wrong with it, as part of a sentence.
  const char* take(const MessageLine& line) noexcept;
  // May a region line be taken, or is what it replaces still in use by a put whose Done is on its way?
  bool can_take_region(uint16_t id) const noexcept { return regions_[id].uses == 0; }
  // Announces, starts and moves what it can. True when something moved.
  bool advance() noexcept;
  // The piece of this send has left.
  void left(uint32_t send) noexcept;
  // Ends everything.
  void fail(const Status& status) noexcept;
  // The first message that did not fit what it met, if any.
  const Status& trouble() const noexcept { return trouble_; }
  // How many requests ended and were not released yet.
  uint32_t ended() const noexcept { return ended_; }

 private:
  static constexpr size_t kMostPieces = 4;  // under way: others share the endpoint
  static constexpr size_t kPieceBytes = 256 * 1024;
  enum class Phase : uint8_t { free, queued, leaving, asked, granted, moving };
  struct Send {
    MessageRequest request;
    Phase phase = Phase::free;
    bool streamed = false, shared = false;
    uint16_t generation = 0, region = 0;
    uint32_t tag = 0, slot = 0, line = 0;
    uint32_t under_way = 0;  // pieces
    uint32_t parts = 0;      // where it is streamed
    uint32_t share = 0;      // its number, where both copy it
    LocalSlice data;
    uint64_t offset = 0, moved = 0;
  };
  // A slot of the peer's that waits for a message.
  struct Post {
    uint32_t tag = 0, slot = 0, ahead = 0;
    uint16_t region = 0;
    uint64_t offset = 0, room = 0;
  };
  struct Sent {
    uint32_t tag = 0;
    uint16_t asked = kNoIndex;  // a send that waits for its grant
  };
  struct Target {
    std::unique_ptr<RemoteRegion> remote;
    uint32_t uses = 0;
  };

  bool may_lend(const std::byte* data, size_t bytes) noexcept;
  void lend(uint32_t tag, const std::byte* data, uint32_t bytes) noexcept;
  uint64_t offset_in_arena(const std::byte* data) const noexcept {
    return uint64_t(data - static_cast<const std::byte*>(wiring_.arena->memory().base));
  }

  bool announce(Send& send) noexcept;
  void announce_eager(Send& send) noexcept;
  void announce_long(Send& send, const Post* post) noexcept;
  const Post* post_of(uint32_t tag) const noexcept;
  [[gnu::always_inline]] void count_message(uint32_t tag, uint16_t asked) noexcept {
    sent_[messages_++ % kMessageLines] = {tag, asked};
    if (post_count_ != 0) [[unlikely]]
      count_at_posts(tag);
  }
  void count_at_posts(uint32_t tag) noexcept;
  bool aim(Send& send, const Post& post) noexcept;
  bool may_share(const Send& send) const noexcept;
  void share(Send& send, MessageLine& line) noexcept;
  SharedCopy copy_of(const Send& send) const noexcept;
  void write_start(Send& send, LineKind kind) noexcept;
  bool start_granted() noexcept;

  const char* take_post(const MessageLine& line) noexcept;
  const char* take_grant(const MessageLine& line) noexcept;
  const char* take_region(const MessageLine& line) noexcept;
  const char* take_key(const MessageLine& line) noexcept;
  void learn_key(const MessageLine& line, uint32_t at) noexcept;
  const char* grant(Send& send, const Post& post) noexcept;

  bool move() noexcept;
  bool move_all(Send& send, bool& moved) noexcept;
  bool move_some(Send& send) noexcept;  // false: not now
  bool move_piece(Send& send) noexcept;
  bool fill_part(Send& send) noexcept;
  bool move_parts(Send& send) noexcept;
  Transfer part_of(const std::byte* from, size_t bytes, uint32_t i) noexcept;
  uint32_t pieces(const Send& send) const noexcept;
  uint32_t parts(const Send& send) const noexcept;
  void leave(Send& send) noexcept;
  bool finish_shared() noexcept;
  bool has_left(const Send& send) const noexcept;
  void finish_left() noexcept;
  void end(Send& send) noexcept;
  void too_long(Send& send, uint64_t room) noexcept;

  const MessageWiring wiring_;
  MessageLines& lines_;
  const std::string peer_;
  const size_t piece_bytes_;
  const bool needs_region_;
  std::array<Send, kMessageSends> sends_;
  IndexPool<kMessageSends> free_;
  // In order: to be announced; posted whole, or to be, and not known to have left; to be started; being
  // moved; shared, with all chunks taken.
  Ring<uint16_t, kMessageSends> queued_, leaving_, granted_, moving_, shared_;
  uint32_t shares_ = 0, shares_done_ = 0;  // messages that both copy: announced; done
  MessageBurst burst_;                     // sends that have not ended
  std::array<Post, kMessageSlots> posts_;
  size_t post_count_ = 0;
  std::array<Sent, kMessageLines> sent_;  // the latest messages, by number
  uint32_t messages_ = 0;                 // announced
  uint32_t heard_ = 0;                    // lines of the peer's when one could have been lent last
  uint32_t rest_ = 0, resting_ = 0;       // messages that are not lent after one that was withdrawn; still
  size_t under_way_ = 0;                  // pieces
  uint32_t parts_ready_ = 0;              // of the next parts, those that were filled, and refused
  std::array<Target, kMessageRegions> regions_;
  // A region of the peer's whose key is coming.
  struct Coming {
    uint16_t region = 0;
    uint32_t bytes = 0, lines = 0;  // of the whole key; that came
    std::array<std::byte, kMessageKeyLines * kMessageKeyBytes> key{};
  } coming_;
  Status trouble_;
  uint32_t ended_ = 0;
};

}  // namespace plait::transport
