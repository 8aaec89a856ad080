// plait itself, under the same barrier, clock, sizes and checks as its peers. Ranks come from plait-run or torchrun's
// variables. BENCH_OWN_MEMORY=0: plain memory instead of plait_mem_alloc.
#include <plait/plait.h>

#include "bench.h"

struct Plait : Ops {
  static constexpr plait_dtype kType = PLAIT_FLOAT32;
  static constexpr int32_t kTag = 1;
  plait_comm* comm = nullptr;
  int32_t r = 0, n = 0;

  static void die(plait_status s, plait_comm* c) {
    fprintf(stderr, "plait: %s: %s\n", plait_status_string(s), plait_last_error(c));
    exit(1);
  }
  static void check(plait_status s, plait_comm* c = nullptr) {
    if (s != PLAIT_OK) die(s, c);
  }
  void done(plait_status s) { check(s, comm); }

  Plait() {
    check(plait_init(nullptr));
    check(plait_comm_create(nullptr, &comm));
    plait_comm_rank(comm, &r);
    plait_comm_size(comm, &n);
  }
  ~Plait() override {
    plait_comm_destroy(comm);
    plait_finalize();
  }
  int rank() const override { return r; }
  int size() const override { return n; }
  float* alloc(size_t bytes) override {
    void* p = nullptr;
    check(plait_mem_alloc(bytes, &p));
    return static_cast<float*>(p);
  }

  void allreduce(const float* a, float* b, size_t k) override {
    done(plait_allreduce(comm, a, b, k, kType, PLAIT_SUM, nullptr, nullptr));
  }
  void allreduce_inplace(float* b, size_t k) override { allreduce(b, b, k); }
  void reduce_scatter(const float* a, float* b, size_t k) override {
    done(plait_reduce_scatter(comm, a, b, k, kType, PLAIT_SUM, nullptr, nullptr));
  }
  void allgather(const float* a, float* b, size_t k) override {
    done(plait_allgather(comm, a, b, k, kType, nullptr, nullptr));
  }
  void broadcast(float* b, size_t k, int root) override {
    done(plait_broadcast(comm, b, b, k, kType, root, nullptr, nullptr));
  }
  void alltoall(const float* a, float* b, size_t k) override {
    done(plait_alltoall(comm, a, b, k, kType, nullptr, nullptr));
  }
  void barrier() override { done(plait_barrier(comm, nullptr, nullptr)); }

  void send(const float* b, size_t k, int to) override { done(plait_send(comm, b, k, kType, to, kTag, nullptr, nullptr)); }
  void recv(float* b, size_t k, int from) override { done(plait_recv(comm, b, k, kType, from, kTag, nullptr, nullptr)); }
  void send_window(const float* b, size_t k, int to, int w) override {
    done(plait_group_begin());
    for (int i = 0; i < w; i++) send(b + i * k, k, to);
    done(plait_group_end());
  }
  void recv_window(float* b, size_t k, int from, int w) override {
    done(plait_group_begin());
    for (int i = 0; i < w; i++) recv(b + i * k, k, from);
    done(plait_group_end());
  }
};

int main() {
  Plait p;
  bench::pin(p.r);
  return bench::run(p);
}
