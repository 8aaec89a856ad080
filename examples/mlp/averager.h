// Averages gradients over the ranks of a job, while the next ones are being computed.
#pragma once

#include <cstddef>
#include <vector>

#include "mlp/job.h"
#include "mlp/network.h"
#include "mlp/options.h"

namespace mlp {

class Averager {
 public:
  // The tensors outlive it, and so does the job.
  Averager(const Job& job, const std::vector<Tensor>& tensors, const Options& options);
  Averager(const Averager&) = delete;
  Averager& operator=(const Averager&) = delete;
  ~Averager();

  // All ranks start tensors in the same order. A gradient that is started is left alone until it is waited
  // for.
  void start(size_t tensor);
  void wait(size_t tensor);

  // plait has no threads of its own: what is started moves on while somebody waits, and here.
  void progress();

 private:
  const Job& job_;
  std::vector<plait_request*> plans_;  // an allreduce for each tensor
  plait_request* latest_ = nullptr;    // started, and perhaps not done
};

}  // namespace mlp
