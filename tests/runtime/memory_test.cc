// What a communicator of many ranks keeps in shared memory once it is idle: pages are counted, by the kernel.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <barrier>
#include <cstring>

#include "support/ranks.h"

namespace plait::test {
namespace {

constexpr int kRanks = 64;
constexpr size_t kMost = size_t{1} << 20;  // bytes a rank

// The memory of this process that others may map, in bytes; 0: not found.
size_t shared_bytes() {
  for (int fd = 0; fd < 1024; fd++) {
    char path[64], target[256] = {};
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (readlink(path, target, sizeof target - 1) <= 0 || std::strstr(target, "memfd:plait") == nullptr)
      continue;
    struct stat about {};
    return fstat(fd, &about) == 0 ? size_t(about.st_blocks) * 512 : 0;
  }
  return 0;
}

TEST(Memory, AnIdleCommunicatorOf64RanksKeepsLessThanAMebibyteARank) {
  const std::string job = fresh_job();
  std::barrier all(kRanks);
  size_t busy = 0, idle = 0;
  run_ranks({kRanks}, [&](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    if (c.status != PLAIT_OK) return c.error;
    // Plain memory, so that every message goes through parts; each rank sends to all others.
    constexpr size_t kBytes = 20'000;
    std::vector<int8_t> in(kBytes * size_t(size), int8_t(rank)), out(in.size());
    for (int i = 0; i < 4; i++) {
      if (plait_alltoall(c.comm, in.data(), out.data(), kBytes, PLAIT_INT8, nullptr, nullptr) != PLAIT_OK)
        return c.last();
      for (int r = 0; r < size; r++) {
        if (out[kBytes * size_t(r)] != int8_t(r) || out[kBytes * size_t(r + 1) - 1] != int8_t(r))
          return "wrong bytes from rank " + std::to_string(r);
      }
    }
    all.arrive_and_wait();
    if (rank == 0) busy = shared_bytes() / kRanks;
    all.arrive_and_wait();
    int32_t one = 1;
    for (int i = 0; i < 100; i++) {
      if (plait_allreduce(c.comm, &one, &one, 1, PLAIT_INT32, PLAIT_MAX, nullptr, nullptr) != PLAIT_OK)
        return c.last();
    }
    all.arrive_and_wait();
    if (rank == 0) {
      idle = shared_bytes() / kRanks;
      if (busy <= kMost)
        return "the messages took " + std::to_string(busy) + " bytes a rank only: nothing is shown";
      if (idle == 0 || idle > kMost) return std::to_string(idle) + " bytes a rank are kept";
    }
    all.arrive_and_wait();
    // And it works on.
    if (plait_alltoall(c.comm, in.data(), out.data(), kBytes, PLAIT_INT8, nullptr, nullptr) != PLAIT_OK)
      return c.last();
    return out[kBytes * size_t(size) - 1] == int8_t(size - 1) ? "" : "wrong bytes in the end";
  });
}

}  // namespace
}  // namespace plait::test
