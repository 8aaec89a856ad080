// The ranks of a limit: forked processes over one shared arena, of which each has a part, and what they stand
// on. A limit is an `Ops` of perf/peers/bench.h, so it is a row among plait and its peers, under the same
// barrier, clock, sizes and checks. It knows where everything lies, trusts everybody, waits for ever and does
// one thing at a time: what a runtime could come close to, not a peer.
#pragma once
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "../peers/bench.h"

namespace limits {

constexpr int kMostRanks = 16;
constexpr size_t kControlBytes = size_t{64} << 20;
constexpr size_t kMailBytes = size_t{8} << 20;  // of these: mail.h

// What a rank tells another: the word says that it is there. Both share a cache line, so they cross at once.
struct alignas(64) Line {
  std::atomic<uint64_t> word;
  char data[56];
};

struct World {
  int size = 0, rank = 0;
  char* parts = nullptr;    // of all ranks, one behind the other
  size_t part_bytes = 0;    // of each
  char* control = nullptr;  // kControlBytes that all share, zeroed
  std::atomic<pid_t>* pids = nullptr;
  size_t used = 0;  // of this rank's part

  bool crowded() const { return size > sysconf(_SC_NPROCESSORS_ONLN); }
  uint64_t offset_of(const void* mine) const {
    return uint64_t(static_cast<const char*>(mine) - (parts + part_bytes * size_t(rank)));
  }
  float* at(int q, uint64_t offset) const {
    return reinterpret_cast<float*>(parts + part_bytes * size_t(q) + offset);
  }
  float* alloc(size_t bytes) {
    const size_t at_offset = used;
    used += (bytes + 4095) / 4096 * 4096;
    return used > part_bytes ? nullptr : at(rank, at_offset);
  }
};

// Until `there`: with a core each a rank spins, else it leaves the core to whom it waits for.
template <class There>
void await(bool crowded, There there) {
  while (!there()) {
    if (crowded) {
      sched_yield();
    } else {
      __builtin_ia32_pause();
    }
  }
}

// Everything that a limit may leave out. What it has not is not measured.
class Ranks : public Ops {
 public:
  explicit Ranks(World& world) : world_(world), crowded_(world.crowded()) {}
  int rank() const override { return world_.rank; }
  int size() const override { return world_.size; }
  void allreduce(const float*, float*, size_t) override {}
  void allreduce_inplace(float* b, size_t n) override { allreduce(b, b, n); }
  void reduce_scatter(const float*, float*, size_t) override {}
  void allgather(const float*, float*, size_t) override {}
  void broadcast(float*, size_t, int) override {}
  void alltoall(const float*, float*, size_t) override {}
  void barrier() override {}
  void send(const float*, size_t, int) override {}
  void recv(float*, size_t, int) override {}

 protected:
  World& world_;
  const bool crowded_;
};

inline bool is_allreduce(const std::string& collective) {
  return collective == "allreduce" || collective == "allreduce_inplace";
}

inline char* shared_memory(size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p != MAP_FAILED) return static_cast<char*>(p);
  perror("limits: mmap");
  exit(1);
}

template <class Limit>
int be_rank(World& world, int rank) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  world.rank = rank;
  world.pids[rank] = getpid();
  for (int q = 0; q < world.size; ++q) {
    while (world.pids[q] == 0) sched_yield();
  }
  bench::pin(rank);
  Limit limit(world);
  return bench::run(limit);
}

// main() of a limit: LIMIT RANKS, and the environment of bench.h.
template <class Limit>
int launch(int argc, char** argv) {
  World world;
  world.size = argc > 1 ? atoi(argv[1]) : 2;
  if (world.size < 1 || world.size > kMostRanks) {
    fprintf(stderr, "usage: %s RANKS (at most %d)\n", argv[0], kMostRanks);
    return 2;
  }
  constexpr size_t kPages = size_t{2} << 20;
  world.part_bytes = (2 * bench::Points().greatest() / kPages + 4) * kPages;
  world.parts = shared_memory(world.part_bytes * size_t(world.size));
  world.control = shared_memory(kControlBytes);
  world.pids = reinterpret_cast<std::atomic<pid_t>*>(shared_memory(4096));
  const std::string met = "/dev/shm/limits." + std::to_string(getpid());
  const bool mine = setenv("BENCH_SYNC", met.c_str(), 0) == 0 && bench::env("BENCH_SYNC", "") == met;
  for (int r = 0; r < world.size; ++r) {
    if (fork() == 0) {
      const int status = be_rank<Limit>(world, r);
      fflush(stdout);
      _exit(status);
    }
  }
  int bad = 0;
  for (int r = 0, status = 0; r < world.size; ++r) {
    wait(&status);
    bad |= status;
  }
  if (mine) unlink(met.c_str());
  return bad == 0 ? 0 : 1;
}

}  // namespace limits
