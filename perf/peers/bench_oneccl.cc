// oneCCL on processors, launched by Intel MPI, by which it also moves messages (CCL_ATL_TRANSPORT=mpi, its default). Built where
// the wheels oneccl-devel and impi-devel are.
#include <mpi.h>

#include <array>
#include <oneapi/ccl.hpp>

#include "bench.h"

struct OneCcl : Ops {
  int r = 0, n = 0;
  ccl::shared_ptr_class<ccl::kvs> kvs;
  std::unique_ptr<ccl::communicator> comm;
  static constexpr ccl::datatype kType = ccl::datatype::float32;

  OneCcl() {
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    ccl::init();
    ccl::kvs::address_type where{};
    if (r == 0) {
      kvs = ccl::create_main_kvs();
      where = kvs->get_address();
    }
    MPI_Bcast(where.data(), int(where.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
    if (r != 0) kvs = ccl::create_kvs(where);
    comm.reset(new ccl::communicator(ccl::create_communicator(n, r, kvs)));
  }
  int rank() const override { return r; }
  int size() const override { return n; }
  // Its workers, where there are cores for them; else the caller moves things.
  bool threaded() override { return bench::env("CCL_WORKER_OFFLOAD", "0") == "1"; }
  bool prepare(const std::string& k, const float*, float*, size_t) override { return k != "pingpong" && k != "sendbw"; }
  void allreduce(const float* a, float* b, size_t k) override {
    ccl::allreduce(a, b, k, kType, ccl::reduction::sum, *comm).wait();
  }
  void allreduce_inplace(float* b, size_t k) override { allreduce(b, b, k); }
  void reduce_scatter(const float* a, float* b, size_t k) override {
    ccl::reduce_scatter(a, b, k, kType, ccl::reduction::sum, *comm).wait();
  }
  void allgather(const float* a, float* b, size_t k) override {
    ccl::allgatherv(a, k, b, std::vector<size_t>(size_t(n), k), kType, *comm).wait();
  }
  void broadcast(float* b, size_t k, int root) override { ccl::broadcast(b, k, kType, root, *comm).wait(); }
  void alltoall(const float* a, float* b, size_t k) override { ccl::alltoall(a, b, k, kType, *comm).wait(); }
  void barrier() override { ccl::barrier(*comm).wait(); }
  void send(const float*, size_t, int) override {}
  void recv(float*, size_t, int) override {}
};

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int rc;
  {
    OneCcl c;
    bench::pin(c.r);
    rc = bench::run(c);
  }
  MPI_Finalize();
  return rc;
}
