// process_vm_readv.
#include "machine.h"

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
