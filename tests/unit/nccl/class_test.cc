// Messages of a communicator with a traffic class, between two devices; who looks at their packets is
// tests/lab/vm/nccl.sh.
#include "pair.h"

namespace plait::nccl {
namespace {

TEST(TrafficClass, BetweenTwoDevices) {
  Started started(104);
  ASSERT_EQ(started.result, kSuccess) << logged();
  int devices = 0;
  ASSERT_EQ(net().devices(&devices), kSuccess);
  if (devices < 2) GTEST_SKIP() << "PLAIT_TEST_NETWORK names no two devices";
  HandleBytes handle{};
  void* listener = nullptr;
  ASSERT_EQ(net().listen(started.context, 1, handle.data(), &listener), kSuccess) << logged();
  Pair pair;
  pair.join(started.context, listener, handle, 0);
  EXPECT_EQ(net().close_listen(listener), kSuccess);
  const auto sent = pattern(200'000, 5);
  std::vector<unsigned char> got(sent.size());
  void *from = nullptr, *to = nullptr;
  ASSERT_EQ(
      net().reg_mr(pair.send, const_cast<unsigned char*>(sent.data()), sent.size(), pointer_host, &from),
      kSuccess);
  ASSERT_EQ(net().reg_mr(pair.receive, got.data(), got.size(), pointer_host, &to), kSuccess);
  void* const receive = irecv(pair, got.data(), got.size(), 9, to);
  ASSERT_EQ(finish({isend(pair, sent.data(), sent.size(), 9, from), receive}).size(), 2u) << logged();
  EXPECT_EQ(got, sent);
  EXPECT_EQ(net().dereg_mr(pair.send, from), kSuccess);
  EXPECT_EQ(net().dereg_mr(pair.receive, to), kSuccess);
}

}  // namespace
}  // namespace plait::nccl
