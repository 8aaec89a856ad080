// What moves bytes between the connections of a domain and the kernel, once they are up. There are two: one
// asks the sockets (polled.h), the other one has a ring of the kernel's tell it what came (uring.h). What
// travels is the same.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"
#include "transport/tcp/tcp.h"

namespace plait::transport::tcp {

class Connection;
class Poller;
class TcpEndpoint;

// Where a domain receives what is small, shared by all its connections: nothing stays in it.
constexpr size_t kScratch = size_t{64} << 10;
constexpr size_t kTold = 32;  // events of epoll that are taken at a time

// System calls, since the start.
struct Counts {
  uint64_t sends = 0, receives = 0;
  uint64_t looks = 0;   // at epoll
  uint64_t enters = 0;  // of the ring
  uint64_t all() const noexcept { return sends + receives + looks + enters; }
};

// Of one domain, and used as that is: by one thread at a time. Nothing here waits for a peer.
class Engine {
 public:
  Engine() : scratch_(std::make_unique_for_overwrite<std::byte[]>(kScratch)) {}  // no page before it is used
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;
  virtual std::string_view name() const noexcept = 0;

  // There will be so many connections at most: nothing is allocated for them later.
  virtual void reserve(size_t connections) = 0;
  // `connection` is up. The events that epoll is to watch it for.
  virtual uint32_t add(Connection& connection) noexcept = 0;
  // It goes, and its socket is still there. No byte of it is taken or given any more.
  virtual void remove(Connection& connection) noexcept = 0;
  // The endpoint is destroyed: drops what is known of its connections.
  virtual void forget(TcpEndpoint& endpoint) noexcept = 0;

  // There is something to receive, or to send.
  virtual void stirred(Connection& connection) noexcept = 0;
  virtual void wants_to_send(Connection& connection) noexcept = 0;
  // The same, from post(). `queued`: something was there to send before.
  virtual void posted(Connection& connection, bool queued) noexcept = 0;
  // Does the kernel get what is posted before posted() comes back?
  virtual bool gives_at_once() const noexcept = 0;

  // Whether epoll is to be asked before this poll moves anything; once a poll.
  virtual bool is_look_due() noexcept = 0;
  // Epoll was asked, and had so many events.
  virtual void looked(size_t events) noexcept = 0;
  // Bytes in and bytes out, `budget` at most, and the rest of the packet that spends it.
  virtual void move(size_t& budget) noexcept = 0;
  // All that came on a connection whose peer may have gone. False: there may be more.
  virtual bool drain(Connection& connection, size_t& budget) noexcept = 0;

  // Before a sleep. False: there is something to do.
  virtual bool arm() noexcept = 0;
  virtual int wait_fd() const noexcept = 0;

  std::span<std::byte> scratch() noexcept { return std::span(scratch_.get(), kScratch); }
  Counts counts;

 private:
  std::unique_ptr<std::byte[]> scratch_;
};

// The one asked for, or polled sockets where the kernel refuses it, which is said in the log of `label`.
std::unique_ptr<Engine> make_engine(EngineKind kind, Poller& poller, const std::string& label);
// Code::unsupported, and why, where this build or this kernel has no io_uring, or too old a one.
Result<std::unique_ptr<Engine>> make_uring_engine(Poller& poller);

}  // namespace plait::transport::tcp
