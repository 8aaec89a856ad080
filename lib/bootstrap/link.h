// One connection of the bootstrap: socket, handshake, frames both ways. It moves when the poller says so.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "bootstrap/frame.h"
#include "bootstrap/handshake.h"
#include "bootstrap/poller.h"
#include "bootstrap/socket.h"

namespace plait::bootstrap {

class Link final : public Polled {
 public:
  enum class State : uint8_t { connecting, greeting, open, closed };
  // Unproved peers may only say hello; the owner raises it.
  static constexpr size_t kHelloFrame = 4096;
  static constexpr size_t kMostUnsent = kMostFrame + (8u << 20);

  // `fd` is connecting to, or was accepted from, `who`: an address for people.
  Link(Poller& poller, Fd fd, std::string who, Handshake handshake, State state);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() override;

  State state() const noexcept { return state_; }
  // Why it is closed: Code::auth and Code::version of the handshake; Code::peer when the other side closed.
  const Status& status() const noexcept { return status_; }
  const std::string& who() const noexcept { return who_; }
  const Claim& claim() const noexcept { return handshake_.claim(); }
  Address local() const noexcept { return local_address(fd_.get()); }
  int64_t since_ns() const noexcept { return since_ns_; }

  void limit(size_t most) noexcept { opener_.limit(most); }
  // False when it is not open, or the other side has left kMostUnsent bytes unread: then it is closed.
  bool send(ByteView message);
  // The next message; also what had come before the link closed.
  std::optional<Bytes> receive();
  bool flushed() const noexcept { return unsent() == 0; }
  size_t unsent() const noexcept { return output_.size() - sent_; }
  // Nothing more will be sent: says so to the other side once all is written.
  void finish();
  void close(Status status);

  void ready() override;

 private:
  void greet();
  void read();
  void read_greeting();
  void write();
  bool full() const noexcept { return opener_.held() > opener_.limit() + Sealer::kOverhead; }
  void watch();

  Poller& poller_;
  Fd fd_;
  std::string who_;
  uint64_t id_ = 0;
  State state_;
  Status status_;
  Handshake handshake_;
  Sealer sealer_;
  Opener opener_;
  Bytes output_;
  size_t sent_ = 0;
  bool reads_ = true, writes_ = false, finishing_ = false;  // what the poller watches for us
  int64_t since_ns_;
};

}  // namespace plait::bootstrap
