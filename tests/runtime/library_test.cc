// The library, several communicators and processes: counted, independent, not in the way of a program's own.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <cstring>

#include "support/ranks.h"
#include "support/sanitizers.h"

namespace plait::test {
namespace {

TEST(Library, InitIsCounted) {
  EXPECT_EQ(plait_finalize(), PLAIT_ERR_STATE);
  EXPECT_EQ(plait_init(nullptr), PLAIT_OK);
  EXPECT_EQ(plait_init(nullptr), PLAIT_OK);
  EXPECT_EQ(plait_finalize(), PLAIT_OK);
  void* p = nullptr;
  EXPECT_EQ(plait_mem_alloc(1, &p), PLAIT_OK);
  EXPECT_EQ(plait_mem_free(p), PLAIT_OK);
  EXPECT_EQ(plait_finalize(), PLAIT_OK);
  EXPECT_EQ(plait_mem_alloc(1, &p), PLAIT_ERR_STATE);
}

TEST(Library, RefusesALogLevelThatIsNone) {
  setenv("PLAIT_LOG", "loud", 1);
  EXPECT_EQ(plait_init(nullptr), PLAIT_ERR_INVALID);
  EXPECT_TRUE(contains(plait_last_error(nullptr), "PLAIT_LOG"));
  unsetenv("PLAIT_LOG");
}

TEST(Library, LogsToASink) {
  std::string lines;
  plait_config config{};
  config.struct_size = sizeof config;
  config.log_level = PLAIT_LOG_INFO;
  config.log = [](void* context, plait_log_level, const char* line) {
    static_cast<std::string*>(context)->append(line);
  };
  config.log_context = &lines;
  ASSERT_EQ(plait_init(&config), PLAIT_OK);
  const std::string job = fresh_job();
  std::string words = run_threads(0, 2, 2, [&](int rank, int size) {
    Comm c(job, rank, size);
    return c.error;
  });
  EXPECT_EQ(words, "");
  EXPECT_TRUE(contains(lines, "communicator of 2 ranks"));
  plait_finalize();
}

TEST(Requests, OutstandingOnesCompleteInOrderAndPlansRestart) {
  const std::string job = fresh_job();
  run_ranks({1, 2}, [&](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    if (c.status != PLAIT_OK) return c.error;
    std::vector<std::vector<float>> data(8, std::vector<float>(5000));
    plait_request* requests[8];
    for (int round = 0; round < 3; round++) {
      for (size_t k = 0; k < 8; k++) {
        data[k].assign(5000, float(k) + float(rank));
        if (plait_allreduce(c.comm, data[k].data(), data[k].data(), 5000, PLAIT_FLOAT32, PLAIT_SUM, nullptr,
                            &requests[k]) != PLAIT_OK)
          return c.last();
      }
      int done = 0;
      while (done == 0) {
        if (plait_test(requests[3], &done) != PLAIT_OK) return c.last();
      }
      if (plait_request_free(requests[7]) == PLAIT_OK && size > 1) return "a pending request was freed";
      for (auto* r : requests) {
        if (plait_wait(r) != PLAIT_OK) return c.last();
      }
      for (size_t k = 0; k < 8; k++) {
        for (float v : data[k]) {
          if (v != 3 * float(k) + 3) return "wrong sum";
        }
        if (plait_request_free(requests[k]) != PLAIT_OK) return c.last();
      }
    }
    float x = 0;
    plait_request* plan = nullptr;
    if (plait_plan_allreduce(c.comm, &x, &x, 1, PLAIT_FLOAT32, PLAIT_SUM, nullptr, &plan) != PLAIT_OK)
      return c.last();
    const char* algorithm = "";
    if (plait_request_algorithm(plan, &algorithm) != PLAIT_OK || std::strcmp(algorithm, "all_to_all") != 0)
      return std::string("plan: algorithm ") + algorithm;
    if (plait_request_algorithm(plan, nullptr) != PLAIT_ERR_INVALID ||
        plait_request_algorithm(nullptr, &algorithm) != PLAIT_ERR_INVALID)
      return "plan: a null pointer was taken for a name";
    for (int k = 0; k < 100; k++) {
      x = float(rank + k);
      if (plait_start(plan) != PLAIT_OK) return c.last();
      size_t index = 9;
      if (plait_wait_any(&plan, 1, &index) != PLAIT_OK || index != 0) return c.last();
      if (x != float(3 + 3 * k)) return "plan: wrong sum";
    }
    return plait_request_free(plan) == PLAIT_OK ? "" : c.last();
  });
}

TEST(Communicators, SeveralAreIndependent) {
  const std::string job = fresh_job();
  run_ranks(processes(2), [&](int rank, int size) -> std::string {
    Comm a(job, rank, size), b(job, rank, size);
    if (a.status != PLAIT_OK || b.status != PLAIT_OK) return a.error + b.error;
    float x = 1, y = 10;
    plait_request* r[2];
    // Started in opposite orders: each moves on its own.
    for (int k : {rank, 1 - rank}) {
      float* p = k == 0 ? &x : &y;
      if (plait_allreduce((k == 0 ? a : b).comm, p, p, 1, PLAIT_FLOAT32, PLAIT_SUM, nullptr, &r[k]) !=
          PLAIT_OK)
        return "start";
    }
    for (int k = 0; k < 2; k++) {
      size_t index = 9;
      if (plait_wait_any(r, 2, &index) != PLAIT_OK) return a.last() + b.last();
      plait_request_free(r[index]);
      r[index] = nullptr;
    }
    return x == 2 && y == 20 ? "" : "wrong sums";
  });
}

TEST(Processes, AForkedChildIsTold) {
  const std::string job = fresh_job();
  run_ranks(processes(2), [&](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    if (c.status != PLAIT_OK) return c.error;
    const pid_t child = fork();
    if (child == 0) {
      float x = 1;
      const bool told =
          plait_allreduce(c.comm, &x, &x, 1, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr) == PLAIT_ERR_STATE &&
          plait_init(nullptr) == PLAIT_ERR_STATE && plait_finalize() == PLAIT_OK &&
          plait_init(nullptr) == PLAIT_OK;
      void* p = nullptr;
      _exit(told && plait_mem_alloc(64, &p) == PLAIT_OK ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) return "the child was not told";
    float x = 1;  // the parent's communicator is as it was
    if (plait_allreduce(c.comm, &x, &x, 1, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr) != PLAIT_OK)
      return c.last();
    return x == 2 ? "" : "wrong sum";
  });
}

TEST(Processes, SignalsDoNotDisturb) {
  const std::string job = fresh_job();
  run_ranks(processes(3), [&](int rank, int size) -> std::string {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigaction(SIGALRM, &action, nullptr);
    const itimerval often{{0, 500}, {0, 500}};
    alarm(0);
    setitimer(ITIMER_REAL, &often, nullptr);
    Comm c(job, rank, size);
    if (c.status != PLAIT_OK) return c.error;
    std::vector<float> x(100'000, 1.0f);
    for (int k = 0; k < 50; k++) {
      if (k % 10 == 0) usleep(1000 * unsigned(rank));
      if (plait_allreduce(c.comm, x.data(), x.data(), x.size(), PLAIT_FLOAT32, PLAIT_MAX, nullptr, nullptr) !=
          PLAIT_OK)
        return c.last();
    }
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    return {};
  });
}

TEST(Processes, DescriptorsAreCloseOnExec) {
  const std::string job = fresh_job();
  run_ranks(processes(2), [&](int rank, int size) -> std::string {
    std::vector<bool> before(256);
    for (int fd = 0; fd < 256; fd++) before[size_t(fd)] = fcntl(fd, F_GETFD) >= 0;
    Comm c(job, rank, size);
    for (int fd = 0; fd < 256; fd++) {
      const int flags = fcntl(fd, F_GETFD);
      if (!before[size_t(fd)] && flags >= 0 && (flags & FD_CLOEXEC) == 0)
        return "descriptor " + std::to_string(fd) + " stays open over exec";
    }
    return c.error;
  });
}

TEST(Limits, TooFewDescriptorsAndLittleAddressSpaceAreNamed) {
  for (int what : {RLIMIT_NOFILE, RLIMIT_MEMLOCK, RLIMIT_AS}) {
    // AddressSanitizer has taken terabytes already, and ends the process where it gets no more.
    if (what == RLIMIT_AS && kAddressSanitizer) continue;
    const std::string job = fresh_job();
    run_ranks(processes(2), [&](int rank, int size) -> std::string {
      const rlim_t low = what == RLIMIT_NOFILE ? 6 : what == RLIMIT_MEMLOCK ? 0 : rlim_t(1) << 30;
      rlimit usual{};
      getrlimit(__rlimit_resource(what), &usual);
      const rlimit limit{std::min(low, usual.rlim_max), usual.rlim_max};
      if (rank == 1) setrlimit(__rlimit_resource(what), &limit);
      plait_init(nullptr);
      plait_comm_config config{};
      config.struct_size = sizeof config;
      config.rank = rank;
      config.size = size;
      config.job = job.c_str();
      config.bootstrap_timeout_ms = 3'000;
      plait_comm* comm = nullptr;
      const plait_status status = plait_comm_create(&config, &comm);
      const std::string text = plait_last_error(nullptr);
      if (comm != nullptr) plait_comm_destroy(comm);
      // A sanitizer that looks for leaks as the process ends needs more than these.
      setrlimit(__rlimit_resource(what), &usual);
      if (what == RLIMIT_MEMLOCK) return status == PLAIT_OK ? "" : "memory locking matters: " + text;
      if (status == PLAIT_OK) return what == RLIMIT_AS ? "" : "six descriptors were enough";
      return text.size() > 10 ? "" : "no sentence";
    });
  }
}

}  // namespace
}  // namespace plait::test
