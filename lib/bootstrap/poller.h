// What a group waits for: its listeners and links, in one epoll descriptor.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/file.h"
#include "base/status.h"

namespace plait::bootstrap {

// Something with a descriptor that wants to know when it is ready.
class Polled {
 public:
  virtual ~Polled() = default;
  virtual void ready() = 0;
};

class Poller {
 public:
  Status open();
  int fd() const noexcept { return epoll_.get(); }

  // Gives a number to change and remove it by; 0 and errno where the kernel refuses. The descriptor is
  // removed before it is closed.
  uint64_t add(int fd, bool reads, bool writes, Polled* who);
  void change(uint64_t id, bool reads, bool writes) noexcept;
  void remove(uint64_t id) noexcept;

  // Waits up to `ms`, then calls ready() of at most 64. Any of them may add and remove.
  void wait(int ms);

 private:
  struct Entry {
    int fd;
    Polled* who;
  };
  Fd epoll_;
  uint64_t last_ = 0;
  std::unordered_map<uint64_t, Entry> entries_;
};

}  // namespace plait::bootstrap
