// One TCP connection of an endpoint once it is up: frames out (stage.cc, send.cc), frames in (receive.cc).
#pragma once

#include <sys/uio.h>

#include <array>
#include <span>

#include "base/file.h"
#include "transport/regions.h"
#include "transport/tcp/engine.h"
#include "transport/tcp/queue.h"
#include "transport/tcp/tls.h"
#include "transport/tcp/wire.h"

namespace plait::transport::tcp {

class TcpEndpoint;

// What goes to the kernel with one call, pinned for as long.
struct Outgoing {
  static constexpr size_t kParts = 64, kPins = 8;  // pins: regions
  std::array<iovec, kParts> parts;
  std::array<RegionTable::Pin, kPins> pins;
  size_t count = 0, bytes = 0;

  std::span<iovec> span() noexcept { return std::span(parts).first(count); }
  void clear() noexcept {
    for (auto& pin : pins) pin = {};
    count = bytes = 0;
  }
};

class Connection {
 public:
  Connection(TcpEndpoint& endpoint, Lane lane, Pools& pools, Engine& engine) noexcept
      : endpoint_(endpoint), engine_(engine), lane_(lane), served_(pools.served), frames_(pools.frames) {}
  // With TLS, or null.
  void start(Fd socket, std::unique_ptr<Tls> tls) noexcept {
    socket_ = std::move(socket);
    tls_ = std::move(tls);
  }
  // For good: what it holds is dropped.
  Fd stop() noexcept;
  bool up() const noexcept { return bool(socket_); }
  int fd() const noexcept { return socket_.get(); }
  Lane lane() const noexcept { return lane_; }
  TcpEndpoint& endpoint() noexcept { return endpoint_; }

  // Makes a frame that says how much landed on `about`. False when the peer knows.
  bool stage_ack(Connection& about) noexcept;
  bool owes_ack() const noexcept { return landed_ != told_; }
  bool holds_ack() const noexcept { return acks_ != 0; }  // staged, and not sent
  // Whether a small put can go out without an Op.
  bool takes_small() const noexcept { return waiting_.empty() && !frames_full(); }
  // Makes it a frame, with a copy of its bytes. `op`: told when it was sent; null: nobody.
  void send_small(const Transfer& transfer, const Place& place, Op* op) noexcept;
  // Gives it to the kernel, and what that does not take becomes one. Only where sends_now().
  void send_now(const Transfer& transfer, const Place& place) noexcept;
  // Nothing is before what is posted, and it need not wait for what is posted to others.
  bool sends_now() const noexcept {
    return up() && broken_ == 0 && !tls_ && engine_.gives_at_once() && !pending();
  }
  void enqueue(Op& op) noexcept { waiting_.push(op); }
  bool pending() const noexcept;
  void wants_to_send() noexcept { engine_.wants_to_send(*this); }
  // Gives the kernel what it takes, in `calls` calls, until `budget` bytes are spent: the last call is a
  // whole packet all the same.
  void flush(size_t& budget, int calls) noexcept;
  // The same in two halves: what to send, `most` bytes at most (false: nothing), and what came of it: bytes
  // that the kernel took, or -errno. False: it did not take all.
  bool offer(Outgoing& out, size_t most) noexcept;
  bool accepted(size_t offered, ssize_t result) noexcept;
  // The very last frame, if the one before it was sent whole.
  void last_word(const Header& header) noexcept;

  // One call to the kernel. False when nothing came.
  bool receive(size_t& budget) noexcept;
  // The same for who is to answer soon: short frames are taken, and stay with the kernel until then. A socket
  // that is read empty acknowledges at once, with a packet of its own, and takes as long for that as for the
  // message; one that is not, waits for the answer to carry it.
  bool sip(size_t& budget) noexcept;
  // Leaves nothing with the kernel. False when more came.
  bool settle() noexcept;
  // Bytes that came by other ways than receive(), in their order; and the end, 0 or errno.
  void arrived(ByteView bytes) noexcept;
  void end(int error) noexcept;
  size_t awaited() const noexcept { return left_; }  // of the current frame
  // ", TLSv1.3, ..."; empty without.
  std::string seal() const { return tls_ ? ", " + tls_->name() : std::string(); }
  // receive() may have more, of which the kernel does not tell.
  bool holds() const noexcept { return tls_ && tls_->holds(); }
  // The peer says that `count` transfers of this lane, of those that asked, have landed. False: that cannot
  // be.
  bool acknowledged(uint64_t count) noexcept;
  bool ended() const noexcept { return ended_; }
  // The kernel has its end, or an error, to tell behind what it holds.
  void ends() noexcept { sips_ = false; }

  // The engine's notes.
  uint32_t watched = 0;  // events that epoll watches it for
  uint32_t feed = 0;     // its number there, from 1; 0: none
  bool hot = false, listed = false, awaits_room = false, held = false;
  bool unwatched = false;  // epoll does not have it
  uint32_t quiet = 0;      // receives that found nothing, since one that did
  uint32_t gains = 0;      // that found something, since epoll had to have it

 private:
  // stage.cc
  void stage(const Header& header) noexcept;
  bool stage_next() noexcept;
  void stage_op() noexcept;
  void stage_answer() noexcept;

  // send.cc
  ssize_t give(std::span<iovec> parts) noexcept;
  bool frames_full() const noexcept { return frames_.size() >= kFrames; }
  size_t stage_call() noexcept;  // bytes that one call may take
  bool gather(Outgoing& out, size_t most) noexcept;
  void advance(size_t bytes) noexcept;
  void left() noexcept;
  void sent(const OutFrame& frame) noexcept;

  // receive.cc
  bool between_frames() const noexcept { return left_ == 0 && carried_ == 0; }
  bool nothing_came(ssize_t got) noexcept;
  bool may_sip() const noexcept;
  void drop_seen() noexcept;
  struct Landing;
  bool find(Landing& landing, size_t most) noexcept;
  bool store(ByteView bytes) noexcept;
  bool store_whole(const RegionTable::Pin& to, ByteView bytes) noexcept;
  void took(const Landing& landing, size_t bytes) noexcept;
  void parse(ByteView bytes) noexcept;
  size_t begin(ByteView bytes) noexcept;
  bool check(const Header& header, RegionTable::Pin& to) noexcept;
  bool awaits(const Header& data) noexcept;
  void finish() noexcept;

  TcpEndpoint& endpoint_;
  Engine& engine_;
  const Lane lane_;
  Fd socket_;
  std::unique_ptr<Tls> tls_;  // destroyed before it

  // Out.
  OpQueue waiting_;           // not, or not all, in frames
  OpQueue unacked_;           // in frames, to be acknowledged
  OpQueue gets_;              // to be answered
  SlabQueue<Served> served_;  // to answer, kDepth at most
  SlabQueue<OutFrame> frames_;
  size_t staged_bytes_ = 0;  // of frames_
  size_t front_sent_ = 0;    // of the first of them
  size_t acks_ = 0;          // among them
  uint64_t asked_ = 0, acked_ = 0;
  bool answered_last_ = false;
  int broken_ = 0;  // errno of a send

  // In.
  Header frame_;
  size_t left_ = 0;  // bytes of frame_ that did not come yet
  bool bulky_ =
      false;  // of the two latest frames one was long: the next may be, and is best received where it belongs
  bool was_bulky_ = false;                         // the latest
  std::array<std::byte, sizeof(Header)> carry_{};  // a header in parts
  size_t carried_ = 0;
  uint64_t landed_ = 0, told_ = 0;  // transfers that asked
  bool ended_ = false;
  bool sips_ = true;
  size_t seen_ = 0;          // bytes that were taken, and that the kernel still holds
  uint32_t unanswered_ = 0;  // sips since anything was sent, or read to the end
};

}  // namespace plait::transport::tcp
