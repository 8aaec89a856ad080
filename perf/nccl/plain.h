// What a plain socket does on the same machine: the measure of a plugin that has nothing better below it.
#pragma once

#include <cstddef>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace plait::nccl_drive {

// One end of a TCP connection over loopback. Writes block; reads spin, as a plugin's `test` does.
class PlainSocket {
 public:
  PlainSocket() = default;
  explicit PlainSocket(int fd) : fd_(fd) {}
  PlainSocket(const PlainSocket&) = delete;
  PlainSocket& operator=(const PlainSocket&) = delete;
  ~PlainSocket();

  // Both ends, before a fork: each process keeps one and drops the other.
  static Status pair(PlainSocket* one, PlainSocket* other);
  void drop();
  Status write(const void* bytes, size_t size);
  Status read(void* bytes, size_t size, Deadline deadline);

 private:
  int fd_ = -1;
};

}  // namespace plait::nccl_drive
