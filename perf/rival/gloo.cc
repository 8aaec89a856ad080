// Gloo over its TCP, as plait-perf --compare gloo measures it:  plait-rival-gloo RANK RANKS FOLDER
// FOLDER is where they find each other.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>

#include <cstdio>
#include <cstdlib>

#include "perf/rival/rival.h"

namespace plait::perf::rival {
namespace {

constexpr auto kPatience = std::chrono::hours(1);  // for an order

void add(void* to, const void* x, const void* y, size_t n) { gloo::sum<float>(to, x, y, n); }

class Gloo final : public Rival {
 public:
  Gloo(int rank, int size, const char* folder)
      : context_(std::make_shared<gloo::rendezvous::Context>(rank, size)) {
    gloo::transport::tcp::attr where;
    where.hostname = "127.0.0.1";
    gloo::rendezvous::FileStore store(folder);
    context_->setTimeout(kPatience);
    auto device = gloo::transport::tcp::CreateDevice(where);
    context_->connectFullMesh(store, device);
  }
  int rank() const override { return context_->rank; }
  int size() const override { return context_->size; }
  void share(Order& order) override {
    gloo::BroadcastOptions options(context_);
    options.setOutput(reinterpret_cast<char*>(&order), sizeof order);
    options.setRoot(0);
    gloo::broadcast(options);
  }
  void barrier() override {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }
  void slowest(std::vector<double>& us) override {
    gloo::AllreduceOptions options(context_);
    options.setOutput(us.data(), us.size());
    options.setReduceFunction(
        [](void* to, const void* x, const void* y, size_t n) { gloo::max<double>(to, x, y, n); });
    gloo::allreduce(options);
  }
  bool prepare(const Order& order, const float* in, float* out) override {
    order_ = order;
    in_ = const_cast<float*>(in);
    out_ = out;
    return order.kind != Kind::reduce_scatter && (in != nullptr || has_in_place(order.kind));
  }

  void call() override {
    switch (order_.kind) {
      case Kind::allreduce:
        return reduce_all();
      case Kind::reduce:
        return reduce();
      case Kind::allgather:
        return gather_all();
      case Kind::broadcast:
        return broadcast();
      case Kind::gather:
        return gather();
      case Kind::scatter:
        return scatter();
      case Kind::alltoall:
        return exchange();
      case Kind::reduce_scatter:
      case Kind::barrier:
        return barrier();
    }
  }

 private:
  static bool has_in_place(Kind kind) {
    return kind == Kind::allreduce || kind == Kind::reduce || kind == Kind::allgather ||
           kind == Kind::broadcast || kind == Kind::barrier;
  }
  size_t count() const { return size_t(order_.count); }
  size_t all() const { return count() * size_t(size()); }
  bool mine() const { return rank() == order_.root; }

  void reduce_all() {
    gloo::AllreduceOptions options(context_);
    if (in_ != nullptr) options.setInput(in_, count());
    options.setOutput(out_, count());
    options.setReduceFunction(add);
    gloo::allreduce(options);
  }
  void reduce() {
    gloo::ReduceOptions options(context_);
    if (in_ != nullptr) options.setInput(in_, count());
    options.setOutput(out_, count());
    options.setRoot(order_.root);
    options.setReduceFunction(add);
    gloo::reduce(options);
  }
  void gather_all() {
    gloo::AllgatherOptions options(context_);
    if (in_ != nullptr) options.setInput(in_, count());
    options.setOutput(out_, all());
    gloo::allgather(options);
  }
  void broadcast() {
    gloo::BroadcastOptions options(context_);
    if (in_ != nullptr && mine()) options.setInput(in_, count());
    options.setOutput(out_, count());
    options.setRoot(order_.root);
    gloo::broadcast(options);
  }
  void gather() {
    gloo::GatherOptions options(context_);
    options.setInput(in_, count());
    if (mine()) options.setOutput(out_, all());
    options.setRoot(order_.root);
    gloo::gather(options);
  }
  void scatter() {
    gloo::ScatterOptions options(context_);
    std::vector<float*> blocks;
    for (int i = 0; mine() && i < size(); ++i) blocks.push_back(in_ + size_t(i) * count());
    if (mine()) options.setInputs(blocks, count());
    options.setOutput(out_, count());
    options.setRoot(order_.root);
    gloo::scatter(options);
  }
  void exchange() {
    gloo::AlltoallOptions options(context_);
    options.setInput(in_, all());
    options.setOutput(out_, all());
    gloo::alltoall(options);
  }

  std::shared_ptr<gloo::rendezvous::Context> context_;
  Order order_;
  float *in_ = nullptr, *out_ = nullptr;
};

}  // namespace
}  // namespace plait::perf::rival

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "plait-perf --compare gloo starts this\n");
    return 2;
  }
  try {
    plait::perf::rival::Gloo gloo(std::atoi(argv[1]), std::atoi(argv[2]), argv[3]);
    plait::perf::rival::serve(gloo);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gloo: %s\n", e.what());
    return 1;
  }
}
