// How one of an endpoint's connections comes to be: dialed, address after address, until the peer's answer
// proves that it has this endpoint's ticket; or accepted with a hello that proves it, and answered.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/file.h"
#include "transport/tcp/poller.h"
#include "transport/tcp/socket.h"
#include "transport/tcp/tls.h"
#include "transport/tcp/wire.h"

namespace plait::transport::tcp {

// From where to where to connect.
struct Route {
  Address local, remote;
};

// What the links of an endpoint have in common.
struct Parties {
  Ticket mine, theirs;
  std::string host;           // this one's name
  std::vector<Route> routes;  // best first
  Buffers buffers;
  Poller* poller = nullptr;
  TlsContext* tls = nullptr;  // null: none
  uint64_t watch_id = 0;      // of lane 0, then 1 more a lane
};

class Link {
 public:
  // sealing: TLS's handshake. held: accepted before connect(), silent until then.
  enum class Phase : uint8_t { none, waiting, dialing, sealing, greeting, held, up };

  explicit Link(Lane lane) noexcept : lane_(lane) {}
  Lane lane() const noexcept { return lane_; }
  Phase phase() const noexcept { return phase_; }
  bool up() const noexcept { return phase_ == Phase::up; }
  // The connection, once it is up; the poller watches it.
  Fd take() noexcept { return std::move(socket_); }
  std::unique_ptr<Tls> take_tls() noexcept { return std::move(tls_); }  // null: none
  // Of the peer's hello or answer; once held or up.
  const Hello& hello() const noexcept { return theirs_; }

  // Dials now. An error: there is nobody to connect to, ever.
  Status dial(const Parties& parties);
  // Its descriptor is ready.
  Status ready(const Parties& parties, uint32_t events);
  // When dial() or give_up() is due, by the clock of now_ns(); INT64_MAX: never.
  int64_t due_ns() const noexcept;
  Status tick(const Parties& parties, int64_t now);

  // An accepted connection whose hello showed this endpoint's token. False: there is one already.
  bool hold(Fd& socket, std::unique_ptr<Tls>& tls, const Hello& hello, const Parties& parties) noexcept;
  // Says who answers; what was held is up then. False: the dialer has gone.
  bool answer(const Parties& parties) noexcept;
  void drop(const Parties& parties) noexcept;

 private:
  Status missed(const Parties& parties, int error);
  Status dialed(const Parties& parties, uint32_t events);
  Status seal(const Parties& parties);
  Status greet(const Parties& parties);
  Status hear(const Parties& parties);
  Status check(const Parties& parties, const Hello& hello) const;
  bool say(const Parties& parties, HelloKind kind) const noexcept;

  const Lane lane_;
  Phase phase_ = Phase::none;
  Fd socket_;
  std::unique_ptr<Tls> tls_;
  Hello theirs_;
  std::array<std::byte, sizeof(Hello)> heard_{};
  size_t heard_bytes_ = 0;
  size_t route_ = 0, refused_ = 0;  // of the latest dials in a row, those that were refused
  int64_t due_ns_ = 0, pause_ns_ = 0;
};

// Sends a hello in one piece: there is room for it in a new connection.
bool say_hello(int socket, HelloKind kind, Lane lane, uint64_t from, uint64_t to, const Token& token,
               const std::string& host, Tls* tls = nullptr) noexcept;
std::string host_name();

}  // namespace plait::transport::tcp
