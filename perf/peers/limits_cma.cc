// process_vm_readv.
#include "limits.h"

#include <sys/uio.h>
#include <sys/wait.h>

void cma() {
  for (bool huge : {false, true}) {
    size_t n = 64 << 20;
    char* src = priv(n, huge);
    int fd[2];
    if (pipe(fd)) return;
    pid_t p = fork1();
    if (!p) {
      pin(1);
      for (size_t i = 0; i < n; i += 4096) src[i] = 2;  // own copies of the pages, cached on its core
      if (write(fd[1], "x", 1) != 1) _exit(1);
      pause();
      _exit(0);
    }
    char c;
    if (read(fd[0], &c, 1) != 1) return;
    pin(0);
    char* dst = priv(n, huge);
    for (size_t s : {8ul, 4096ul, 16384ul, 65536ul, 262144ul, 1ul << 20, 4ul << 20, 64ul << 20}) {
      std::vector<double> v;
      int inner = std::max<size_t>(1, std::min<size_t>(2000, (16 << 20) / s));
      for (int r = 0; r < 11; r++) {
        double t0 = now();
        for (int i = 0; i < inner; i++) {
          iovec l{dst, s}, q{src, s};
          if (process_vm_readv(p, &l, 1, &q, 1, 0) != (ssize_t)s) { perror("process_vm_readv"); return; }
        }
        double us = (now() - t0) / inner * 1e6;
        v.push_back(s <= 4096 ? us : s / us * 1e-3);
      }
      show("process_vm_readv", sz(s) + (huge ? " thp" : " 4k"), v, s <= 4096 ? "us/call" : "GB/s");
    }
    kill(p, SIGKILL);
    waitpid(p, 0, 0);
    munmap(src, n); munmap(dst, n);
  }
}

// The same allreduce on private memory of two processes: reduce my half from the peer's in pieces that stay in
// L2, then fetch the peer's half of the result.
void cma_allreduce() {
  struct alignas(64) F { std::atomic<unsigned> v; };
  auto* fl = (F*)shared(4096);
  auto* pids = (std::atomic<int>*)shared(4096);
  size_t big = 64 << 20;
  for (int inplace : {0, 1})
    for (size_t n : {8u << 10, 64u << 10, 256u << 10, 1u << 20, 4u << 20, 16u << 20, 64u << 20}) {
      char *in = priv(big, false), *out = inplace ? in : priv(big, false), *tmp = priv(1 << 20, true);
      fl[0].v = fl[1].v = 0; pids[0] = pids[1] = 0;
      int reps = std::max<size_t>(15, std::min<size_t>(2000, (1u << 28) / n));
      pid_t kid = fork1();
      int t = kid ? 0 : 1;
      pin(t);
      memset(in, 0, n); memset(out, 0, n); memset(tmp, 0, 1 << 20);
      pids[t] = getpid();
      while (!pids[!t]) _mm_pause();
      int peer = pids[!t];
      unsigned e = 0;
      auto bar = [&] { e++; fl[t].v.store(e, std::memory_order_release); while (fl[!t].v.load(std::memory_order_acquire) < e) _mm_pause(); };
      auto get = [&](char* d, char* s, size_t k) { iovec l{d, k}, q{s, k}; if (process_vm_readv(peer, &l, 1, &q, 1, 0) != (ssize_t)k) _exit(1); };
      std::vector<double> v;
      size_t h = n / 2, o = t * h, po = !t * h, c = std::min<size_t>(h, 256 << 10);
      for (int i = 0; i < reps; i++) {
        for (size_t k = 0; k < n; k += 64) { in[k] = 0; out[k] = 0; }
        bar();
        double t0 = now();
        bar();
        for (size_t k = 0; k < h; k += c) { get(tmp, in + o + k, c); add512((float*)(out + o + k), (float*)(in + o + k), (float*)tmp, c / 4); }
        bar();
        get(out + po, out + po, h);
        bar();
        v.push_back((now() - t0) * 1e6);
      }
      if (t) _exit(0);
      waitpid(kid, 0, 0);
      std::sort(v.begin(), v.end());
      printf("allreduce2 ideal process_vm_readv%s touched,S=%s 4k,%.4g,%.4g,%.4g,us\n", inplace ? " in place" : "", sz(n).c_str(), v[v.size() / 2], v[v.size() / 20], v[v.size() * 19 / 20]);
      fflush(stdout);
      munmap(in, big); if (!inplace) munmap(out, big); munmap(tmp, 1 << 20);
    }
}
