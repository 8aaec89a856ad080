// The ranks that train together.
#pragma once

#include <plait/plait.h>

#include <cstddef>

#include "mlp/options.h"

namespace mlp {

class Job {
 public:
  explicit Job(const Options& options);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job();

  plait_comm* comm() const { return comm_; }
  size_t rank() const { return static_cast<size_t>(rank_); }
  size_t size() const { return static_cast<size_t>(size_); }

  // Ends the program with plait's sentence when `status` is an error of this job's communicator.
  void check(plait_status status, const char* what) const;

  // Memory that the other ranks reach directly, several times faster than a vector's, which works too. Lives
  // as long as the job.
  float* allocate(size_t count);

 private:
  plait_comm* comm_ = nullptr;
  void* memory_ = nullptr;
  int32_t rank_ = 0, size_ = 1;
};

}  // namespace mlp
