// TCP on loopback, and io_uring over it: bare system calls.
#include "machine.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int tcp_pair(int out[2]) {
  int l = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t n = sizeof a;
  if (bind(l, (sockaddr*)&a, n) || listen(l, 1) || getsockname(l, (sockaddr*)&a, &n)) return -1;
  out[0] = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(out[0], (sockaddr*)&a, n)) return -1;
  out[1] = accept(l, 0, 0);
  int one = 1;
  for (int i = 0; i < 2; i++) setsockopt(out[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  close(l);
  return 0;
}
static void rd(int fd, char* b, size_t n, int fl) {
  while (n) {
    ssize_t k = recv(fd, b, n, fl);
    if (k > 0) { b += k; n -= k; }
    else if (k == 0 || errno != EAGAIN) _exit(1);
  }
}
void tcp() {
  static char buf[1 << 20];
  for (int spin : {0, 1}) {
    std::vector<double> v;
    int fl = spin ? MSG_DONTWAIT : 0;
    for (int r = 0; r < 11; r++) {
      int s[2];
      if (tcp_pair(s)) return;
      const int n = 3000;
      pid_t p = fork1();
      if (!p) { pin(1); for (int i = 0; i < n; i++) { rd(s[1], buf, 8, fl); if (send(s[1], buf, 8, 0) != 8) _exit(1); } _exit(0); }
      pin(0);
      std::vector<double> t;
      for (int i = 0; i < n; i++) { double t0 = now(); if (send(s[0], buf, 8, 0) != 8) return; rd(s[0], buf, 8, fl); t.push_back((now() - t0) / 2 * 1e6); }
      waitpid(p, 0, 0);
      close(s[0]); close(s[1]);
      std::sort(t.begin(), t.end());
      v.push_back(t[t.size() / 2]);
    }
    show("tcp loopback one-way 8 B", spin ? "busy-poll recv" : "blocking recv", v, "us");
  }
  for (size_t c : {65536ul, 1ul << 20}) {
    std::vector<double> v;
    for (int r = 0; r < 7; r++) {
      int s[2];
      if (tcp_pair(s)) return;
      const size_t tot = 1ul << 30;
      pid_t p = fork1();
      if (!p) { pin(1); for (size_t d = 0; d < tot; d += c) rd(s[1], buf, c, 0); if (send(s[1], buf, 1, 0) != 1) _exit(1); _exit(0); }
      pin(0);
      double t0 = now();
      for (size_t d = 0; d < tot; d += c) for (size_t o = 0; o < c;) { ssize_t k = send(s[0], buf + o, c - o, 0); if (k <= 0) return; o += k; }
      rd(s[0], buf, 1, 0);
      v.push_back(tot / (now() - t0) * 1e-9);
      waitpid(p, 0, 0);
      close(s[0]); close(s[1]);
    }
    show("tcp loopback bandwidth", "1 stream, chunk " + sz(c), v, "GB/s");
  }
}

// SEND against SEND_ZC on a loopback TCP stream
void zc() {
  for (int zcop : {0, 1})
    for (size_t c : {65536ul, 1ul << 20}) {
      std::vector<double> v;
      unsigned copied = 0, notifs = 0;
      for (int r = 0; r < 5; r++) {
        int s[2];
        if (tcp_pair(s)) return;
        const size_t tot = 1ul << 29;
        static char rb[1 << 20];
        pid_t pid = fork1();
        if (!pid) { pin(1); for (size_t d = 0; d < tot; d += c) rd(s[1], rb, c, 0); if (send(s[1], rb, 1, 0) != 1) _exit(1); _exit(0); }
        pin(0);
        io_uring_params pr{};
        int u = syscall(__NR_io_uring_setup, 64, &pr);
        if (u < 0) { printf("io_uring,setup failed: %s,,,,\n", strerror(errno)); kill(pid, SIGKILL); waitpid(pid, 0, 0); return; }
        size_t sl = pr.sq_off.array + pr.sq_entries * 4, cl = pr.cq_off.cqes + pr.cq_entries * sizeof(io_uring_cqe);
        char* ring = (char*)mmap(0, std::max(sl, cl), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, u, IORING_OFF_SQ_RING);
        auto* sqe = (io_uring_sqe*)mmap(0, pr.sq_entries * sizeof(io_uring_sqe), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, u, IORING_OFF_SQES);
        auto* tail = (std::atomic<unsigned>*)(ring + pr.sq_off.tail);
        auto* arr = (unsigned*)(ring + pr.sq_off.array);
        auto* ch = (std::atomic<unsigned>*)(ring + pr.cq_off.head);
        auto* ct = (std::atomic<unsigned>*)(ring + pr.cq_off.tail);
        auto* cq = (io_uring_cqe*)(ring + pr.cq_off.cqes);
        unsigned sm = *(unsigned*)(ring + pr.sq_off.ring_mask), cm = *(unsigned*)(ring + pr.cq_off.ring_mask);
        static char* data = priv(1 << 20, true);
        double t0 = now();
        unsigned pend = 0;
        bool fail = false;
        for (size_t d = 0; d < tot && !fail; d += c) {
          size_t off = 0;
          while (off < c && !fail) {
            unsigned t = tail->load(), i = t & sm;
            memset(&sqe[i], 0, sizeof sqe[i]);
            sqe[i].opcode = zcop ? 47 /* IORING_OP_SEND_ZC */ : IORING_OP_SEND;
            sqe[i].fd = s[0]; sqe[i].addr = (uint64_t)(data + off); sqe[i].len = c - off;
            sqe[i].msg_flags = MSG_WAITALL | MSG_NOSIGNAL;
            if (zcop) sqe[i].ioprio = 8; /* IORING_SEND_ZC_REPORT_USAGE */
            arr[i] = i;
            tail->store(t + 1);
            if (syscall(__NR_io_uring_enter, u, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) < 0) { fail = true; break; }
            bool got = false;
            while (!got) {
              unsigned h = ch->load();
              if (h == ct->load()) { syscall(__NR_io_uring_enter, u, 0, 1, IORING_ENTER_GETEVENTS, 0, 0); continue; }
              auto& e = cq[h & cm];
              if (e.flags & 8 /* NOTIF */) { notifs++; pend--; if ((unsigned)e.res & 0x80000000u) copied++; }
              else { got = true; if (e.res < 0) { printf("io_uring %s,failed: %s,,,,\n", zcop ? "SEND_ZC" : "SEND", strerror(-e.res)); fail = true; } else off += e.res; if (e.flags & 2 /* MORE */) pend++; }
              ch->store(h + 1);
            }
          }
        }
        if (!fail) { char b; rd(s[0], &b, 1, 0); v.push_back(tot / (now() - t0) * 1e-9); }
        else kill(pid, SIGKILL);
        waitpid(pid, 0, 0);
        close(u); close(s[0]); close(s[1]);
        if (fail) return;
      }
      show(zcop ? "io_uring SEND_ZC loopback" : "io_uring SEND loopback", "chunk " + sz(c) + (zcop ? " copied " + std::to_string(copied) + "/" + std::to_string(notifs) : ""), v, "GB/s");
    }
}
