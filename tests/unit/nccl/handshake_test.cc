// listen, connect, accept and close, in every order.
#include "pair.h"

#include <thread>

namespace plait::nccl {
namespace {

class Handshake : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(started_.result, kSuccess) << logged();
    ASSERT_EQ(net().listen(started_.context, device(), handle_.data(), &listener_), kSuccess) << logged();
    ASSERT_NE(listener_, nullptr);
  }
  void TearDown() override {
    if (listener_ != nullptr) {
      EXPECT_EQ(net().close_listen(listener_), kSuccess);
    }
  }
  // Bytes move from end to end.
  static void expect_moves(const Pair& pair) {
    const auto sent = pattern(5000, 3);
    std::vector<unsigned char> got(5000);
    void* receive = irecv(pair, got.data(), got.size(), 9);
    const auto sizes = finish({isend(pair, sent.data(), sent.size(), 9), receive});
    ASSERT_EQ(sizes.size(), 2u) << logged();
    EXPECT_EQ(sizes[1][0], 5000);
    EXPECT_EQ(got, sent);
  }

  Started started_;
  HandleBytes handle_{};
  void* listener_ = nullptr;
};

TEST_F(Handshake, ConnectFirst) {
  Pair pair;
  for (int i = 0; i < 50; i++) {
    ASSERT_EQ(net().connect(started_.context, device(), handle_.data(), &pair.send, nullptr), kSuccess);
    ASSERT_EQ(pair.send, nullptr);
  }
  pair.join(started_.context, listener_, handle_);
  expect_moves(pair);
}

TEST_F(Handshake, AcceptFirst) {
  Pair pair;
  for (int i = 0; i < 50; i++) {
    ASSERT_EQ(net().accept(listener_, &pair.receive, nullptr), kSuccess);
    ASSERT_EQ(pair.receive, nullptr);
  }
  pair.join(started_.context, listener_, handle_);
  expect_moves(pair);
}

TEST_F(Handshake, TwoThreadsThatDoNotTakeTurns) {
  Pair pair;
  std::thread other([&] {
    const auto until = Deadline::in_ms(20'000);
    while (pair.receive == nullptr && !until.passed())
      if (net().accept(listener_, &pair.receive, nullptr) != kSuccess) return;
  });
  const auto until = Deadline::in_ms(20'000);
  while (pair.send == nullptr && !until.passed())
    EXPECT_EQ(net().connect(started_.context, device(), handle_.data(), &pair.send, nullptr), kSuccess);
  other.join();
  ASSERT_TRUE(pair.send != nullptr && pair.receive != nullptr) << logged();
  expect_moves(pair);
}

TEST_F(Handshake, OneListenerServesManyAndClosesBeforeTheyDo) {
  std::array<Pair, 4> pairs;
  for (Pair& pair : pairs) {
    HandleBytes copy = handle_;
    pair.join(started_.context, listener_, copy);
  }
  ASSERT_EQ(net().close_listen(std::exchange(listener_, nullptr)), kSuccess);
  for (Pair& pair : pairs) expect_moves(pair);
}

TEST_F(Handshake, CopiesOfAHandleAreConnectionsOfTheirOwn) {
  std::array<HandleBytes, 3> copies{handle_, handle_, handle_};
  std::array<void*, 3> sends{}, receives{};
  const auto until = Deadline::in_ms(20'000);
  const auto missing = [](auto& all) { return std::count(all.begin(), all.end(), nullptr) != 0; };
  while ((missing(sends) || missing(receives)) && !until.passed()) {
    for (size_t i = 0; i < 3; i++) {
      if (sends[i] == nullptr) {
        ASSERT_EQ(net().connect(started_.context, device(), copies[i].data(), &sends[i], nullptr), kSuccess);
      }
      if (receives[i] == nullptr) {
        ASSERT_EQ(net().accept(listener_, &receives[i], nullptr), kSuccess);
      }
    }
  }
  ASSERT_FALSE(missing(sends) || missing(receives)) << logged();
  for (void* send : sends) EXPECT_EQ(net().close_send(send), kSuccess);
  for (void* receive : receives) EXPECT_EQ(net().close_receive(receive), kSuccess);
}

TEST_F(Handshake, WhatIsHalfOpenGoesWithFinalize) {
  HandleBytes copy = handle_;
  void* send = nullptr;
  ASSERT_EQ(net().connect(started_.context, device(), copy.data(), &send, nullptr), kSuccess);
  ASSERT_EQ(send, nullptr);
  ASSERT_EQ(net().finalize(std::exchange(started_.context, nullptr)), kSuccess);
  listener_ = nullptr;
}

TEST_F(Handshake, AListenerThatIsGoneIsAnErrorOfThePeer) {
  ASSERT_EQ(net().close_listen(std::exchange(listener_, nullptr)), kSuccess);
  void* send = nullptr;
  NcclResult result = kSuccess;
  const auto until = Deadline::in_ms(20'000);
  while (result == kSuccess && !until.passed())
    result = net().connect(started_.context, device(), handle_.data(), &send, nullptr);
  EXPECT_EQ(result, NcclResult::remote_error);
  EXPECT_EQ(send, nullptr);
  EXPECT_NE(logged().find("connect: " + std::string(std::getenv("PLAIT_NETWORK")).substr(0, 3)),
            std::string::npos)
      << logged();
}

TEST_F(Handshake, AForgedHandleIsRefused) {
  HandleBytes forged = handle_;
  forged[20] = char(forged[20] ^ 1);
  void* send = nullptr;
  EXPECT_EQ(net().connect(started_.context, device(), forged.data(), &send, nullptr),
            NcclResult::invalid_argument);
  EXPECT_NE(logged().find("damaged"), std::string::npos) << logged();
  forged.fill(0);
  EXPECT_EQ(net().connect(started_.context, device(), forged.data(), &send, nullptr),
            NcclResult::invalid_argument);
}

TEST(Start, TrafficClassIsChecked) {
  Started far(256), below(-2);
  EXPECT_EQ(far.result, NcclResult::invalid_argument);
  EXPECT_EQ(below.result, NcclResult::invalid_argument);
  EXPECT_NE(logged().find("0 to 255"), std::string::npos) << logged();
  Started fine(106);
  EXPECT_EQ(fine.result, kSuccess);
}

TEST(Start, AgainAfterTheLastFinalize) {
  for (int i = 0; i < 3; i++) {
    Started started;
    ASSERT_EQ(started.result, kSuccess);
    Pair pair;
    pair.join(started.context);
  }
}

}  // namespace
}  // namespace plait::nccl
