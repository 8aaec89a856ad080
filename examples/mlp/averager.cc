#include "mlp/averager.h"

namespace mlp {

// Each step does the same with the same memory: what that takes is prepared once.
Averager::Averager(const Job& job, const std::vector<Tensor>& tensors, const Options& options) : job_(job) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    plait_call_config config = {};
    config.struct_size = sizeof config;
    config.algorithm = options.algorithm.empty() ? nullptr : options.algorithm.c_str();
    config.codec = options.codec.empty() ? nullptr : options.codec.c_str();
    config.tensor_key = 1 + i;  // a codec keeps by it what it left out of this tensor, for the next step
    config.shape = tensor.shape.data();
    config.shape_dims = tensor.shape.size();
    plait_request* plan = nullptr;
    job_.check(plait_plan_allreduce(job_.comm(), tensor.gradient.data(), tensor.gradient.data(),
                                    tensor.gradient.size(), PLAIT_FLOAT32, PLAIT_AVG, &config, &plan),
               "plait_plan_allreduce");
    plans_.push_back(plan);
  }
}

Averager::~Averager() {
  for (plait_request* plan : plans_) job_.check(plait_request_free(plan), "plait_request_free");
}

void Averager::start(size_t tensor) {
  job_.check(plait_start(plans_[tensor]), "plait_start");
  latest_ = plans_[tensor];
}

void Averager::wait(size_t tensor) { job_.check(plait_wait(plans_[tensor]), "plait_wait"); }

void Averager::progress() {
  if (latest_ == nullptr) return;
  int done = 0;
  job_.check(plait_test(latest_, &done), "plait_test");
  if (done) latest_ = nullptr;  // operations are executed in order: all before it are done, too
}

}  // namespace mlp
