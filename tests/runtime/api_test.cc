// The C API's promises: bad input is refused and loses nothing; requests, plans and threads behave as plait.h
// says.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <cstring>

#include "support/ranks.h"

namespace plait::test {
namespace {

// A communicator of one rank, in this process.
class Api : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(c.status, PLAIT_OK) << c.error; }
  Comm c{fresh_job(), 0, 1};
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float y[8] = {};
};

TEST_F(Api, VersionAndStrings) {
  EXPECT_EQ(plait_version(), PLAIT_VERSION);
  // As far as the enum reaches in C++.
  for (int s = 1; s >= -16; s--) EXPECT_NE(plait_status_string(plait_status(s)), nullptr);
  EXPECT_STREQ(plait_status_string(PLAIT_OK), "ok");
}

TEST_F(Api, NullsAreRefusedAndLoseNothing) {
  EXPECT_EQ(plait_allreduce(nullptr, x, y, 8, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr), PLAIT_ERR_INVALID);
  EXPECT_TRUE(contains(plait_last_error(nullptr), "plait_allreduce"));
  EXPECT_EQ(plait_allreduce(c.comm, nullptr, y, 8, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr),
            PLAIT_ERR_INVALID);
  EXPECT_EQ(plait_allreduce(c.comm, x, nullptr, 8, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr),
            PLAIT_ERR_INVALID);
  EXPECT_EQ(plait_wait(nullptr), PLAIT_ERR_INVALID);
  EXPECT_EQ(plait_comm_create(nullptr, nullptr), PLAIT_ERR_INVALID);
  EXPECT_EQ(plait_comm_destroy(nullptr), PLAIT_ERR_INVALID);
  EXPECT_EQ(plait_mem_alloc(16, nullptr), PLAIT_ERR_INVALID);
  EXPECT_EQ(plait_mem_free(x), PLAIT_ERR_INVALID);
  EXPECT_EQ(plait_mem_free(nullptr), PLAIT_OK);
  EXPECT_EQ(plait_allreduce(c.comm, x, y, 8, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr), PLAIT_OK);
  EXPECT_EQ(std::memcmp(x, y, sizeof x), 0);
}

TEST_F(Api, UnknownNumbersAreRefusedByName) {
  EXPECT_EQ(plait_allreduce(c.comm, x, y, 8, plait_dtype(77), PLAIT_SUM, nullptr, nullptr),
            PLAIT_ERR_INVALID);
  EXPECT_TRUE(contains(c.last(), "dtype 77"));
  EXPECT_EQ(plait_allreduce(c.comm, x, y, 8, PLAIT_FLOAT32, 99, nullptr, nullptr), PLAIT_ERR_INVALID);
  EXPECT_TRUE(contains(c.last(), "op 99"));
  EXPECT_EQ(plait_allreduce(c.comm, x, y, 8, plait_dtype(12), PLAIT_SUM, nullptr, nullptr),
            PLAIT_ERR_INVALID);
  EXPECT_EQ(plait_allreduce(c.comm, x, y, 8, PLAIT_FLOAT32, PLAIT_PREMULTIPLIED_SUM, nullptr, nullptr),
            PLAIT_ERR_INVALID);
  EXPECT_EQ(plait_broadcast(c.comm, x, y, 8, PLAIT_FLOAT32, 1, nullptr, nullptr), PLAIT_ERR_INVALID);
}

TEST_F(Api, CountsThatOverflowAreRefused) {
  EXPECT_EQ(plait_allreduce(c.comm, x, y, SIZE_MAX / 2, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr),
            PLAIT_ERR_INVALID);
  EXPECT_EQ(plait_allgather(c.comm, x, y, SIZE_MAX, PLAIT_INT8, nullptr, nullptr), PLAIT_ERR_INVALID);
  EXPECT_TRUE(contains(c.last(), "overflows"));
}

TEST_F(Api, OverlapIsRefused) {
  EXPECT_EQ(plait_allreduce(c.comm, x, x + 1, 4, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr),
            PLAIT_ERR_INVALID);
  EXPECT_TRUE(contains(c.last(), "overlap"));
}

TEST_F(Api, StructSizesAreChecked) {
  plait_call_config config{};
  EXPECT_EQ(plait_barrier(c.comm, &config, nullptr), PLAIT_ERR_INVALID);  // 0
  config.struct_size = sizeof config;
  EXPECT_EQ(plait_barrier(c.comm, &config, nullptr), PLAIT_OK);
  struct {
    plait_call_config known;
    uint64_t later;
  } newer{};
  newer.known.struct_size = sizeof newer;
  EXPECT_EQ(plait_barrier(c.comm, &newer.known, nullptr), PLAIT_OK);
  newer.later = 1;
  EXPECT_EQ(plait_barrier(c.comm, &newer.known, nullptr), PLAIT_ERR_INVALID);
  config.struct_size = sizeof(size_t);  // an older program: it knows no field
  EXPECT_EQ(plait_barrier(c.comm, &config, nullptr), PLAIT_OK);
  config.struct_size = sizeof config;
  config.algorithm = "no such";
  EXPECT_EQ(plait_barrier(c.comm, &config, nullptr), PLAIT_ERR_UNSUPPORTED);
  EXPECT_TRUE(contains(c.last(), "dissemination"));
  config.algorithm = nullptr;
  config.codec = "int8";
  EXPECT_EQ(plait_barrier(c.comm, &config, nullptr), PLAIT_ERR_UNSUPPORTED);
}

TEST_F(Api, CallsAfterAbortSaySo) {
  EXPECT_EQ(plait_comm_abort(c.comm), PLAIT_OK);
  EXPECT_EQ(plait_allreduce(c.comm, x, y, 8, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr), PLAIT_ERR_ABORTED);
}

TEST_F(Api, PlansAreExplained) {
  plait_request* plan = nullptr;
  ASSERT_EQ(plait_plan_allreduce(c.comm, x, y, 8, PLAIT_FLOAT32, PLAIT_SUM, nullptr, &plan), PLAIT_OK);
  size_t count = 0, length = 0;
  ASSERT_EQ(plait_candidates(plan, nullptr, 0, &count), PLAIT_OK);
  ASSERT_GT(count, 3u);
  std::vector<plait_candidate> list(count + 1);
  for (plait_candidate& one : list) one.struct_size = sizeof one;
  ASSERT_EQ(plait_candidates(plan, list.data(), list.size(), &count), PLAIT_OK);
  ASSERT_EQ(count, list.size() - 1);
  const char* taken = "";
  ASSERT_EQ(plait_request_algorithm(plan, &taken), PLAIT_OK);
  int chosen = 0;
  for (size_t i = 0; i < count; i++) {
    EXPECT_EQ(list[i].struct_size, sizeof list[i]);
    EXPECT_LT(list[i].tuned_us, 0);
    chosen += list[i].chosen;
    EXPECT_EQ(list[i].chosen != 0, std::string(taken) == list[i].algorithm);
  }
  EXPECT_EQ(chosen, 1);
  EXPECT_EQ(list[count].algorithm, nullptr);  // beyond the count nothing is written
  ASSERT_EQ(plait_explain(plan, nullptr, 0, &length), PLAIT_OK);
  std::string text(length + 1, '?');
  ASSERT_EQ(plait_explain(plan, text.data(), text.size(), &length), PLAIT_OK);
  EXPECT_EQ(text.find('\0'), length);
  EXPECT_TRUE(contains(text, std::string("* ") + taken)) << text;
  char some[10];
  ASSERT_EQ(plait_explain(plan, some, sizeof some, &length), PLAIT_OK);
  EXPECT_EQ(std::string(some), text.substr(0, 9));
  EXPECT_EQ(plait_request_free(plan), PLAIT_OK);
}

// A caller that was built when the struct had fewer fields: its elements are as long as it says.
TEST_F(Api, ListsHaveElementsOfTheCallersSize) {
  struct Older {
    size_t struct_size = sizeof(Older);
    const char* algorithm = nullptr;
  };
  plait_request* plan = nullptr;
  ASSERT_EQ(plait_plan_allreduce(c.comm, x, y, 8, PLAIT_FLOAT32, PLAIT_SUM, nullptr, &plan), PLAIT_OK);
  size_t count = 0;
  Older few[3];
  auto* list = reinterpret_cast<plait_candidate*>(few);
  ASSERT_EQ(plait_candidates(plan, list, 2, &count), PLAIT_OK);
  ASSERT_NE(few[0].algorithm, nullptr);
  ASSERT_NE(few[1].algorithm, nullptr);
  EXPECT_NE(std::string(few[0].algorithm), few[1].algorithm);
  EXPECT_EQ(few[1].struct_size, sizeof(Older));
  EXPECT_EQ(few[2].algorithm, nullptr);
  few[1].struct_size = sizeof(size_t);
  EXPECT_EQ(plait_candidates(plan, list, 2, &count), PLAIT_ERR_INVALID);
  EXPECT_TRUE(contains(c.last(), "struct_size is not the same in all elements")) << c.last();
  EXPECT_EQ(plait_request_free(plan), PLAIT_OK);
}

TEST_F(Api, WhatIsNoPlanIsNotExplained) {
  size_t count = 0;
  plait_request *plan = nullptr, *call = nullptr, *message = nullptr;
  EXPECT_EQ(plait_candidates(nullptr, nullptr, 0, &count), PLAIT_ERR_INVALID);
  ASSERT_EQ(plait_plan_barrier(c.comm, nullptr, &plan), PLAIT_OK);
  EXPECT_EQ(plait_candidates(plan, nullptr, 0, nullptr), PLAIT_ERR_INVALID);
  EXPECT_EQ(plait_candidates(plan, nullptr, 1, &count), PLAIT_ERR_INVALID);
  EXPECT_EQ(plait_explain(plan, nullptr, 1, &count), PLAIT_ERR_INVALID);
  plait_candidate one{};  // its struct_size is 0
  EXPECT_EQ(plait_candidates(plan, &one, 1, &count), PLAIT_ERR_INVALID);
  EXPECT_TRUE(contains(c.last(), "plait_candidate"));
  ASSERT_EQ(plait_barrier(c.comm, nullptr, &call), PLAIT_OK);
  ASSERT_EQ(plait_wait(call), PLAIT_OK);
  EXPECT_EQ(plait_explain(call, nullptr, 0, &count), PLAIT_ERR_INVALID);
  EXPECT_TRUE(contains(c.last(), "not a plan"));
  ASSERT_EQ(plait_plan_send(c.comm, x, 1, PLAIT_FLOAT32, 0, 0, nullptr, &message), PLAIT_OK);
  EXPECT_EQ(plait_explain(message, nullptr, 0, &count), PLAIT_ERR_INVALID);
  for (plait_request* r : {plan, call, message}) EXPECT_EQ(plait_request_free(r), PLAIT_OK);
}

TEST_F(Api, MemoryIsZeroedAlignedAndRegisteredMemoryIsFreedOnce) {
  void* p = nullptr;
  ASSERT_EQ(plait_mem_alloc(100'000, &p), PLAIT_OK);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 4096, 0u);
  for (size_t i = 0; i < 100'000; i++) ASSERT_EQ(static_cast<char*>(p)[i], 0);
  EXPECT_EQ(plait_mem_free(p), PLAIT_OK);
  EXPECT_EQ(plait_mem_free(p), PLAIT_ERR_INVALID);
  EXPECT_EQ(plait_mem_alloc(0, &p), PLAIT_ERR_INVALID);
  plait_memory m{};
  m.struct_size = sizeof m;
  plait_region* region = nullptr;
  EXPECT_EQ(plait_register(&m, &region), PLAIT_ERR_INVALID);
  m.base = x;
  m.bytes = sizeof x;
  m.kind = PLAIT_MEMORY_DEVICE;
  EXPECT_EQ(plait_register(&m, &region), PLAIT_ERR_UNSUPPORTED);
  m.kind = PLAIT_MEMORY_HOST;
  ASSERT_EQ(plait_register(&m, &region), PLAIT_OK);
  EXPECT_EQ(plait_deregister(region), PLAIT_OK);
}

TEST_F(Api, Levels) {
  size_t count = 0;
  EXPECT_EQ(plait_comm_levels(c.comm, nullptr, 0, &count), PLAIT_OK);
  EXPECT_EQ(count, 1u);
  plait_level level{};
  level.struct_size = sizeof level;
  EXPECT_EQ(plait_comm_levels(c.comm, &level, 1, &count), PLAIT_OK);
  EXPECT_STREQ(level.name, "host");
}

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
    const std::string job = fresh_job();
    run_ranks(processes(2), [&](int rank, int size) -> std::string {
      const rlim_t low = what == RLIMIT_NOFILE ? 6 : what == RLIMIT_MEMLOCK ? 0 : rlim_t(1) << 30;
      const rlimit limit{low, low};
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
      if (what == RLIMIT_MEMLOCK) return status == PLAIT_OK ? "" : "memory locking matters: " + text;
      if (status == PLAIT_OK) return what == RLIMIT_AS ? "" : "six descriptors were enough";
      return text.size() > 10 ? "" : "no sentence";
    });
  }
}

}  // namespace
}  // namespace plait::test
