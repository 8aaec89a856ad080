// The domain at the other end of one or more endpoints.
#pragma once

#include <memory>
#include <string>

#include "base/file.h"
#include "transport/shm/process.h"
#include "transport/shm/socket.h"
#include "transport/shm/wire.h"

namespace plait::transport::shm {

struct Peer {
  pid_t pid = 0;         // 0: not visible from here
  uint64_t process = 0;  // nonces
  uint64_t domain = 0;
  bool same_process = false;
  bool light = false;  // both ends take part in asymmetric barriers
  bool cma = false;    // its plain memory can be reached
  Fd pidfd;            // readable once it is dead, though a forked child still holds its sockets; may be none
  Fd event;            // wakes it
  std::shared_ptr<PeerArena> arena;
  DomainWords* words = nullptr;

  // "peer process 1234"
  std::string name() const;
  // Asks the kernel about `socket`, its other end, and the process. A system call.
  bool alive(int socket) const noexcept;
  // Writes its eventfd if it sleeps.
  void wake() const noexcept;
};

// Checks all that a hello says, maps the arena and tries CMA. Code::auth and Code::version when it is not to
// be trusted.
Result<std::shared_ptr<Peer>> meet(Process& process, const Hello& hello, const Credentials& who, Fd arena,
                                   Fd event, bool allow_cma);
// This process as its own peer.
Result<std::shared_ptr<Peer>> meet_self(Process& process, uint64_t domain, DomainWords* words, int event);

// Code::auth unless the other end is of this user.
Status check_user(const Credentials& who);

}  // namespace plait::transport::shm
