#include "perf/fabric/near.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace plait::perf::fabric {
namespace {

constexpr int kTurns = 2000, kTries = 10;

struct alignas(64) Line {
  std::atomic<int> turn{0};
};

std::vector<int> processors() {
  cpu_set_t mine;
  std::vector<int> all;
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) return all;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mine)) all.push_back(cpu);
  }
  return all;
}

void go_to(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  (void)sched_setaffinity(0, sizeof one, &one);
}

void await(const Line& line, int turn) {
  while (line.turn.load(std::memory_order_acquire) != turn) {
  }
}

}  // namespace

double round_trip_ns() {
  const std::vector<int> cpus = processors();
  if (cpus.size() < 2) return 0;
  Line there, back;
  double least = 1e9;
  std::thread other([&] {
    go_to(cpus[1]);
    for (int i = 1; i <= kTries * kTurns; ++i) {
      await(there, i);
      back.turn.store(i, std::memory_order_release);
    }
  });
  std::thread one([&] {
    go_to(cpus[0]);
    for (int i = 0; i < kTries; ++i) {
      const int64_t begin = now_ns();
      for (int k = 1; k <= kTurns; ++k) {
        there.turn.store(i * kTurns + k, std::memory_order_release);
        await(back, i * kTurns + k);
      }
      least = std::min(least, double(now_ns() - begin) / kTurns);
    }
  });
  one.join();
  other.join();
  return least;
}

}  // namespace plait::perf::fabric
