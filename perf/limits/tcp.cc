// The limit of two ranks on TCP: nothing but polled sockets, runs of full GSO packets out, and a sum of what came between them.
// No protocol, no credits, no failure handling: what a runtime could come close to, not a peer.
// RANK, WORLD_SIZE=2; TCP_ROOT is the address at which rank 0 listens.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "../peers/bench.h"

struct Tcp : Ops {
  // Four packets of 45 segments of 1448 bytes; one at a time, received between each two, takes a third longer, eight with one call too.
  static constexpr size_t kPiece = 4 * 65160;
  // Where malloc has it, 16 bytes past a page, copies are slow: those that begin 1 to 31 bytes behind their source, in their pages,
  // take ten times as long.
  static constexpr size_t kPage = 4096, kOff = 1024;
  int r, fd;
  alignas(kPage) char page[kOff + kPiece + sizeof(float)];
  char* const part = page + kOff;

  static void check(bool good, const char* what) {
    if (good) return;
    perror(what);
    exit(1);
  }
  explicit Tcp(int rank) : r(rank) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(29555);
    inet_pton(AF_INET, bench::env("TCP_ROOT", "127.0.0.1").c_str(), &a.sin_addr);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    int on = 1;
    if (r == 0) {
      setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      check(!bind(fd, (sockaddr*)&a, sizeof a) && !listen(fd, 1), "listen");
      fd = accept(fd, nullptr, nullptr);
      check(fd >= 0, "accept");
    } else {
      for (int i = 0; connect(fd, (sockaddr*)&a, sizeof a); i++) {
        check(i < 500, "connect");
        close(fd);
        usleep(20000);
        fd = socket(AF_INET, SOCK_STREAM, 0);
      }
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  int rank() const override { return r; }
  int size() const override { return 2; }
  size_t put(const void* p, size_t n) {
    ssize_t k = ::send(fd, p, std::min(n, kPiece), MSG_DONTWAIT | MSG_NOSIGNAL);
    check(k >= 0 || errno == EAGAIN, "send");
    return k < 0 ? 0 : k;
  }
  size_t get(void* p, size_t n) {
    ssize_t k = ::recv(fd, p, n, MSG_DONTWAIT);
    check(k > 0 || (k < 0 && errno == EAGAIN), "recv");
    return k < 0 ? 0 : k;
  }
  // Both send all they have, and add what arrives; in place not before it was sent.
  void exchange(const float* in, float* out, size_t n) {
    size_t bytes = n * sizeof(float), sent = 0, added = 0, kept = 0;
    while (sent < bytes || added < bytes) {
      if (sent < bytes) sent += put((const char*)in + sent, bytes - sent);
      size_t room = std::min(kPiece + sizeof(float) - kept, sent - added - kept);
      if (room == 0) continue;
      kept += get(part + kept, room);
      size_t whole = kept / sizeof(float), at = added / sizeof(float);
      for (size_t i = 0; i < whole; i++) out[at + i] = in[at + i] + ((const float*)part)[i];
      added += whole * sizeof(float);
      kept -= whole * sizeof(float);
      memmove(part, part + whole * sizeof(float), kept);
    }
  }
  bool prepare(const std::string& c, const float*, float*, size_t) override {
    return c.rfind("allreduce", 0) == 0 || c == "barrier" || c == "pingpong" || c == "sendbw";
  }
  void allreduce(const float* a, float* b, size_t k) override { exchange(a, b, k); }
  void allreduce_inplace(float* b, size_t k) override { exchange(b, b, k); }
  void barrier() override {
    float in = 0, out;
    exchange(&in, &out, 1);
  }
  void send(const float* b, size_t k, int) override {
    for (size_t done = 0; done < k * 4;) done += put((const char*)b + done, k * 4 - done);
  }
  void recv(float* b, size_t k, int) override {
    for (size_t done = 0; done < k * 4;) done += get((char*)b + done, k * 4 - done);
  }
  void reduce_scatter(const float*, float*, size_t) override {}
  void allgather(const float*, float*, size_t) override {}
  void broadcast(float*, size_t, int) override {}
  void alltoall(const float*, float*, size_t) override {}
};

int main() {
  int r = atoi(bench::env("RANK", "0").c_str());
  bench::pin(r);
  Tcp t(r);
  return bench::run(t);
}
