#include "transport/shm/peer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/log.h"
#include "transport/shm/cma.h"

namespace plait::transport::shm {

namespace {

Fd open_pid(pid_t pid) noexcept { return pid > 0 ? Fd(int(syscall(SYS_pidfd_open, pid, 0))) : Fd(); }

bool try_cma(const Peer& peer, const Hello& hello, bool allow) {
  if (peer.same_process || !allow) return peer.same_process;
  if (cma_works(peer.pid, hello.probe, hello.process)) return true;
  log::info("shm: {}: {}", peer.name(), kNoCma);
  return false;
}

}  // namespace

std::string Peer::name() const { return pid == 0 ? "peer process" : "peer process " + std::to_string(pid); }

bool Peer::alive(int socket) const noexcept {
  pollfd asked[2] = {{socket, 0, 0}, {pidfd.get(), POLLIN, 0}};  // a negative descriptor is skipped
  int answers = 0;
  do {
    answers = poll(asked, 2, 0);
  } while (answers < 0 && errno == EINTR);
  return answers == 0;
}

void Peer::wake() const noexcept {
  if (words->asleep.exchange(0, std::memory_order_acq_rel) == 0) return;
  const uint64_t one = 1;
  while (write(event.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

Status check_user(const Credentials& who) {
  if (who.uid == geteuid()) return {};
  return Status(Code::auth, "shm: process " + std::to_string(who.pid) +
                                " at the other end of the Unix socket is of user " + std::to_string(who.uid) +
                                ", not of user " + std::to_string(geteuid()));
}

Result<std::shared_ptr<Peer>> meet(Process& process, const Hello& hello, const Credentials& who, Fd arena,
                                   Fd event, bool allow_cma) {
  auto peer = std::make_shared<Peer>();
  peer->pid = who.pid;
  peer->process = hello.process;
  peer->domain = hello.domain;
  peer->same_process = who.pid == getpid() && hello.process == process.nonce();
  peer->light = process.light() && hello.light == 1;
  if (!event || fcntl(event.get(), F_SETFL, O_NONBLOCK) != 0)
    return Status(Code::auth, "the peer sent no eventfd");
  auto mapped = process.map(hello.arena, hello.arena_bytes, arena);
  if (!mapped.ok()) return mapped.status();
  peer->arena = std::move(*mapped);
  peer->words = peer->arena->at<DomainWords>(hello.words);
  if (peer->words == nullptr) return Status(Code::auth, "the peer's flag lies outside of its shared memory");
  if (!peer->same_process) peer->pidfd = open_pid(who.pid);
  peer->event = std::move(event);
  peer->cma = try_cma(*peer, hello, allow_cma);
  return peer;
}

Result<std::shared_ptr<Peer>> meet_self(Process& process, uint64_t domain, DomainWords* words, int event) {
  auto peer = std::make_shared<Peer>();
  peer->pid = getpid();
  peer->process = process.nonce();
  peer->domain = domain;
  peer->same_process = peer->cma = true;
  peer->light = process.light();
  peer->event = Fd(fcntl(event, F_DUPFD_CLOEXEC, 0));
  if (!peer->event) return Status::system(errno, "shm: duplicating an eventfd");
  peer->arena = std::make_shared<PeerArena>();
  peer->arena->base = process.arena().base();
  peer->arena->bytes = process.arena().bytes();
  peer->words = words;
  return peer;
}

}  // namespace plait::transport::shm
