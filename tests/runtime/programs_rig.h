// Ranks as threads, with communicators that were given files of programs.
#pragma once

#include "runtime/collective.h"
#include "runtime/program_files.h"
#include "support/ranks.h"

namespace plait::test {

// A communicator that was given files of programs.
class Importing {
 public:
  Importing(const std::string& job, int rank, int size, const std::string& programs,
            const std::string& tuning = {}, bool deterministic = false) {
    plait_init(nullptr);
    plait_comm_config config{};
    config.struct_size = sizeof config;
    config.rank = rank;
    config.size = size;
    config.job = job.c_str();
    const std::string host = host_of(rank);
    config.host_id = host.empty() ? nullptr : host.c_str();
    config.bootstrap_timeout_ms = config.timeout_ms = 60'000;
    config.programs = programs.c_str();
    config.tuning_file = tuning.empty() ? nullptr : tuning.c_str();
    config.deterministic = deterministic;
    status = plait_comm_create(&config, &comm);
    if (status != PLAIT_OK) error = plait_last_error(nullptr);
  }
  ~Importing() {
    if (comm != nullptr) plait_comm_destroy(comm);
    plait_finalize();
  }
  Importing(const Importing&) = delete;
  Importing& operator=(const Importing&) = delete;

  plait_comm* comm = nullptr;
  plait_status status = PLAIT_ERR_STATE;
  std::string error;
};

// A rank, with memory that its peers may map, or that they may not.
class Caller {
 public:
  Caller(plait_comm* the_comm, int the_rank, int the_size, bool shared = false)
      : comm(the_comm), rank(the_rank), size(the_size) {
    if (shared) {
      EXPECT_EQ(plait_mem_alloc(kBytes, &block_), PLAIT_OK);
    } else {
      plain_.resize(kBytes);
    }
    memory = shared ? static_cast<char*>(block_) : plain_.data();
  }
  ~Caller() {
    if (block_ != nullptr) plait_mem_free(block_);
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  Room room(const Case& c) const {
    const size_t bytes = room_for(c, size);
    EXPECT_LE(2 * bytes, kBytes);
    return {memory, memory + bytes, bytes};
  }
  std::string operator()(const Case& c, int times = 1) {
    return run_case(c, comm, room(c), rank, size, times);
  }
  // What the call is refused with; "" when it is not.
  std::string refusal(const Case& c) {
    const plait_status status = call(c, comm, room(c), rank, size);
    return status == PLAIT_ERR_UNSUPPORTED ? plait_last_error(comm) : "";
  }
  // What plait takes for an allreduce in place.
  std::string choice(size_t count, const char* forced = nullptr) {
    plait_call_config config{};
    config.struct_size = sizeof config;
    config.algorithm = forced;
    plait_request* plan = nullptr;
    const char* name = nullptr;
    if (plait_plan_allreduce(comm, memory, memory, count, PLAIT_FLOAT32, PLAIT_SUM, &config, &plan) !=
        PLAIT_OK)
      return plait_last_error(comm);
    plait_request_algorithm(plan, &name);
    plait_request_free(plan);
    return name;
  }

  plait_comm* const comm;
  const int rank, size;
  char* memory = nullptr;

 private:
  static constexpr size_t kBytes = size_t(8) << 20;
  std::vector<char> plain_;
  void* block_ = nullptr;
};

// On `size` ranks that are threads, each with a communicator that was given `programs`; with either memory.
inline void on_threads(int size, const std::string& programs,
                       const std::function<std::string(Caller&)>& main) {
  for (bool shared : {false, true}) {
    const std::string job = fresh_job();
    EXPECT_EQ(run_threads(0, size, size,
                          [&](int rank, int n) -> std::string {
                            Importing c(job, rank, n, programs);
                            if (c.status != PLAIT_OK) return c.error;
                            Caller caller(c.comm, rank, n, shared);
                            return main(caller);
                          }),
              "");
  }
}

#define RETURN_WORDS(call) \
  if (std::string words = call; !words.empty()) return words

}  // namespace plait::test
