// plait itself, under the same barrier, clock, sizes and checks as its peers. Ranks come from plait-run or torchrun's
// variables. BENCH_OWN_MEMORY=0: plain memory instead of plait_mem_alloc.
#include <plait/plait.h>

#include "bench.h"

struct Plait : Ops {
  plait_comm* comm = nullptr;
  int32_t r = 0, n = 0;
  static void check(plait_status s, plait_comm* c = nullptr) {
    if (s == PLAIT_OK) return;
    fprintf(stderr, "plait: %s: %s\n", plait_status_string(s), plait_last_error(c));
    exit(1);
  }
  Plait() {
    check(plait_init(nullptr));
    check(plait_comm_create(nullptr, &comm));
    plait_comm_rank(comm, &r);
    plait_comm_size(comm, &n);
  }
  ~Plait() override { plait_comm_destroy(comm); plait_finalize(); }
  int rank() const override { return r; }
  int size() const override { return n; }
  bool prepare(const std::string& c, const float*, float*, size_t) override {
    return c != "alltoall" && c != "pingpong" && c != "sendbw";  // not in this version
  }
  float* alloc(size_t bytes) override {
    void* p = nullptr;
    check(plait_mem_alloc(bytes, &p));
    return static_cast<float*>(p);
  }
  void allreduce(const float* a, float* b, size_t k) override { check(plait_allreduce(comm, a, b, k, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr), comm); }
  void allreduce_inplace(float* b, size_t k) override { check(plait_allreduce(comm, b, b, k, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr), comm); }
  void reduce_scatter(const float* a, float* b, size_t k) override { check(plait_reduce_scatter(comm, a, b, k, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr), comm); }
  void allgather(const float* a, float* b, size_t k) override { check(plait_allgather(comm, a, b, k, PLAIT_FLOAT32, nullptr, nullptr), comm); }
  void broadcast(float* b, size_t k, int root) override { check(plait_broadcast(comm, b, b, k, PLAIT_FLOAT32, root, nullptr, nullptr), comm); }
  void alltoall(const float*, float*, size_t) override {}
  void barrier() override { check(plait_barrier(comm, nullptr, nullptr), comm); }
  void send(const float*, size_t, int) override {}
  void recv(float*, size_t, int) override {}
};

int main() {
  int rc;
  {
    Plait p;
    bench::pin(p.r);
    rc = bench::run(p);
  }
  return rc;
}
