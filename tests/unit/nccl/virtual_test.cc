// Virtual devices: what they say of themselves, and that connections between any of them move bytes.
#include "pair.h"

namespace plait::nccl {
namespace {

class Virtual : public ::testing::Test {
 protected:
  Virtual() : network_(std::getenv("PLAIT_NETWORK")) { setenv("PLAIT_NETWORK", "tcp:lo,tcp:lo,tcp:lo", 1); }
  ~Virtual() override { setenv("PLAIT_NETWORK", network_.c_str(), 1); }

  static NcclResult join(std::vector<int> members, int& device) {
    VirtualDeviceV12 all{int(members.size()), {}};
    std::copy_n(members.begin(), std::min<size_t>(members.size(), std::size(all.devices)), all.devices);
    return net().make_virtual_device(&device, &all);
  }
  static int joined(std::vector<int> members) {
    int device = -1;
    EXPECT_EQ(join(std::move(members), device), kSuccess) << logged();
    return device;
  }

 private:
  const std::string network_;
};

TEST_F(Virtual, TellsOfItsMembers) {
  Started started;
  ASSERT_EQ(started.result, kSuccess) << logged();
  EXPECT_EQ(joined({2, 0}), 3);
  EXPECT_EQ(joined({0, 1, 2}), 4);
  EXPECT_EQ(joined({2, 0}), 3) << "the same";
  EXPECT_EQ(joined({1}), 1) << "itself";
  int count = 0;
  ASSERT_EQ(net().devices(&count), kSuccess);
  EXPECT_EQ(count, 5);
  PropertiesV12 one, two;
  ASSERT_EQ(net().get_properties(0, &one), kSuccess);
  ASSERT_EQ(net().get_properties(3, &two), kSuccess);
  EXPECT_STREQ(two.name, "tcp:lo+tcp:lo");
  EXPECT_EQ(two.pci_path, nullptr);
  EXPECT_EQ(two.speed, 2 * one.speed);
  ASSERT_EQ(two.virtual_device.count, 2);
  EXPECT_EQ(two.virtual_device.devices[0], 2);
  EXPECT_EQ(two.virtual_device.devices[1], 0);
  PropertiesV9 older;
  ASSERT_EQ(ncclNetPlugin_v9.get_properties(4, &older), kSuccess);
  ASSERT_EQ(older.virtual_device.count, 3);
  EXPECT_EQ(older.virtual_device.devices[2], 2);
}

TEST_F(Virtual, WhatCannotBeJoined) {
  Started started;
  ASSERT_EQ(started.result, kSuccess) << logged();
  int device = -1;
  const int made = joined({0, 1});
  for (const auto& members : std::vector<std::vector<int>>{
           {}, {0, 3 + 1}, {-1, 0}, {1, 1}, {made, 2}, {0, 1, 2, 0}, std::vector<int>(9, 0)})
    EXPECT_EQ(join(members, device), NcclResult::invalid_argument) << members.size();
  VirtualDeviceV9 many{5, {0, 1, 2, 0}};
  EXPECT_EQ(ncclNetPlugin_v9.make_virtual_device(&device, &many), NcclResult::invalid_argument);
  EXPECT_EQ(device, -1);
  EXPECT_NE(logged().find("named twice"), std::string::npos) << logged();
}

// What NCCL joins on one host need not be what it joins on another.
TEST_F(Virtual, AnyTwoCanBeConnected) {
  Started started;
  ASSERT_EQ(started.result, kSuccess) << logged();
  const int devices[] = {0, joined({0, 1}), joined({0, 1, 2})};
  for (const int listens : devices) {
    for (const int dials : devices) {
      SCOPED_TRACE(std::to_string(dials) + " dials " + std::to_string(listens));
      HandleBytes handle{};
      void* listener = nullptr;
      ASSERT_EQ(net().listen(started.context, listens, handle.data(), &listener), kSuccess) << logged();
      Pair pair;
      pair.join(started.context, listener, handle, dials);
      EXPECT_EQ(net().close_listen(listener), kSuccess);
      ASSERT_NE(pair.receive, nullptr);
      for (const size_t bytes : {size_t{10}, size_t{3} << 20}) {
        auto sent = pattern(bytes, 4);
        std::vector<unsigned char> got(bytes);
        void *from = nullptr, *to = nullptr;
        ASSERT_EQ(net().reg_mr(pair.send, sent.data(), bytes, pointer_host, &from), kSuccess);
        ASSERT_EQ(net().reg_mr(pair.receive, got.data(), bytes, pointer_host, &to), kSuccess);
        void* receive = irecv(pair, got.data(), bytes, 1, to);
        ASSERT_EQ(finish({isend(pair, sent.data(), bytes, 1, from), receive}).size(), 2u) << logged();
        EXPECT_EQ(got, sent);
        EXPECT_EQ(net().dereg_mr(pair.send, from), kSuccess);
        EXPECT_EQ(net().dereg_mr(pair.receive, to), kSuccess);
      }
    }
  }
}

}  // namespace
}  // namespace plait::nccl
