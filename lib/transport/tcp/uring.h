// The engine with a ring of io_uring. Connections that carry what is small are fed by it: the kernel puts
// what comes into buffers of the ring, and a poll finds it there without a system call. Bulk goes straight to
// where it belongs, so it is received as polled sockets do. What several connections have to send leaves with
// one call.
#pragma once

#include <sys/socket.h>

#include <memory>
#include <vector>

#include "base/file.h"
#include "transport/tcp/connection.h"
#include "transport/tcp/polled.h"
#include "transport/tcp/ring.h"

namespace plait::transport::tcp {

class UringEngine final : public PolledEngine {
 public:
  explicit UringEngine(Poller& poller) noexcept;
  ~UringEngine() override;
  Status start();

  std::string_view name() const noexcept override { return "rings of io_uring"; }
  void reserve(size_t connections) override;
  uint32_t add(Connection& connection) noexcept override;
  void remove(Connection& connection) noexcept override;
  void stirred(Connection& connection) noexcept override;
  void posted(Connection& connection, bool queued) noexcept override;
  bool gives_at_once() const noexcept override;
  bool is_look_due() noexcept override;
  void looked(size_t events) noexcept override;
  void move(size_t& budget) noexcept override;
  bool drain(Connection& connection, size_t& budget) noexcept override;
  bool arm() noexcept override;
  int wait_fd() const noexcept override { return sleep_.get(); }

 private:
  static constexpr size_t kBatch = 32;  // connections that send with one call

  // What the ring has to do with a connection. leaving: what came is still taken, then it is polled.
  enum class Phase : uint8_t { none, fed, leaving };
  struct Feed {
    Connection* connection = nullptr;
    uint32_t generation = 0;  // of the request in its name
    Phase phase = Phase::none;
    bool asked = false;  // there is one
  };
  struct News {
    uint64_t name;
    int result;
    unsigned flags;
  };
  // One connection's part of a batch.
  struct Letter {
    Connection* connection = nullptr;
    io_uring_sqe* request = nullptr;
    Outgoing out;
    msghdr message{};
  };

  // uring.cc
  Feed* feed_of(const Connection& connection) noexcept;
  void ask(Feed& feed) noexcept;
  void leave(Feed& feed) noexcept;
  void cancel(const Feed& feed) noexcept;
  void end(Feed& feed) noexcept;
  void hand_over(Feed& feed) noexcept;
  void submit() noexcept;

  uint64_t name_of(const Feed& feed) const noexcept;

  // uring_move.cc
  void take(size_t& budget) noexcept;
  void came(const News& news, size_t& budget) noexcept;
  void came(Feed& feed, const News& news, ByteView bytes) noexcept;
  void ended(Feed& feed, int result) noexcept;
  void send_together(size_t& budget) noexcept;
  bool write(Letter& letter, Connection& connection, size_t& left) noexcept;
  void post(size_t letters, size_t& budget) noexcept;

  Poller& poller_;
  const int pid_;
  Ring in_, out_;  // out_: all that it is given is over when the call returns
  BufferRing buffers_;
  Fd sleep_;  // epoll: the poller and in_
  std::vector<Feed> feeds_;
  std::vector<uint32_t> free_;    // of feeds_
  std::vector<uint32_t> hungry_;  // fed, but nothing is asked in their name
  std::unique_ptr<Letter[]> letters_;
  size_t turn_ = 0;
  bool out_works_ = true;
  bool watching_ = false;  // the ring will tell when epoll has something
};

}  // namespace plait::transport::tcp
