// Where connections come in: the listeners, and the guests that were accepted and have not said yet who they
// are. Anybody may connect here; who does not show the token of an endpoint in time, in one hello, is sent
// away.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "transport/tcp/poller.h"
#include "transport/tcp/socket.h"
#include "transport/tcp/tls.h"
#include "transport/tcp/wire.h"

namespace plait::transport::tcp {

struct Guest {
  Fd socket;
  std::unique_ptr<Tls> tls;
  bool begins_tls = false, sealed = false;  // sealed: its handshake is done
  Address from;
  int64_t until_ns = 0;
  std::array<std::byte, sizeof(Hello)> heard{};
  size_t bytes = 0;
};

class Door {
 public:
  Door(Poller& poller, std::string name) : poller_(poller), name_(std::move(name)) {}
  Status open(const std::vector<Address>& addresses, const PortRange& range, const Buffers& buffers);
  // Only who speaks TLS is let in.
  void require(TlsContext& tls) noexcept { tls_ = &tls; }
  // What the kernel gave of these.
  Buffers buffers() const noexcept { return buffers_of(listeners_.front().get()); }
  // Those listened on, with their ports.
  const std::vector<Address>& addresses() const noexcept { return addresses_; }
  // How many guests there may be; when more come the oldest go.
  void set_room(size_t guests) noexcept { room_ = guests; }

  // Lets a few in: their numbers are given to `each`.
  template <class Each>
  void accept(size_t listener, Each each) noexcept {
    constexpr int kAtOnce = 8;
    for (int i = 0; i < kAtOnce; ++i) {
      const uint64_t guest = let_in(listener);
      if (guest == 0) return;
      each(guest);
    }
  }
  // The guest, out of the book, when it has said all; null when it has not, or was sent away.
  std::unique_ptr<Guest> hear(uint64_t guest, Hello& hello) noexcept;
  // Says so in the log, once an address.
  void turned_away(const Address& from, const char* why) noexcept;
  // Sends away who is late, and listens again where descriptors had run out.
  void tick(int64_t now) noexcept;
  int64_t due_ns() const noexcept;

 private:
  uint64_t let_in(size_t listener) noexcept;
  void pause(int error) noexcept;
  void watch_listeners(bool on) noexcept;
  std::string seal(Guest& guest) noexcept;
  void leave(std::map<uint64_t, Guest>::iterator guest) noexcept;
  void hung_up(std::map<uint64_t, Guest>::iterator guest) noexcept;
  void send_away(std::map<uint64_t, Guest>::iterator guest, const char* why) noexcept;

  Poller& poller_;
  const std::string name_;
  std::vector<Address> addresses_;
  std::vector<Fd> listeners_;
  std::map<uint64_t, Guest> guests_;  // by number: the oldest first
  uint64_t last_guest_ = 0;
  size_t room_ = 0;
  TlsContext* tls_ = nullptr;
  int64_t paused_until_ns_ = 0;  // 0: not paused
  bool told_pause_ = false;
  std::vector<Address> told_;  // of whom the log knows
};

}  // namespace plait::transport::tcp
