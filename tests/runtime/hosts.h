// Ranks on several hosts, in tests: the hosts are this one, told apart by their ids.
#pragma once

#include "support/ranks.h"

namespace plait::test {

inline std::string sums(plait_comm* comm, int rank, int size, const char* algorithm = nullptr) {
  plait_call_config config{};
  config.struct_size = sizeof config;
  config.algorithm = algorithm;
  for (size_t count : {size_t(1), size_t(5000), size_t(200'000)}) {
    std::vector<float> x(count);
    for (size_t i = 0; i < count; i++) x[i] = float(rank + 1) * float(i % 13);
    if (plait_allreduce(comm, x.data(), x.data(), count, PLAIT_FLOAT32, PLAIT_SUM, &config, nullptr) !=
        PLAIT_OK)
      return plait_last_error(comm);
    const float weight = float(size * (size + 1) / 2);
    for (size_t i = 0; i < count; i++) {
      if (x[i] != weight * float(i % 13))
        return "element " + std::to_string(i) + " of " + std::to_string(count) + " is wrong";
    }
  }
  return {};
}

// A communicator until its end, or until close().
struct Handle {
  plait_comm* comm = nullptr;
  std::string error;  // empty where it was made
  explicit Handle(plait_comm_config config) {
    config.struct_size = sizeof config;
    if (config.bootstrap_timeout_ms == 0) config.bootstrap_timeout_ms = 30'000;
    if (config.timeout_ms == 0) config.timeout_ms = 60'000;
    plait_init(nullptr);
    if (plait_comm_create(&config, &comm) != PLAIT_OK) error = plait_last_error(nullptr);
  }
  ~Handle() {
    close();
    plait_finalize();
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  void close() {
    if (comm != nullptr) plait_comm_destroy(comm);
    comm = nullptr;
  }
};

// Lives until the thread asks for another.
inline plait_comm_config config_of(int rank, int size, const char* job, const std::string& host) {
  thread_local std::string kept;
  kept = host;
  plait_comm_config c{};
  c.rank = rank;
  c.size = size;
  c.job = job;
  c.host_id = kept.c_str();
  c.interface_name = "lo";
  return c;
}

// A file that only this user may read.
struct SecretFile {
  char path[64] = "/tmp/plait-test-secret-XXXXXX";
  SecretFile() {
    const int fd = mkstemp(path);
    if (fd < 0 || write(fd, "0123456789abcdef0123456789abcdef", 32) != 32) abort();
    close(fd);
  }
  ~SecretFile() { unlink(path); }
};

}  // namespace plait::test
