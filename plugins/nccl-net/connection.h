// The conversation by which two processes that share a handle's secret come to a wire: over one authenticated
// TCP connection each offers ticket and key, connects, and says that it can receive. Nothing here waits.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bootstrap/link.h"
#include "bootstrap/poller.h"
#include "wire.h"
#include "words.h"

namespace plait::nccl {

// Marks a claim of the bootstrap's handshake as of this protocol.
constexpr uint32_t kPurpose = 0x6c63'636e;

// What this side brings.
struct Side {
  std::string network;  // alike on both sides
  std::string name;     // this process and its device, for the peer's errors
  size_t rails = 1;     // of its device; a connection has as many as the side that has more
  std::function<Result<std::unique_ptr<transport::Domain>>(size_t rails)> open;
};

class Connection {
 public:
  // `fd` is connecting to, or was accepted from, `who`. `rails`: of the connection; 0: this side listens, and
  // the dialer says.
  static Result<std::unique_ptr<Connection>> make(Fd fd, std::string who, bootstrap::Handshake handshake,
                                                  size_t rails, std::shared_ptr<const Side> side);

  // Moves on; whoever is not ready asks again. Not ok: it ended, with why.
  Status step();
  bool ready() const noexcept { return stage_ == Stage::ready; }
  // The other side proved that it knows the handle.
  bool proved() const noexcept { return stage_ != Stage::greeting; }
  bool dialing() const noexcept { return link_->state() == bootstrap::Link::State::connecting; }
  int64_t since_ns() const noexcept { return link_->since_ns(); }
  const std::string& who() const noexcept { return link_->who(); }
  // "b, process 4711, tcp:eth0", once it offered.
  const std::string& peer() const noexcept { return peer_; }

  const Side& side() const noexcept { return *side_; }

  // Once ready.
  std::unique_ptr<Wire> take_wire() noexcept { return std::move(wire_); }
  // Afterwards: false when the peer's process has ended, or closed its side. For fabrics that cannot tell.
  bool alive();

 private:
  enum class Stage : uint8_t { greeting, offered, connecting, answered, ready };
  Connection(std::string who, size_t rails, std::shared_ptr<const Side> side)
      : who_(std::move(who)), side_(std::move(side)), rails_(rails) {}
  Status talk();
  Status offer();
  Status take_offer(const Offer& offer);
  Status wait_ready();
  // The next word, of which the message is kept until the one after; false: none yet, or `status` says why
  // not.
  bool hear(Word& word, Status& status);
  Status gone() const;

  const std::string who_;
  const std::shared_ptr<const Side> side_;
  size_t rails_;
  bootstrap::Poller poller_;
  std::unique_ptr<bootstrap::Link> link_;
  std::unique_ptr<Wire> wire_;
  Stage stage_ = Stage::greeting;
  std::string peer_;
  Bytes heard_, their_key_;
};

}  // namespace plait::nccl
