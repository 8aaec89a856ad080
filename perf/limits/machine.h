// What the sections of machine.cc share: clocks, cores, memory, lines of results.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <immintrin.h>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <vector>

inline double now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
inline void pin(int c) { cpu_set_t s; CPU_ZERO(&s); CPU_SET(c, &s); sched_setaffinity(0, sizeof s, &s); }
inline void unpin() { cpu_set_t s; CPU_ZERO(&s); for (int i = 0; i < 64; i++) CPU_SET(i, &s); sched_setaffinity(0, sizeof s, &s); }
// The child starts on core 1, so that it gets there under a real-time policy too.
inline pid_t fork1() { pin(1); pid_t p = fork(); if (p) pin(0); return p; }
inline char* shared(size_t n, bool huge = false) {
  char* p = (char*)mmap(0, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (huge) madvise(p, n, MADV_HUGEPAGE);
  memset(p, 1, n);
  return p;
}
inline char* priv(size_t n, bool huge) {
  size_t a = 2 << 20;
  char* p = (char*)mmap(0, n + a, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  p = (char*)(((size_t)p + a - 1) / a * a);
  madvise(p, n, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  memset(p, 1, n);
  return p;
}
inline void show(const char* what, const std::string& par, std::vector<double> v, const char* unit) {
  std::sort(v.begin(), v.end());
  printf("%s,%s,%.4g,%.4g,%.4g,%s\n", what, par.c_str(), v[v.size() / 2], v.front(), v.back(), unit);
  fflush(stdout);
}
inline std::string sz(size_t n) { return n >= (1 << 20) ? std::to_string(n >> 20) + "MiB" : n >= 1024 ? std::to_string(n >> 10) + "KiB" : std::to_string(n) + "B"; }

// Sections, a file each: machine_memory.cc, machine_cores.cc, machine_cma.cc, machine_sockets.cc.
void mem();
void reduce();
void flag();
void wake();
void cma();
void tcp();
void zc();
