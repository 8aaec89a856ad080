// One TCP connection of an endpoint once it is up: frames out, frames in. send.cc and receive.cc.
#pragma once

#include <array>
#include <span>

#include "base/file.h"
#include "transport/regions.h"
#include "transport/tcp/queue.h"
#include "transport/tcp/wire.h"

struct iovec;

namespace plait::transport::tcp {

class TcpEndpoint;

// Where the domain receives what is small, shared by all its connections: nothing stays in it.
constexpr size_t kScratch = size_t{64} << 10;

class Connection {
 public:
  Connection(TcpEndpoint& endpoint, Lane lane, Pools& pools) noexcept
      : endpoint_(endpoint), lane_(lane), served_(pools.served), frames_(pools.frames) {}
  void start(Fd socket) noexcept { socket_ = std::move(socket); }
  // For good: what it holds is dropped.
  Fd stop() noexcept;
  bool up() const noexcept { return bool(socket_); }
  int fd() const noexcept { return socket_.get(); }
  Lane lane() const noexcept { return lane_; }
  TcpEndpoint& endpoint() noexcept { return endpoint_; }

  // Makes a frame that says how much landed on `about`. False when the peer knows.
  bool stage_ack(Connection& about) noexcept;
  bool owes_ack() const noexcept { return landed_ != told_; }
  // Whether a small put can go out without an Op.
  bool takes_small() const noexcept { return waiting_.empty() && !frames_full(); }
  // Makes it a frame, with a copy of its bytes. `op`: told when it was sent; null: nobody.
  void send_small(const Transfer& transfer, const Place& place, Op* op) noexcept;
  void enqueue(Op& op) noexcept { waiting_.push(op); }
  bool pending() const noexcept;
  // Gives the kernel what it takes of up to `budget` bytes, in `calls` calls.
  void flush(size_t& budget, int calls) noexcept;
  // The very last frame, if the one before it was sent whole.
  void last_word(const Header& header) noexcept;

  // One call to the kernel. False when nothing came.
  bool receive(size_t& budget) noexcept;
  // The peer says that `count` transfers of this lane, of those that asked, have landed. False: that cannot
  // be.
  bool acknowledged(uint64_t count) noexcept;
  bool ended() const noexcept { return ended_; }

  // The domain's notes.
  bool hot = false, listed = false, awaits_room = false;
  uint32_t quiet = 0;  // receives that found nothing, since one that did

 private:
  // send.cc
  bool frames_full() const noexcept { return frames_.size() >= kFrames; }
  void stage(const Header& header) noexcept;
  bool stage_next() noexcept;
  void stage_op() noexcept;
  void stage_answer() noexcept;
  size_t gather(std::span<iovec> parts, std::span<RegionTable::Pin> pins, size_t most,
                size_t& bytes) noexcept;
  void advance(size_t bytes) noexcept;
  void sent(const OutFrame& frame) noexcept;

  // receive.cc
  std::byte* landing(RegionTable::Pin& pin) noexcept;
  void took(size_t bytes) noexcept;
  void parse(ByteView bytes) noexcept;
  size_t begin(ByteView bytes) noexcept;
  bool check(const Header& header) noexcept;
  bool awaits(const Header& data) noexcept;
  void finish() noexcept;
  void end(int error) noexcept;

  TcpEndpoint& endpoint_;
  const Lane lane_;
  Fd socket_;

  // Out.
  OpQueue waiting_;           // not, or not all, in frames
  OpQueue unacked_;           // in frames, to be acknowledged
  OpQueue gets_;              // to be answered
  SlabQueue<Served> served_;  // to answer, kDepth at most
  SlabQueue<OutFrame> frames_;
  size_t staged_bytes_ = 0;  // of frames_
  size_t front_sent_ = 0;    // of the first of them
  uint64_t asked_ = 0, acked_ = 0;
  bool answered_last_ = false;
  int broken_ = 0;  // errno of a send

  // In.
  Header frame_;
  size_t left_ = 0;     // bytes of frame_ that did not come yet
  bool bulky_ = false;  // the latest frame was long: the next may be, and is best received where it belongs
  std::array<std::byte, sizeof(Header)> carry_{};  // a header in parts
  size_t carried_ = 0;
  uint64_t landed_ = 0, told_ = 0;  // transfers that asked
  bool ended_ = false;
};

}  // namespace plait::transport::tcp
