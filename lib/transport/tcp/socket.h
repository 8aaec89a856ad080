// TCP sockets as this back end uses them: non-blocking, closed on exec, without Nagle's delay.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/address.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/status.h"

namespace plait::transport::tcp {

struct PortRange {
  uint16_t min = 0, max = 0;  // 0: any
};

// In bytes; 0: the kernel's choice.
struct Buffers {
  size_t send = 0, receive = 0;
};

// Listens on `address`; its port is set to the one got. What it accepts has these buffers.
Result<Fd> listen_on(Address& address, const PortRange& range, const Buffers& buffers = {});
// What the kernel gave.
Buffers buffers_of(int socket) noexcept;
// Bytes a second that leave at most; 0: no bound.
void set_pacing(int socket, double bytes_per_second) noexcept;
// No descriptor and errno on failure. `from` is where they connected from.
Fd accept_from(int listener, Address& from) noexcept;
// Begins to connect, from `local` (any port): writable once that is over, and then error_of() says how. No
// descriptor and errno on failure.
Fd dial(const Address& local, const Address& remote, const Buffers& buffers = {}) noexcept;
int error_of(int socket) noexcept;

// Ends with ETIMEDOUT once the other host has been silent for `ms`. Only for a connection that carries
// nothing: where bytes wait for a reader the kernel counts its being busy as silence (a closed window, probed
// in vain, for so long).
void set_pulse(int socket, int64_t ms) noexcept;

// Bytes moved; 0: the other side ended; -1 and errno.
ssize_t send_some(int socket, std::span<iovec> parts) noexcept;
ssize_t receive_some(int socket, std::span<iovec> parts) noexcept;
// The same, and what was received stays there: it is received again.
ssize_t peek_some(int socket, std::span<std::byte> to) noexcept;
// As many bytes as `as_many` has, which are there. Nothing is stored to it; without memory of that size
// valgrind would think it was. False: they are not there.
bool drop_some(int socket, std::span<std::byte> as_many) noexcept;
bool would_block(int error) noexcept;

// Of this host: the length of the prefix that `address` shares with its network; 0: unknown.
uint8_t prefix_of(const Address& address) noexcept;
bool same_network(const Address& a, const Address& b, uint8_t prefix) noexcept;

}  // namespace plait::transport::tcp
