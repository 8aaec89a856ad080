// Messages: tagged send and receive between two ranks, written once above Domain. docs/transport.md tells how
// they move.
//
// The k-th send of a tag meets the k-th receive slot of that tag, in the order of posting on either side; a
// receive may have several slots, which is one request. (So sends fill the oldest receive that has a slot of
// their tag.) A slot may be longer than its message, not shorter: then both requests end with Code::mismatch
// and the link goes on.
//
// Short messages go at once and wait at the receiver. Long ones go straight from the sender's memory to the
// receiver's, as soon as the sender knows where; a receive that was posted before is known, so they need not
// ask. Memory without a region, or that the peer cannot reach, is copied through parts.
//
// Threads: one at a time, that of the domain. Regions may be made and destroyed by any thread meanwhile.
#pragma once

#include "transport/message_receive.h"
#include "transport/message_send.h"

namespace plait::transport {

// Cookies of Dones, from MessageWiring::first_cookie.
constexpr uint64_t kMessageCookies = kMessageSends;

// Both directions of messages with one peer. Allocates nothing once made, but for sentences about errors and
// when it learns of a region of the peer's for the first time.
class MessageLink {
 public:
  // `peer` is what errors call the other side. What `wiring` points to outlives the link; MessageMemory is
  // zeroed.
  MessageLink(const MessageWiring& wiring, std::string_view peer);
  MessageLink(const MessageLink&) = delete;
  MessageLink& operator=(const MessageLink&) = delete;

  // Sends `data`, which stays as it is until the request is done: then it left, though it may not have
  // arrived. Null: no room until a request is released, or status() is not ok. `at_once`: else it leaves with
  // the next progress(), together with others.
  MessageRequest* send(uint32_t tag, const LocalSlice& data, bool at_once = true) noexcept;
  // Receives into 1 to kMessageTogether slots. Null: as above.
  MessageRequest* receive(std::span<const MessageSlot> slots) noexcept;
  MessageRequest* receive(uint32_t tag, const LocalSlice& data) noexcept {
    const MessageSlot one{tag, data};
    return receive({&one, 1});
  }
  // Gives a request back that is done.
  void release(MessageRequest* request) noexcept;

  // The same for short messages (kEagerBytes) of a peer that is mapped, without a request: done when they
  // come back. False: not now, and nothing happened. `moved`: bytes that came. receive_now() does not wait;
  // it takes no message while others wait. `waits`: the peer is likely to receive it at once, and the caller
  // can afford to look on for two microseconds.
  bool send_now(uint32_t tag, const std::byte* data, size_t bytes, bool waits = false) noexcept {
    return status_.ok() && sends_.send_now(tag, data, bytes, waits);
  }
  bool receive_now(uint32_t tag, std::byte* data, size_t room, size_t& moved) noexcept {
    return status_.ok() && receives_.receive_now(tag, data, room, moved);
  }
  // message_inline.h: the same of messages whose bytes lie in their line (kInlineBytes), in few instructions;
  // the receive looks for one `looks` times more than once. False: also where the two above would do it.
  [[gnu::always_inline]] bool send_inline(uint32_t tag, const std::byte* data, uint32_t bytes) noexcept;
  [[gnu::always_inline]] bool receive_inline(uint32_t tag, std::byte* data, size_t room, uint32_t looks,
                                             size_t& moved) noexcept;
  bool takes_now() const noexcept { return status_.ok() && receives_.takes_now(); }
  // Mapped: has anything landed that was not taken yet?
  bool has_landed() const noexcept { return lines_.has_landed(); }
  // Mapped, after has_landed(): fetches a line that the peer should have written, too.
  void fetch_ahead() const noexcept { lines_.fetch(1); }
  // Must progress() tell the peer what was consumed?
  bool owes_credit() const noexcept { return lines_.owes(false); }

  // Moves every request on; call it after each poll of the domain, and once more between arm() and sleeping.
  // True when something moved.
  bool progress() noexcept;
  // Dones of the domain whose cookies are the link's, and the one of its endpoint's own cookie.
  void done(const Done& done) noexcept;

  // Ends every request with `status`, and closes the endpoint so that no buffer is touched any more. The
  // first time counts. What the link itself finds wrong (the peer died, or broke the rules) does the same.
  void fail(const Status& status) noexcept;
  void close() noexcept;  // fail() with Code::aborted; waits for nobody
  const Status& status() const noexcept { return status_; }
  // The first request of all that failed alone, which may be a later one than who asks: ok, or its sentence.
  const Status& trouble() const noexcept {
    return receives_.trouble().ok() ? sends_.trouble() : receives_.trouble();
  }
  // How many requests ended and were not released yet.
  uint32_t ended() const noexcept { return sends_.ended() + receives_.ended(); }
  uint64_t first_cookie() const noexcept { return wiring_.first_cookie; }
  // Has all that was written been posted? Then messages that are done arrive though this rank polls no more.
  bool flushed() noexcept { return lines_.flush(); }

 private:
  bool take_lines() noexcept;
  const char* take(const MessageLine& line) noexcept;
  void broke_rules(const char* what) noexcept;
  bool give_credit() noexcept;

  const MessageWiring wiring_;
  const std::string peer_;
  MessageLines lines_;
  MessageSends sends_;
  MessageReceives receives_;
  Status status_;
};

}  // namespace plait::transport
