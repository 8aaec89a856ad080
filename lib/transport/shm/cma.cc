#include "transport/shm/cma.h"

#include <sys/uio.h>

#include <cerrno>

namespace plait::transport::shm {

namespace {

void* pointer(uint64_t address) noexcept {
  return reinterpret_cast<void*>(address);
}  // NOLINT: the peer's, not ours

}  // namespace

ssize_t cma_read(pid_t pid, uint64_t from, std::byte* to, size_t bytes) noexcept {
  iovec local{to, bytes}, remote{pointer(from), bytes};
  ssize_t got = 0;
  do {
    got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
  } while (got < 0 && errno == EINTR);
  return got;
}

ssize_t cma_write(pid_t pid, uint64_t to, const std::byte* from, size_t bytes) noexcept {
  iovec local{const_cast<std::byte*>(from), bytes}, remote{pointer(to), bytes};
  ssize_t got = 0;
  do {
    got = process_vm_writev(pid, &local, 1, &remote, 1, 0);
  } while (got < 0 && errno == EINTR);
  return got;
}

bool cma_works(pid_t pid, uint64_t address, uint64_t value) noexcept {
  uint64_t seen = 0;
  return pid > 0 && cma_read(pid, address, reinterpret_cast<std::byte*>(&seen), sizeof seen) == sizeof seen &&
         seen == value;
}

}  // namespace plait::transport::shm
