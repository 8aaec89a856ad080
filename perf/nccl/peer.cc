#include "perf/nccl/peer.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "perf/nccl/guarded.h"

namespace plait::nccl_drive {

Channel::~Channel() {
  if (fd_ >= 0) ::close(fd_);
}

Status Channel::put(const void* bytes, size_t size) const {
  // What is sent fits the socket's buffer, so that it is all or nothing.
  if (::send(fd_, bytes, size, MSG_NOSIGNAL) == ssize_t(size)) return Status();
  return Status(Code::peer, "the other process is gone");
}

Status Channel::get(void* bytes, size_t size, Deadline deadline) const {
  for (size_t have = 0; have < size;) {
    pollfd poll{fd_, POLLIN, 0};
    if (::poll(&poll, 1, deadline.left_ms()) == 0)
      return Status(Code::timeout, "the other process said nothing in time");
    const ssize_t n = ::recv(fd_, static_cast<char*>(bytes) + have, size - have, 0);
    if (n == 0 || (n < 0 && errno != EINTR)) return Status(Code::peer, "the other process is gone");
    if (n > 0) have += size_t(n);
  }
  return Status();
}

Status Channel::await(Deadline deadline) const {
  char one;
  return get(&one, 1, deadline);
}

Peer::~Peer() { kill(); }

Status Peer::start(const Job& job, const Work& work) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Status::system(errno, "socketpair");
  where_ = new_where();
  if (where_ == nullptr) return Status(Code::memory, "no memory to share with a child");
  std::fflush(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) return Status::system(errno, "fork");
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(ends[0]);
    set_where(where_);
    Channel mine(ends[1]);
    Side side(job);
    leave(work(side, mine));
  }
  ::close(ends[1]);
  channel_ = Channel(ends[0]);
  return Status();
}

void Peer::stop() const {
  ::kill(pid_, SIGSTOP);
  int status;
  ::waitpid(pid_, &status, WUNTRACED);
}

void Peer::go_on() const { ::kill(pid_, SIGCONT); }

void Peer::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

Status Peer::finish(Deadline deadline) {
  if (pid_ < 0) return Status();
  int status = 0;
  while (::waitpid(pid_, &status, WNOHANG) == 0) {
    if (deadline.passed()) return Status(Code::timeout, "the other side did not come to its end");
    ::usleep(200);
  }
  pid_ = -1;
  where().bytes.fetch_add(where_->bytes.load());
  if (where_->ended.load(std::memory_order_acquire) && where_->code != Code::ok) {
    if (where_->code == Code::unsupported) return where_->result();
    return Status(where_->code, std::string("the other side: ") + where_->text);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return Status(Code::aborted, "the other side " + how_it_ended(status, *where_));
  return Status();
}

Status Peer::blame(Status here) {
  if (here.ok() || here.code() == Code::unsupported || where_ == nullptr) return here;
  std::string text(here.text());
  if (where_->ended.load(std::memory_order_acquire)) {
    if (where_->code != Code::ok) text += std::string("; the other side: ") + where_->text;
  } else if (const char* call = where_->call.load()) {
    text += std::string("; the other side is in ") + call;
  }
  return Status(here.code(), text);
}

Status meet(Side& side, Channel& channel, Link* link) {
  Handle mine, theirs;
  void* listening = nullptr;
  PLAIT_TRY(side.listen(&mine, &listening));
  PLAIT_TRY(channel.put(&mine, sizeof mine));
  PLAIT_TRY(channel.get(&theirs, sizeof theirs, side.deadline()));
  PLAIT_TRY(side.join(theirs, listening, link));
  return side.close_listen(listening);
}

Status with_peer(const Job& job, const Peer::Work& there, const std::function<Status(Side&, Peer&)>& here) {
  const auto work = [&there](Side& side, Channel& channel) -> Status {
    PLAIT_TRY(side.open());
    PLAIT_TRY(there(side, channel));
    return side.close();
  };
  Peer peer;
  PLAIT_TRY(peer.start(job, work));
  Side side(job);
  PLAIT_TRY(peer.blame(side.open()));
  PLAIT_TRY(peer.blame(here(side, peer)));
  PLAIT_TRY(peer.finish(side.deadline()));
  return side.close();
}

}  // namespace plait::nccl_drive
