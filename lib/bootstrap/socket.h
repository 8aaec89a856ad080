// Stream sockets, over IP or the abstract Unix name space alike: non-blocking, closed on exec.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/file.h"
#include "base/status.h"

namespace plait::bootstrap {

// Where somebody listens: an IP address and port, or an abstract Unix name.
struct Place {
  static constexpr size_t kMostName = 100;
  Address ip;
  std::string name;

  bool on_unix() const noexcept { return !name.empty(); }
  friend bool operator==(const Place&, const Place&) = default;
};
std::string to_string(const Place& place);

// The port may be 0: the kernel's choice. The address :: also serves IPv4 where the kernel can.
// Code::state: somebody else listens there. Code::invalid: no address of this host. Code::system.
Result<Fd> listen_at(const Place& place);
// At a free port of [min, max] (0 and 0: any), on `at`, or on any address of this host, IPv6 and IPv4.
Result<Fd> listen_in(const std::optional<Address>& at, uint16_t min, uint16_t max);
// Where a listener or the near end of a connection is; family 0 when it is a Unix socket.
Address local_address(int fd) noexcept;

// Begins to connect, from `source` unless its family is 0. No descriptor, and errno, when that fails at once.
Fd start_connect(const Place& place, const Address& source) noexcept;
// errno of a connect() that ended, 0 for success, EINPROGRESS while it lasts.
int connect_result(int fd) noexcept;

// No descriptor, and errno, when nobody waits or the kernel refuses. `from` becomes the other's address, of
// family 0 over a Unix socket.
Fd accept_from(int listener, Address* from) noexcept;

// Who is at the other end of a Unix socket, as the kernel knows.
struct Process {
  int64_t pid = 0;
  int64_t uid = -1;
};
Process peer_process(int fd) noexcept;
// Code::auth when it is another user's.
Status check_user(const Process& process);

}  // namespace plait::bootstrap
