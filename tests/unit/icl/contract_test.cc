// The contract of icl.h about bytes, order, semaphores and completions, over every driver there is.
#include <cstring>

#include "pods.h"

namespace plait::icl {
namespace {

// Chips 0 and `far` of a pod, in one device or one each.
struct World {
  const char *name, *pod;
  uint32_t far;
  bool one_device;
  Driver driver = Driver::emu;
};

class Contract : public testing::TestWithParam<World> {
 protected:
  void SetUp() override {
    const World& s = GetParam();
    pod_ = std::make_unique<Pod>(s.driver, s.pod + kFast);
    icl_device_info info{};
    info.struct_size = sizeof info;
    icl_device* first = pod_->open(s.one_device ? all() : "0");
    ICL_OK_(icl_query_device(first, &info));
    icl_device* last = first;
    for (uint32_t chip = 1; !s.one_device && chip < info.chips; chip++) {
      icl_device* d = pod_->open(std::to_string(chip));
      if (chip == s.far) last = d;
    }
    a_.open(first, 0);
    b_.open(last, s.far);
    connect(a_, b_);
  }
  void TearDown() override {
    a_.close();
    b_.close();
    pod_.reset();
  }
  static std::string all() {
    return std::string(GetParam().pod).find("16") != std::string::npos ? "0-15"
                                                                       : "0-" + std::to_string(chips() - 1);
  }
  static uint32_t chips() {
    icl_graph* g = nullptr;
    EXPECT_EQ(icl_graph_parse(GetParam().pod, &g), ICL_OK);
    const uint32_t n = icl_graph_chips(g);
    icl_graph_free(g);
    return n;
  }
  std::unique_ptr<Pod> pod_;
  End a_, b_;
};

TEST_P(Contract, WritesLandWhole) {
  uint64_t cookie = 0;
  for (uint64_t bytes : {1ull, 63ull, 64ull, 4095ull, 4096ull, 4097ull, 100000ull, 1048576ull}) {
    fill(a_.from(), bytes, static_cast<unsigned>(bytes));
    std::memset(b_.to(), 0, End::kBytes);
    ASSERT_EQ(a_.post(a_.write(bytes, 0, ++cookie)), 1u);
    const icl_completion c = a_.next();
    ASSERT_EQ(c.status, ICL_OK) << a_.why();
    EXPECT_EQ(c.cookie, cookie);
    EXPECT_EQ(std::memcmp(a_.from(), b_.to(), bytes), 0) << bytes;
    if (bytes < End::kBytes) {
      EXPECT_EQ(b_.to()[bytes], 0);
    }
  }
}

TEST_P(Contract, ReadsFetchWhole) {
  for (uint64_t bytes : {0ull, 1ull, 4096ull, 70001ull, 1048576ull}) {
    fill(b_.to(), End::kBytes, static_cast<unsigned>(bytes));
    ASSERT_EQ(a_.post(a_.read(bytes, 0, 7)), 1u);
    ASSERT_EQ(a_.next().status, ICL_OK) << a_.why();
    EXPECT_EQ(std::memcmp(a_.from(), b_.to(), bytes), 0) << bytes;
  }
}

TEST_P(Contract, ManyReadsAtOnce) {
  fill(b_.to(), End::kBytes, 3);
  for (uint64_t i = 0; i < 40; i++) ASSERT_EQ(a_.post(a_.read(10000, i * 10000, i)), 1u);
  for (uint64_t i = 0; i < 40; i++) {
    const icl_completion c = a_.next();
    ASSERT_EQ(c.status, ICL_OK) << a_.why();
    EXPECT_EQ(c.cookie, i);
  }
  EXPECT_EQ(std::memcmp(a_.from(), b_.to(), 400000), 0);
}

TEST_P(Contract, ASignalIsSeenBehindItsBytes) {
  auto* from = reinterpret_cast<uint64_t*>(a_.from());
  for (uint64_t round = 1; round <= 200; round++) {
    for (size_t i = 0; i < 2000; i++) from[i] = round;
    icl_descriptor d = a_.with_signal(a_.write(16000, 0, round), 3, 5);
    ASSERT_EQ(a_.post(d), 1u);
    ASSERT_TRUE(wait_for([&] { return b_.word(3) == 5 * round; }));
    const auto* to = reinterpret_cast<const volatile uint64_t*>(b_.to());
    for (size_t i = 0; i < 2000; i++) ASSERT_EQ(to[i], round);
    ASSERT_EQ(a_.next().status, ICL_OK) << a_.why();
  }
}

TEST_P(Contract, SignalsAloneAddUpBothWays) {
  for (int i = 0; i < 500; i++)
    for (End* e : {&a_, &b_}) {
      icl_descriptor d{};
      d.verb = ICL_VERB_SIGNAL;
      d = e->with_signal(d, 0, 1);
      ASSERT_TRUE(wait_for([&] { return e->post(d) == 1; }));
    }
  EXPECT_TRUE(wait_for([&] { return a_.word(0) == 500 && b_.word(0) == 500; })) << a_.why() << b_.why();
  icl_completion none;
  EXPECT_EQ(icl_poll(a_.ring, &none, 1), 0u) << "none was wanted";
}

TEST_P(Contract, InlineBytesAreTakenAtOnce) {
  for (unsigned i = 0; i < 60; i++) {
    unsigned char bytes[64];
    fill(bytes, sizeof bytes, i);
    icl_descriptor d = a_.write(64, i * 64, i);
    d.local = nullptr;
    d.flags |= ICL_INLINE;
    d.inline_data = bytes;
    ASSERT_EQ(a_.post(d), 1u);
    std::memset(bytes, 0xee, sizeof bytes);
    fill(a_.from() + i * 64, 64, i);
  }
  for (unsigned i = 0; i < 60; i++) ASSERT_EQ(a_.next().status, ICL_OK);
  EXPECT_EQ(std::memcmp(a_.from(), b_.to(), 60 * 64), 0);
}

TEST_P(Contract, ABatchIsTakenUpToTheDepth) {
  std::vector<icl_descriptor> batch;
  for (uint64_t i = 0; i < 100; i++) batch.push_back(a_.write(8, i * 8, i));
  size_t taken = 0;
  ICL_OK_(icl_post(a_.queue, batch.data(), batch.size(), &taken));
  ASSERT_GE(taken, 1u);
  ASSERT_LE(taken, 64u);
  size_t posted = taken;
  for (uint64_t i = 0; i < 100; i++) {
    const icl_completion c = a_.next();
    ASSERT_EQ(c.cookie, i) << "in order";
    while (posted < 100) {
      ICL_OK_(icl_post(a_.queue, batch.data() + posted, 100 - posted, &taken));
      if (taken == 0) break;
      posted += taken;
    }
  }
}

TEST_P(Contract, HostMemoryIsMemoryToo) {
  std::vector<unsigned char> mine(50000), theirs(50000);
  icl_memory *from = nullptr, *to = nullptr;
  icl_exported* key = nullptr;
  icl_remote* remote = nullptr;
  ICL_OK_(icl_register(a_.device, a_.chip, ICL_HOST_POINTER, mine.data(), mine.size(), &from));
  ICL_OK_(icl_register(b_.device, b_.chip, ICL_HOST_POINTER, theirs.data(), theirs.size(), &to));
  ICL_OK_(icl_export(to, 0, theirs.size(), ICL_WRITE, &key));
  ICL_OK_(icl_import(a_.queue, icl_key(key), &remote));
  fill(mine.data(), mine.size(), 9);
  icl_descriptor d = a_.write(mine.size(), 0, 1);
  d.local = from;
  d.remote = remote;
  ASSERT_EQ(a_.post(d), 1u);
  ASSERT_EQ(a_.next().status, ICL_OK) << a_.why();
  EXPECT_EQ(mine, theirs);
  icl_memory* none = nullptr;
  EXPECT_EQ(icl_register(a_.device, a_.chip, ICL_DEVICE_POINTER, mine.data(), 8, &none), ICL_ERR_UNSUPPORTED);
  EXPECT_EQ(icl_free(to), ICL_ERR_BUSY);
  icl_forget(remote);
  icl_revoke(key);
  ICL_OK_(icl_free(to));
  ICL_OK_(icl_free(from));
}

TEST_P(Contract, SleepersAreWoken) {
  // b sleeps until a's signal; a until its completion. A lost wake would last 20 s.
  for (uint64_t round = 1; round <= 300; round++) {
    ASSERT_EQ(a_.post(a_.with_signal(a_.write(8, 0, round), 1, 1)), 1u);
    for (int spins = 0; b_.word(1) < round; spins++) {
      icl_poll(b_.ring, nullptr, 0);
      if (b_.word(1) >= round) break;
      if (icl_arm(b_.ring) != ICL_OK) continue;
      if (b_.word(1) >= round) break;
      pollfd p = {icl_wait_fd(b_.ring), POLLIN, 0};
      ASSERT_EQ(poll(&p, 1, 20000), 1) << "nobody woke the target in round " << round;
      ASSERT_LT(spins, 1000);
    }
    icl_completion c{};
    while (icl_poll(a_.ring, &c, 1) == 0) {
      if (icl_arm(a_.ring) != ICL_OK) continue;
      pollfd p = {icl_wait_fd(a_.ring), POLLIN, 0};
      ASSERT_EQ(poll(&p, 1, 20000), 1) << "nobody woke the source in round " << round;
    }
    ASSERT_EQ(c.cookie, round);
  }
}

TEST_P(Contract, WhatBreaksABoundIsNotTaken) {
  size_t taken = 9;
  const auto refused = [&](icl_descriptor d) {
    const icl_status status = icl_post(a_.queue, &d, 1, &taken);
    EXPECT_EQ(taken, 0u);
    return status;
  };
  icl_descriptor d = a_.write(8, 0, 1);
  d.remote_offset = End::kBytes - 7;
  EXPECT_EQ(refused(d), ICL_ERR_INVALID);
  d = a_.write(8, 0, 1);
  d.local_offset = UINT64_MAX - 3;
  EXPECT_EQ(refused(d), ICL_ERR_INVALID);
  EXPECT_EQ(refused(a_.with_signal(a_.write(8, 0, 1), End::kWords, 1)), ICL_ERR_INVALID);
  EXPECT_EQ(refused(a_.with_signal(a_.read(8, 0, 1), 0, 1)), ICL_ERR_INVALID);
  d = a_.write(8, 0, 1);
  d.remote = a_.peer_words;
  d.remote_offset = 0;
  EXPECT_EQ(refused(d), ICL_ERR_DENIED);
  d = a_.write(8, 0, 1);
  d.verb = 77;
  EXPECT_EQ(refused(d), ICL_ERR_INVALID);
  d = a_.write(8, 0, 1);
  d.local = b_.source;
  if (a_.chip != b_.chip) {
    EXPECT_EQ(refused(d), ICL_ERR_INVALID);
  }
  EXPECT_EQ(icl_queue_state(a_.queue), static_cast<uint32_t>(ICL_QUEUE_CONNECTED)) << "and the queue lives";
  ASSERT_EQ(a_.post(a_.write(8, 0, 1)), 1u);
  EXPECT_EQ(a_.next().status, ICL_OK);
}

INSTANTIATE_TEST_SUITE_P(Emu, Contract,
                         testing::Values(World{"itself", "ring 1", 0, true},
                                         World{"neighbours", "ring 2", 1, false},
                                         World{"one_device", "ring 4", 2, true},
                                         World{"hops", "mesh 3x3", 8, false}),
                         [](const auto& i) { return std::string(i.param.name); });
INSTANTIATE_TEST_SUITE_P(Pciwin, Contract,
                         testing::Values(World{"itself", "ring 1", 0, true, Driver::pciwin},
                                         World{"neighbours", "ring 2", 1, false, Driver::pciwin},
                                         World{"hops", "mesh 1x3", 2, false, Driver::pciwin}),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace plait::icl
