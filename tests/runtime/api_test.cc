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

}  // namespace
}  // namespace plait::test
