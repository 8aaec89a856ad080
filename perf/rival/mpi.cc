// MPI, as plait-perf --compare mpi measures it: started by mpirun.
#include <mpi.h>

#include <cstdio>
#include <functional>

#include "perf/rival/rival.h"

namespace plait::perf::rival {
namespace {

constexpr auto kNap = std::chrono::microseconds(500);

class Mpi final : public Rival {
 public:
  Mpi() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  // MPI's own waiting takes a core.
  void share(Order& order) override {
    MPI_Request request;
    MPI_Ibcast(&order, sizeof order, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), done == 0;)
      std::this_thread::sleep_for(kNap);
  }
  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }
  void slowest(std::vector<double>& us) override {
    MPI_Reduce(rank_ == 0 ? MPI_IN_PLACE : us.data(), us.data(), int(us.size()), MPI_DOUBLE, MPI_MAX, 0,
               MPI_COMM_WORLD);
  }
  bool prepare(const Order& order, const float* in, float* out) override {
    order_ = order;
    in_ = in;
    out_ = out;
    return order.count <= INT32_MAX;
  }

  void call() override {
    const int n = int(order_.count), root = order_.root;
    const bool mine = rank_ == root;
    float* const block = out_ + size_t(rank_) * size_t(n);
    switch (order_.kind) {
      case Kind::allreduce:
        MPI_Allreduce(from(), out_, n, MPI_FLOAT, MPI_SUM, kAll);
        return;
      case Kind::reduce:
        MPI_Reduce(of_root(out_), out_, n, MPI_FLOAT, MPI_SUM, root, kAll);
        return;
      case Kind::reduce_scatter:
        MPI_Reduce_scatter_block(from(), out_, n, MPI_FLOAT, MPI_SUM, kAll);
        return;
      case Kind::allgather:
        MPI_Allgather(from(), n, MPI_FLOAT, out_, n, MPI_FLOAT, kAll);
        return;
      case Kind::broadcast:
        MPI_Bcast(in_ != nullptr && mine ? const_cast<float*>(in_) : out_, n, MPI_FLOAT, root, kAll);
        return;
      case Kind::gather:
        MPI_Gather(of_root(block), n, MPI_FLOAT, out_, n, MPI_FLOAT, root, kAll);
        return;
      case Kind::scatter:
        MPI_Scatter(in_ != nullptr ? in_ : out_, n, MPI_FLOAT,
                    in_ == nullptr && mine ? MPI_IN_PLACE : static_cast<void*>(block), n, MPI_FLOAT, root,
                    kAll);
        return;
      case Kind::alltoall:
        MPI_Alltoall(from(), n, MPI_FLOAT, out_, n, MPI_FLOAT, kAll);
        return;
      case Kind::barrier:
        MPI_Barrier(kAll);
        return;
    }
  }

 private:
  static inline const MPI_Comm kAll = MPI_COMM_WORLD;
  const void* from() const { return in_ != nullptr ? static_cast<const void*>(in_) : MPI_IN_PLACE; }
  // In place only the root's memory has a hole.
  const void* of_root(const float* others) const {
    return in_ != nullptr ? in_ : rank_ == order_.root ? MPI_IN_PLACE : static_cast<const void*>(others);
  }

  int rank_ = 0, size_ = 1;
  Order order_;
  const float* in_ = nullptr;
  float* out_ = nullptr;
};

}  // namespace
}  // namespace plait::perf::rival

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  plait::perf::rival::Mpi mpi;
  plait::perf::rival::serve(mpi);
  MPI_Finalize();
}
