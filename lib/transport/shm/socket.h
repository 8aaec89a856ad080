// Unix sockets in the abstract name space: message boundaries kept, non-blocking, closed on exec.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/file.h"
#include "base/status.h"

namespace plait::transport::shm {

using SocketName = std::array<uint64_t, 2>;

Result<Fd> listen_at(const SocketName& name);
// No descriptor and errno on failure: EAGAIN when the listener's queue is full, ECONNREFUSED when there is
// none.
Fd dial(const SocketName& name) noexcept;
// No descriptor when nobody waits.
Fd accept_from(int listener) noexcept;

struct Credentials {
  pid_t pid = 0;  // 0: of another PID namespace
  uid_t uid = 0;
};
Result<Credentials> peer_of(int socket);

// At most two descriptors.
bool send_message(int socket, ByteView bytes, std::span<const int> fds = {}) noexcept;
// Bytes received; 0: the peer is gone; -1 and errno. A message that does not fit, or brings other than 0 or
// `fds.size()` descriptors, is EBADMSG.
ssize_t receive_message(int socket, std::span<std::byte> bytes, std::span<Fd> fds = {}) noexcept;

}  // namespace plait::transport::shm
