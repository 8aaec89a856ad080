// Another rank, as a communicator knows it: not at all until a plan needs it, then by a short conversation
// (tickets, keys, readiness) over an authenticated connection, then by an endpoint, a mailbox and a board.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/pages.h"
#include "bootstrap/meeting.h"
#include "collectives/machine/real/commons.h"
#include "runtime/board.h"
#include "runtime/fabric.h"
#include "transport/mailbox.h"
#include "transport/message.h"
#include "transport/transport.h"

namespace plait::runtime {

// Whose board has not moved for so long is silent: a waiting rank looks about far more often.
constexpr int64_t kSilentNs = 1'000'000'000;
// And for so long, whom it blames is no longer believed: it may have come since.
constexpr int64_t kForgottenNs = 3 * kSilentNs;

// What a rank has to connect with; outlives its peers.
struct Local {
  int32_t rank = 0;
  Fabric* fabric = nullptr;
  transport::shm::Arena* arena = nullptr;
  Board* board = nullptr;                    // of its Stand, in the arena
  const transport::Region* probe = nullptr;  // a word of plain memory, for peers to try to get; may be null
};

// What a rank shows all others; peers on its host map both.
struct alignas(64) Stand {
  Board board;
  collectives::real::Commons commons;
};
static_assert(sizeof(Stand) <= kPageBytes);

// What a rank keeps for a peer that does not map its memory.
struct alignas(64) RemoteBlock {
  Board board;  // the peer's copy of its own; in the page of the head of the mailbox
  transport::LinkMemory mail;
  transport::MessageMemory messages;
};
constexpr uint64_t kMailOffset = transport::kHeadOffset;  // of `mail` in either block
static_assert(sizeof(Board) == transport::kHeadOffset);
static_assert(sizeof(RemoteBlock) ==
              sizeof(Board) + sizeof(transport::LinkMemory) + sizeof(transport::MessageMemory));

// What a rank keeps in the arena for a peer that maps it.
struct alignas(64) MappedBlock {
  std::byte ahead[transport::kHeadOffset];
  transport::LinkMemory mail;
  transport::MappedMessageMemory messages;
};
static_assert(sizeof(MappedBlock) == transport::kHeadOffset + sizeof(transport::LinkMemory) +
                                         sizeof(transport::MappedMessageMemory));

// A line of the boards travels to peers that do not map them on this counter, after those of the mailbox.
constexpr uint16_t kBoardCounter = transport::kMailboxCounters;
constexpr uint16_t kMessageCounter = kBoardCounter + 2;  // the first of a message link: even
constexpr uint16_t kPeerCounters = kMessageCounter + transport::kMessageCounters;

// Cookies from here on are of message links: kMessageCookies for each rank.
constexpr uint64_t kMessageCookie = uint64_t(1) << 56;

class Peer {
 public:
  // `rank` reached by `way`; `name` is what errors call it ("rank 2 on host b, process 17").
  Peer(const Local& local, int32_t rank, Way way, std::string name) noexcept
      : local_(local), rank_(rank), way_(way), name_(std::move(name)) {}
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Starts the conversation. The peer does the same, on its own account or because it was called.
  Status start(std::unique_ptr<bootstrap::Meeting> meeting);
  // Moves on while connecting; call it until ready(). Not ok: it failed, for good.
  Status step();
  bool ready() const noexcept { return stage_ == Stage::ready; }
  bool mapped() const noexcept { return way_ == Way::shm; }
  Way way() const noexcept { return way_; }
  int32_t rank() const noexcept { return rank_; }
  const std::string& name() const noexcept { return name_; }
  // "connecting: waiting for its answer", for errors.
  std::string_view phase() const noexcept;

  // Valid when ready().
  transport::Endpoint& endpoint() noexcept { return *endpoint_; }
  transport::Mailbox& mailbox() noexcept { return *mailbox_; }
  // Made when it is first asked for.
  transport::MessageLink& messages() { return messages_ != nullptr ? *messages_ : make_messages(); }
  bool has_messages() const noexcept { return messages_ != nullptr; }
  transport::RemoteRegion& memory() noexcept { return *remote_; }  // the arena, or the peer's RemoteBlock
  Board& board() noexcept { return *board_; }                      // the peer's, or this rank's copy of it
  collectives::real::Commons* commons() noexcept {                 // the peer's; null where it is not mapped
    return mapped() ? &reinterpret_cast<Stand*>(board_)->commons : nullptr;
  }
  bool may_pull() const noexcept { return may_pull_; }  // the peer can get from our plain memory

  // Finds, or imports, a region of the peer by its key: as many bytes of `line` as a key has. Null: it is not
  // good.
  transport::RemoteRegion* import(ByteView line);
  // Sends to a peer that does not map the board: its head, when it changed or was not sent for a while, and
  // the records up to operation `number` that it was not sent.
  void show_board(uint64_t number) noexcept;

  // What the peer may still write to stays allocated for good: it gave no sign that it will not.
  void keep_memory() noexcept { mail_ = nullptr; }

  // Its board's beat, looked at now.
  void note_beat(int64_t now_ns) noexcept {
    const uint32_t seen = board_->beat.load(std::memory_order_relaxed);
    if (seen == beat && beat_seen_ns != 0) return;
    beat = seen;
    beat_seen_ns = now_ns;
  }

  bool gone = false;         // its endpoint failed
  uint32_t beat = 0;         // of its board, when it last changed ...
  int64_t beat_seen_ns = 0;  // ... and when that was

 private:
  transport::MessageLink& make_messages();
  enum class Stage : uint8_t { idle, meeting, offered, connecting, answered, ready, failed };
  struct Imported {
    Bytes key;
    std::unique_ptr<transport::RemoteRegion> region;
  };
  Status open();
  Status make_room();
  uint64_t messages_bytes() const noexcept;
  Bytes offer() const;
  Status take_offer(ByteView message);
  Status link_up();
  Status answer(const Status& mine);
  Status take_answer(ByteView message);
  Status fail(Status status) noexcept;
  Status talk();

  const Local& local_;
  const int32_t rank_;
  const Way way_;
  const std::string name_;
  Stage stage_ = Stage::idle;
  std::unique_ptr<bootstrap::Meeting> meeting_;
  // After what it imported and what it writes to is gone: destroyed in this order's reverse.
  Mapping own_, shadow_;       // unmapped: a RemoteBlock, and a copy of the peer's mailbox to put from
  Mapping letters_;            // a copy of the peer's MessageMemory; mapped: of its lines only
  std::byte* mail_ = nullptr;  // mapped: a MappedBlock in the arena
  std::unique_ptr<transport::Landings> landings_;  // of the parts in own_
  std::unique_ptr<transport::Region> own_region_;
  std::unique_ptr<transport::Region> shadow_region_, letters_region_;  // where puts need them
  std::unique_ptr<transport::Endpoint> endpoint_;
  std::unique_ptr<transport::RemoteRegion> remote_;
  std::vector<Imported> plain_;
  Bytes their_key_, their_probe_;
  uint64_t their_mail_ = 0, their_board_ = 0;
  uint16_t their_rings_ = 0;
  std::optional<transport::Mailbox> mailbox_;
  std::unique_ptr<transport::MessageLink> messages_;
  Board* board_ = nullptr;
  bool may_pull_ = false, can_pull_ = false;
  // What the peer was shown of the board.
  uint64_t shown_ = 0, shown_state_ = ~uint64_t(0);
  int64_t shown_ns_ = 0;
};

}  // namespace plait::runtime
