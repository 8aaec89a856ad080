// From core to core: a flag, and how long a sleeper takes to wake.
#include "machine.h"

#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

void flag() {
  auto* f = (std::atomic<uint64_t>*)shared(8192);
  std::vector<double> one, two;
  const int n = 20000;
  for (int same_line : {1, 0}) {
    auto &a = f[0], &b = f[same_line ? 0 : 64];
    std::vector<double> v;
    for (int r = 0; r < 15; r++) {
      a = 0; b = 0;
      pid_t p = fork1();
      if (!p) {
        pin(1);
        if (same_line) { for (uint64_t i = 1; i < 2 * n; i += 2) { while (a.load(std::memory_order_acquire) != i); a.store(i + 1, std::memory_order_release); } }
        else for (uint64_t i = 1; i <= n; i++) { while (a.load(std::memory_order_acquire) != i); b.store(i, std::memory_order_release); }
        _exit(0);
      }
      pin(0);
      std::vector<double> t;
      double t0 = 0;
      for (uint64_t i = 1; i <= n; i++) {
        if (i % 100 == 1) t0 = now();
        if (same_line) { a.store(2 * i - 1, std::memory_order_release); while (a.load(std::memory_order_acquire) != 2 * i); }
        else { a.store(i, std::memory_order_release); while (b.load(std::memory_order_acquire) != i); }
        if (i % 100 == 0) t.push_back((now() - t0) / 100 / 2 * 1e9);
      }
      waitpid(p, 0, 0);
      std::sort(t.begin(), t.end());
      v.push_back(t[t.size() / 2]);
    }
    show("flag one-way", same_line ? "one line both ways" : "a line each way", v, "ns");
  }
}

// Time from the waker's call to the sleeper running, on the other core.
void wake() {
  auto* m = shared(8192);
  auto* word = (std::atomic<uint32_t>*)m;
  auto* t = (std::atomic<double>*)(m + 4096);
  auto* rdy = (std::atomic<int>*)(m + 4160);
  for (int ev : {0, 1}) {
    std::vector<double> v;
    int fd = eventfd(0, 0);
    std::vector<double> all;
    *word = 0; *rdy = 0;
    const int n = 3000;
    auto* res = (double*)shared(n * 8);
    pid_t p = fork1();
    if (!p) {
      pin(1);
      for (uint32_t i = 0; i < n; i++) {
        rdy->store(i + 1);
        if (ev) { uint64_t x; if (read(fd, &x, 8) != 8) _exit(1); }
        else while (word->load() == i) syscall(SYS_futex, word, FUTEX_WAIT, i, 0, 0, 0);
        res[i] = (now() - t->load()) * 1e6;
      }
      _exit(0);
    }
    pin(0);
    for (uint32_t i = 0; i < n; i++) {
      while (rdy->load() != (int)i + 1) _mm_pause();
      double e = now() + 60e-6;
      while (now() < e) _mm_pause();  // let it go to sleep
      t->store(now());
      if (ev) { uint64_t x = 1; if (write(fd, &x, 8) != 8) return; }
      else { word->store(i + 1); syscall(SYS_futex, word, FUTEX_WAKE, 1, 0, 0, 0); }
    }
    waitpid(p, 0, 0);
    std::vector<double> s(res, res + n);
    std::sort(s.begin(), s.end());
    printf("%s wake,core 0 to sleeping core 1 (median p5 p95),%.3g,%.3g,%.3g,us\n", ev ? "eventfd" : "futex", s[n / 2], s[n / 20], s[n * 19 / 20]);
  }
}
