// The other side of a connection in a process of its own, that can be stopped and killed; handles go over a
// socket.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "perf/nccl/side.h"
#include "perf/nccl/where.h"

namespace plait::nccl_drive {

// One end of a stream between two processes of a check.
class Channel {
 public:
  Channel() = default;
  explicit Channel(int fd) : fd_(fd) {}
  Channel(Channel&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Channel& operator=(Channel&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Channel();

  Status put(const void* bytes, size_t size) const;
  Status get(void* bytes, size_t size, Deadline deadline) const;
  // One byte that says "go on", and the wait for it.
  Status signal() const { return put("x", 1); }
  Status await(Deadline deadline) const;

 private:
  int fd_ = -1;
};

class Peer {
 public:
  // What the other process does: a side that is not open yet, and its end of the channel.
  using Work = std::function<Status(Side&, Channel&)>;

  Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer();

  // Forks; call it before the plugin is loaded here.
  Status start(const Job& job, const Work& work);
  Channel& channel() { return channel_; }
  void stop() const;  // SIGSTOP; returns when it stands
  void go_on() const;
  void kill();  // SIGKILL; returns when it is gone
  // Waits for its end, and says how it was.
  Status finish(Deadline deadline);
  // An error here, with what became of the other side.
  Status blame(Status here);

 private:
  pid_t pid_ = -1;
  Where* where_ = nullptr;
  Channel channel_;
};

// Listens, exchanges handles and connects, in both directions.
Status meet(Side& side, Channel& channel, Link* link);

// A peer that does `there` while `here` runs, both with an open side; the error of whoever failed.
Status with_peer(const Job& job, const Peer::Work& there, const std::function<Status(Side&, Peer&)>& here);

}  // namespace plait::nccl_drive
