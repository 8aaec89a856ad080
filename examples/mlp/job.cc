#include "mlp/job.h"

#include <cstdio>
#include <cstdlib>

namespace mlp {

Job::Job(const Options& options) {
  check(plait_init(nullptr), "plait_init");
  plait_comm_config config = {};
  config.struct_size = sizeof config;
  config.deterministic = options.deterministic;
  // Who we are, and where the others are, is the launcher's to say: plait-run, torchrun, mpirun, ... Without
  // one, this process is alone.
  check(plait_comm_create(&config, &comm_), "plait_comm_create");
  check(plait_comm_rank(comm_, &rank_), "plait_comm_rank");
  check(plait_comm_size(comm_, &size_), "plait_comm_size");
}

Job::~Job() {
  check(plait_mem_free(memory_), "plait_mem_free");
  const plait_status left = plait_comm_destroy(comm_);
  comm_ = nullptr;  // gone, whatever came of it
  check(left, "plait_comm_destroy");
  check(plait_finalize(), "plait_finalize");
}

void Job::check(plait_status status, const char* what) const {
  if (status == PLAIT_OK) return;
  std::fprintf(stderr, "mlp: %s: %s: %s\n", what, plait_status_string(status), plait_last_error(comm_));
  std::exit(1);  // the other ranks are told: their calls return PLAIT_ERR_PEER, which names this one
}

float* Job::allocate(size_t count) {
  check(plait_mem_alloc(count * sizeof(float), &memory_), "plait_mem_alloc");
  return static_cast<float*>(memory_);
}

}  // namespace mlp
