// What else a user feels beside the time of an operation: how even it is, what ranks that come late cost, what waiting
// costs, and how long it takes to begin. Part of bench.h; each mode prints lines of the same form, in microseconds.
#pragma once
#include "bench.h"

namespace bench {

inline size_t size_in_question(size_t otherwise) {
  std::vector<std::string> given = list(env("BENCH_SIZES", ""));
  return given.empty() ? otherwise : strtoull(given.front().c_str(), 0, 10);
}

inline double budget_us() { return atof(env("BENCH_BUDGET", "0.12").c_str()) * 1e6; }

// The vector of every mode: allreduced in place, correct the first time, then zeroes that stay zeroes.
struct Vector {
  float *in, *data;
  size_t n;
  bool able;  // the peer has such a collective
  bool good;
  Vector(Ops& o, Sync& sync, size_t bytes) : in(buffer(o, bytes)), data(buffer(o, bytes)), n(bytes / 4) {
    const std::string c = "allreduce_inplace";
    able = good = sync.all(o.prepare(c, in, data, n));
    for (int i = 0; good && i < 2; i++) good = sync.all(verify(o, c, in, data, n, i));
    memset(data, 0, bytes);
  }
};

// jitter: operations back to back, each timed by itself on rank 0, without a barrier between them. The 99.9th
// percentile tells of what seldom happens.
inline int jitter(Ops& o, Sync& sync) {
  Vector v(o, sync, size_in_question(8));
  if (!v.good) return v.able ? 1 : 0;
  double t0 = now();
  for (int i = 0; i < 200; i++) o.allreduce_inplace(v.data, v.n);
  double each = sync.greatest(now() - t0) / 200;
  std::vector<double> us(size_t(std::max(2000., std::min(200000., budget_us() / each))));
  sync.wait();
  double last = now();
  for (double& one : us) {
    o.allreduce_inplace(v.data, v.n);
    double t = now();
    one = t - last;
    last = t;
  }
  if (o.rank() == 0) row("jitter", o.size(), v.n * 4, us.size(), us);
  return 0;
}

// Work that takes a processor, not time: ranks share cores.
class Work {
 public:
  Work() {
    const int rounds = 100000;  // 0.1 ms: the best of many is one that nothing came between
    for (int i = 0; i < 20; i++) {
      double t0 = clock_us(CLOCK_THREAD_CPUTIME_ID);
      turn(rounds);
      turns_per_us_ = std::max(turns_per_us_, rounds / (clock_us(CLOCK_THREAD_CPUTIME_ID) - t0));
    }
  }
  void us(double how_long) { turn(int(how_long * turns_per_us_)); }
 private:
  static void turn(int rounds) {
    double x = 1;
    for (int i = 0; i < rounds; i++) {
      x *= 1.0000001;
      asm volatile("" : "+x"(x));
    }
  }
  double turns_per_us_ = 0;
};

// stragglers: each rank works for a random time, BENCH_WORK us in the mean (67), before each operation. Told is the
// time of an iteration, work included, at best ranks / cores times the mean.
inline int stragglers(Ops& o, Sync& sync) {
  Vector v(o, sync, size_in_question(65536));
  if (!v.good) return v.able ? 1 : 0;
  double mean = atof(env("BENCH_WORK", "67").c_str());
  Work work;
  uint32_t seed = o.rank() * 7919 + 1;
  auto turn = [&](int iterations) {
    sync.wait();
    double t0 = now();
    for (int i = 0; i < iterations; i++) {
      seed = seed * 1103515245 + 12345;
      work.us(2 * mean * ((seed >> 16) & 0x7fff) / 32768);
      o.allreduce_inplace(v.data, v.n);
    }
    return sync.span(t0, now()) / iterations;
  };
  // A few first: of those that take hundreds of times as long as the work there are hardly more.
  const double each = std::max(turn(5), mean * o.size());
  const int iterations = int(std::max(5., std::min(10000., budget_us() / each)));
  const int samples = each > 100 * mean ? 1 : 5;
  std::vector<double> us;
  for (int i = 0; i < samples; i++) us.push_back(turn(iterations));
  if (o.rank() == 0) row("stragglers", o.size(), v.n * 4, size_t(iterations) * us.size(), us);
  return 0;
}

// idle: the last rank sleeps BENCH_SLEEP seconds (0.5) before it calls. Told is the processor time that a waiting rank's
// process takes in a second of that, of the rank that takes the most.
inline int idle(Ops& o, Sync& sync) {
  Vector v(o, sync, size_in_question(65536));
  if (!v.good) return v.able ? 1 : 0;
  double seconds = atof(env("BENCH_SLEEP", "0.5").c_str());
  std::vector<double> us;
  for (int turn = 0; turn < 3; turn++) {
    sync.wait();
    double cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID);
    if (o.rank() == o.size() - 1) usleep(useconds_t(seconds * 1e6));
    o.allreduce_inplace(v.data, v.n);
    cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    us.push_back(sync.greatest(o.rank() == o.size() - 1 ? 0 : cpu) / seconds);
  }
  if (o.rank() == 0) row("idle", o.size(), v.n * 4, us.size(), us);
  return 0;
}

// What this process has resident, in KiB; pages that processes share are shared out.
inline double resident_kib() {
  double kib = 0;
  char line[256];
  FILE* f = fopen("/proc/self/smaps_rollup", "r");
  while (f && fgets(line, sizeof line, f)) {
    if (sscanf(line, "Pss: %lf kB", &kib) == 1) break;
  }
  if (f) fclose(f);
  return kib;
}

// start: from the first process's main() to the last rank's first result. A second line, "memory", is no time: the KiB
// that the largest process then has.
inline int start(Ops& o, Sync& sync) {
  int n = o.size();
  float* v = buffer(o, 8);
  o.prepare("allreduce_inplace", v, v, 2);
  v[0] = v[1] = float(o.rank() + 1);
  o.allreduce_inplace(v, 2);
  double end = now();
  bool good = sync.all(v[0] == n * (n + 1) / 2 && v[1] == v[0]);
  std::vector<double> us{sync.span(process_start, end)};
  std::vector<double> kib{sync.greatest(resident_kib())};
  if (o.rank() == 0 && good) {
    row("start", n, 8, 1, us);
    row("memory", n, 8, 1, kib);
  }
  return good ? 0 : 1;
}

}  // namespace bench
