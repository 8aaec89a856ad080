// The tables, called as NCCL calls them.
#include <cstdarg>
#include <cstring>
#include <thread>
#include <vector>

#include "costs_table.h"

namespace plait::nccl::tuner {
namespace {

using A = TunerAlgorithm;
using P = Protocol;

constexpr auto kSuccess = NcclResult::success;
constexpr auto kAllreduce = int32_t(Function::allreduce);

struct Line {
  LogLevel level;
  unsigned long flags;
  std::string text;
};
std::vector<Line>& lines() {
  static std::vector<Line> all;
  return all;
}
void keep_line(LogLevel level, unsigned long flags, const char* /*file*/, int /*line*/, const char* format,
               ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  lines().push_back({level, flags, text});
}

class TunerCalls : public Variables {
 protected:
  void SetUp() override {
    Variables::SetUp();
    lines().clear();
  }
  void TearDown() override {
    if (context_ != nullptr) {
      EXPECT_EQ(ncclTunerPlugin_v4.destroy(context_), kSuccess);
    }
    Variables::TearDown();
  }
  NcclResult begin(size_t ranks, size_t nodes, Logger logger = keep_line) {
    return ncclTunerPlugin_v4.init(ranks, nodes, logger, &context_);
  }
  NcclResult ask(CostsTable& table, size_t bytes, int32_t function = kAllreduce) {
    return ncclTunerPlugin_v4.get_coll_info(context_, function, bytes, 1, table.raw(), tuner_algorithms,
                                            tuner_protocols, 0, &channels_);
  }
  void expect_untouched(int32_t function = kAllreduce) {
    CostsTable table(42);
    EXPECT_EQ(ask(table, 1 << 20, function), kSuccess);
    for (const auto& row : table.time)
      for (float t : row) EXPECT_EQ(t, 42);
  }
  void* context_ = nullptr;
  int channels_ = 0;
};

TEST_F(TunerCalls, SayWhatTheNetworkIs) {
  setenv("PLAIT_LINK_MBPS", "20000", 1);
  ASSERT_EQ(begin(16, 2), kSuccess);
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_EQ(lines()[0].level, LogLevel::info);
  EXPECT_EQ(lines()[0].flags, log_init | log_tuning);
  expect_says(lines()[0].text,
              "TUNER/plait: 2 nodes, 16 ranks; between nodes tcp, 6.4 us and 2.5 GB/s, by "
              "PLAIT_LINK_MBPS");
}

TEST_F(TunerCalls, FillTheTable) {
  ASSERT_EQ(begin(128, 16), kSuccess);
  CostsTable small = ring_and_tree(), large = ring_and_tree();
  ASSERT_EQ(ask(small, 1024), kSuccess);
  ASSERT_EQ(ask(large, 1 << 30), kSuccess);
  EXPECT_EQ(small.best(), std::pair(A::tree, P::ll));
  EXPECT_EQ(large.best(), std::pair(A::ring, P::simple));
  EXPECT_GT(small.at(A::tree, P::ll), 10);  // microseconds
  EXPECT_LT(small.at(A::tree, P::ll), 1000);
  EXPECT_EQ(small.at(A::collnet_chain, P::simple), not_offered);
  EXPECT_EQ(channels_, 0);
  CostsTable again = ring_and_tree();
  ASSERT_EQ(ask(again, 1024), kSuccess);
  EXPECT_EQ(std::memcmp(again.time, small.time, sizeof small.time), 0);
}

TEST_F(TunerCalls, LeaveOneNodeAlone) {
  ASSERT_EQ(begin(8, 1), kSuccess);
  expect_untouched();
  expect_says(lines()[0].text, "one node");
}

TEST_F(TunerCalls, LeaveAloneWhatNvlinkJoins) {
  NvlDomainsV5 domains{1, 16, 16};
  ASSERT_EQ(ncclTunerPlugin_v5.init(&context_, 7, 16, 4, keep_line, &domains, nullptr), kSuccess);
  expect_untouched();
  expect_says(lines()[0].text, "NVLink");
}

TEST_F(TunerCalls, LeaveOtherCollectivesAlone) {
  ASSERT_EQ(begin(16, 2), kSuccess);
  for (int32_t function : {-1, 5, 8, 14, 1000}) expect_untouched(function);
}

TEST_F(TunerCalls, LeaveAloneWhatNoNetworkJoins) {
  setenv("PLAIT_NETWORK", "shm", 1);
  ASSERT_EQ(begin(16, 2), kSuccess);
  expect_untouched();
  expect_says(lines()[0].text, "joins no hosts");
}

TEST_F(TunerCalls, ReadNcclsConstantsAndLeaveThem) {
  TunerConstantsV5 constants{};
  constants.base_latency[int(A::ring)][int(P::simple)] = 5000;
  const TunerConstantsV5 before = constants;
  NvlDomainsV5 domains{2, 8, 8};
  ASSERT_EQ(ncclTunerPlugin_v5.init(&context_, 7, 16, 2, nullptr, &domains, &constants), kSuccess);
  EXPECT_EQ(std::memcmp(&constants, &before, sizeof before), 0);
  CostsTable table = ring_and_tree();
  ASSERT_EQ(ncclTunerPlugin_v5.get_coll_info(context_, kAllreduce, 8, 1, table.raw(), 7, 3, 0, nullptr),
            kSuccess);
  EXPECT_GT(table.at(A::ring, P::simple), 5000);
  EXPECT_LT(table.at(A::tree, P::simple), 1000);
}

// By hand: a ring of two hosts sends half of the vector twice, N / rate in all. LL has its bytes twice,
// and 6.6 + 2 x 5 us of its own where Simple has 8.4 + 2 x 14. So they cross where N / rate are 19.8 us.
TEST_F(TunerCalls, AFileMovesWhereProtocolsCross) {
  for (double byte : {1e-9, 0.5e-9}) {
    use_parameters(R"({"send": 0, "recv": 0, "send_byte": 0, "recv_byte": 0, "gap": 0, "byte": )" +
                   std::to_string(byte * 1e9) + "e-9}");
    ASSERT_EQ(begin(2, 2), kSuccess);
    const double cross = 19.8e-6 / byte;
    for (double x : {.9, 1.1}) {
      CostsTable table = ring_and_tree();
      ASSERT_EQ(ask(table, size_t(cross * x)), kSuccess);
      EXPECT_EQ(table.at(A::ring, P::ll) < table.at(A::ring, P::simple), x < 1) << byte << ", " << x;
    }
    ASSERT_EQ(ncclTunerPlugin_v4.destroy(context_), kSuccess);
    context_ = nullptr;
  }
}

// Slower steps make trees worth while for larger vectors.
TEST_F(TunerCalls, AFileMovesWhereTreesGiveWay) {
  size_t last[2] = {0, 0};
  int which = 0;
  for (const char* latency : {"1e-6", "1e-3"}) {
    use_parameters(R"({"byte": 1e-10, "latency": )" + std::string(latency) + "}");
    ASSERT_EQ(begin(16, 16), kSuccess);
    for (size_t bytes = 1024; bytes <= size_t{1} << 32; bytes *= 2) {
      CostsTable table = ring_and_tree();
      ASSERT_EQ(ask(table, bytes), kSuccess);
      if (table.best().first == A::tree) last[which] = bytes;
    }
    which++;
    ASSERT_EQ(ncclTunerPlugin_v4.destroy(context_), kSuccess);
    context_ = nullptr;
  }
  EXPECT_GT(last[0], 0U);
  EXPECT_GT(last[1], 4 * last[0]);
}

TEST_F(TunerCalls, RefuseAFileThatIsNone) {
  use_parameters("{]");
  EXPECT_EQ(begin(16, 2), NcclResult::invalid_argument);
  EXPECT_EQ(context_, nullptr);
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_EQ(lines()[0].level, LogLevel::warn);
  expect_says(lines()[0].text, kParametersVariable);
}

TEST_F(TunerCalls, RefuseWhatNoCallerHas) {
  EXPECT_EQ(begin(1, 2), NcclResult::invalid_argument);
  EXPECT_EQ(begin(0, 0), NcclResult::invalid_argument);
  EXPECT_EQ(begin(SIZE_MAX, 2), NcclResult::invalid_argument);
  EXPECT_EQ(ncclTunerPlugin_v4.init(4, 2, nullptr, nullptr), NcclResult::invalid_argument);
  ASSERT_EQ(begin(4, 2), kSuccess);
  CostsTable table(1);
  const auto ask_with = [&](void* context, float** costs, int rows) {
    return ncclTunerPlugin_v4.get_coll_info(context, kAllreduce, 8, 1, costs, rows, 3, 0, &channels_);
  };
  EXPECT_EQ(ask_with(nullptr, table.raw(), 7), NcclResult::invalid_argument);
  EXPECT_EQ(ask_with(context_, nullptr, 7), NcclResult::invalid_argument);
  EXPECT_EQ(ask_with(context_, table.raw(), -1), NcclResult::invalid_argument);
  EXPECT_EQ(ncclTunerPlugin_v5.finalize(nullptr), kSuccess);
}

TEST_F(TunerCalls, NeedNoLogger) {
  ASSERT_EQ(begin(16, 2, nullptr), kSuccess);
  CostsTable table = ring_and_tree();
  EXPECT_EQ(ask(table, 1 << 20), kSuccess);
  EXPECT_NE(table.at(A::ring, P::ll), 1);
  void* none = nullptr;
  EXPECT_EQ(ncclTunerPlugin_v4.init(1, 2, nullptr, &none), NcclResult::invalid_argument);
}

// Communicators of several threads, and one of several.
TEST_F(TunerCalls, MayComeFromManyThreads) {
  ASSERT_EQ(begin(64, 8, nullptr), kSuccess);
  constexpr int kThreads = 4;
  std::vector<CostsTable> found(kThreads, ring_and_tree()), own(kThreads, ring_and_tree());
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      EXPECT_EQ(ncclTunerPlugin_v5.get_coll_info(context_, kAllreduce, 1 << 22, 1, found[t].raw(), 7, 3, 0,
                                                 nullptr),
                kSuccess);
      void* mine = nullptr;
      EXPECT_EQ(ncclTunerPlugin_v5.init(&mine, t, 64, 8, nullptr, nullptr, nullptr), kSuccess);
      EXPECT_EQ(
          ncclTunerPlugin_v5.get_coll_info(mine, kAllreduce, 1 << 22, 1, own[t].raw(), 7, 3, 0, nullptr),
          kSuccess);
      EXPECT_EQ(ncclTunerPlugin_v5.finalize(mine), kSuccess);
    });
  }
  for (auto& thread : threads) thread.join();
  for (size_t t = 0; t < kThreads; t++) {
    EXPECT_EQ(std::memcmp(found[t].time, found[0].time, sizeof found[0].time), 0);
    EXPECT_EQ(std::memcmp(own[t].time, found[0].time, sizeof found[0].time), 0);
  }
}

}  // namespace
}  // namespace plait::nccl::tuner
