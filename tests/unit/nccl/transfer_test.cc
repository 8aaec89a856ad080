// What moves: requests alone and grouped, short and long, many at a time, and what goes wrong with them.
#include "pair.h"

#include <algorithm>
#include <random>

namespace plait::nccl {
namespace {

class Transfer : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(started_.result, kSuccess) << logged();
    pair_.join(started_.context);
    ASSERT_NE(pair_.receive, nullptr);
  }
  void* registered(void* comm, std::vector<unsigned char>& data) {
    void* memory = nullptr;
    EXPECT_EQ(net().reg_mr(comm, data.data(), data.size(), pointer_host, &memory), kSuccess) << logged();
    return memory;
  }
  void* group(std::vector<void*> data, std::vector<size_t> sizes, std::vector<int> tags) {
    std::vector<void*> memories(data.size());
    void* request = nullptr;
    EXPECT_EQ(net().irecv(pair_.receive, int(data.size()), data.data(), sizes.data(), tags.data(),
                          memories.data(), nullptr, &request),
              kSuccess);
    return request;
  }
  Started started_;
  Pair pair_;
};

TEST_F(Transfer, SizesOfAllKindsRegisteredAndNot) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{8}, size_t{33}, size_t{8192}, size_t{8193},
                             size_t{65536}, size_t{1} << 20, (size_t{5} << 20) + 3}) {
    for (const bool with_memory : {false, true}) {
      auto sent = pattern(bytes + 1, uint32_t(bytes));
      std::vector<unsigned char> got(bytes + 1);
      void* from = with_memory ? registered(pair_.send, sent) : nullptr;
      void* to = with_memory ? registered(pair_.receive, got) : nullptr;
      void* receive = irecv(pair_, got.data(), bytes, 5, to);
      const auto sizes = finish({receive, isend(pair_, sent.data(), bytes, 5, from)});
      ASSERT_EQ(sizes.size(), 2u) << bytes << logged();
      EXPECT_EQ(sizes[0][0], int(bytes));
      EXPECT_EQ(sizes[1][0], int(bytes));
      EXPECT_TRUE(std::equal(got.begin(), got.end() - 1, sent.begin())) << bytes;
      if (!with_memory) continue;
      EXPECT_EQ(net().dereg_mr(pair_.send, from), kSuccess);
      EXPECT_EQ(net().dereg_mr(pair_.receive, to), kSuccess);
    }
  }
}

TEST_F(Transfer, AReceiveMayBeLonger) {
  const auto sent = pattern(100'000, 1);
  std::vector<unsigned char> got(300'000);
  void* long_one = irecv(pair_, got.data(), got.size(), 1);
  void* short_one = irecv(pair_, got.data() + 200'000, 1000, 2);
  const auto sizes =
      finish({isend(pair_, sent.data(), 100'000, 1), isend(pair_, sent.data(), 10, 2), long_one, short_one});
  ASSERT_EQ(sizes.size(), 4u) << logged();
  EXPECT_EQ(sizes[2][0], 100'000);
  EXPECT_EQ(sizes[3][0], 10);
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), got.begin()));
}

TEST_F(Transfer, AReceiveMayNotBeShorter) {
  for (const size_t bytes : {size_t{2000}, size_t{200'000}}) {
    Pair pair;
    pair.join(started_.context);
    const auto sent = pattern(bytes, 1);
    std::vector<unsigned char> got(bytes);
    void* receive = irecv(pair, got.data(), bytes / 2, 1);
    void* send = isend(pair, sent.data(), bytes, 1);
    NcclResult result = kSuccess;
    const auto until = Deadline::in_ms(20'000);
    for (int done = 0, size = 0; result == kSuccess && done == 0 && !until.passed();) {
      result = net().test(receive, &done, &size);
      if (result == kSuccess && send != nullptr) {
        int sent_it = 0;
        if (net().test(send, &sent_it, nullptr) != kSuccess || sent_it != 0) send = nullptr;
      }
    }
    EXPECT_EQ(result, NcclResult::invalid_usage);
    EXPECT_NE(logged().find("met a receive of"), std::string::npos) << logged();
  }
}

TEST_F(Transfer, GroupsTakeWhatTheirTagsSay) {
  const auto sent = pattern(60'000, 2);
  std::vector<unsigned char> got(4 * 60'000);
  auto at = [&](size_t i) { return got.data() + i * 60'000; };
  void* first = group({at(0), at(1)}, {60'000, 60'000}, {1, 2});
  void* second = group({at(2), at(3)}, {60'000, 60'000}, {2, 1});
  // Tag 2 before tag 1, and a short one before long ones.
  std::vector<void*> all = {isend(pair_, sent.data(), 100, 2),
                            isend(pair_, sent.data(), 60'000, 2),
                            isend(pair_, sent.data(), 40'000, 1),
                            isend(pair_, sent.data(), 0, 1),
                            first,
                            second};
  const auto sizes = finish(all);
  ASSERT_EQ(sizes.size(), 6u) << logged();
  EXPECT_EQ(sizes[4][0], 40'000);
  EXPECT_EQ(sizes[4][1], 100);
  EXPECT_EQ(sizes[5][0], 60'000);
  EXPECT_EQ(sizes[5][1], 0);
  EXPECT_TRUE(std::equal(at(0), at(0) + 40'000, sent.begin()));
  EXPECT_TRUE(std::equal(at(1), at(1) + 100, sent.begin()));
  EXPECT_TRUE(std::equal(at(2), at(2) + 60'000, sent.begin()));
}

TEST_F(Transfer, RepeatsOfATagStayInOrder) {
  std::array<uint32_t, 8> sent{}, got{};
  std::vector<void*> slots;
  for (uint32_t& word : got) slots.push_back(&word);
  void* receive = group(slots, std::vector<size_t>(8, sizeof(uint32_t)), std::vector<int>(8, 3));
  std::vector<void*> all{receive};
  for (uint32_t i = 0; i < 8; i++) {
    sent[i] = 1000 + i;
    all.push_back(isend(pair_, &sent[i], sizeof sent[i], 3));
  }
  ASSERT_EQ(finish(all).size(), 9u) << logged();
  EXPECT_EQ(got, sent);
}

TEST_F(Transfer, MoreThanEightTogetherAreTooMany) {
  std::vector<void*> data(9, &started_);
  std::vector<size_t> sizes(9, 1);
  std::vector<int> tags(9, 1);
  void* request = nullptr;
  EXPECT_EQ(net().irecv(pair_.receive, 9, data.data(), sizes.data(), tags.data(), nullptr, nullptr, &request),
            NcclResult::internal_error);
  EXPECT_NE(logged().find("there can be 1 to 8"), std::string::npos) << logged();
}

// All sends are posted before any test, and only the latest is ever tested.
TEST_F(Transfer, ThirtyTwoGroupsInFlight) {
  constexpr size_t kBytes = 20'000;
  std::vector<std::vector<unsigned char>> sent, got(size_t(max_requests) * 8);
  std::vector<void*> receives, sends;
  for (size_t i = 0; i < got.size(); i++) {
    sent.push_back(pattern(kBytes, uint32_t(i)));
    got[i].resize(kBytes);
  }
  for (size_t r = 0; r < size_t(max_requests); r++) {
    std::vector<void*> slots;
    for (size_t i = 0; i < 8; i++) slots.push_back(got[r * 8 + i].data());
    receives.push_back(group(slots, std::vector<size_t>(8, kBytes), {0, 1, 2, 3, 4, 5, 6, 7}));
    ASSERT_NE(receives.back(), nullptr);
  }
  void* none = &none;
  std::vector<unsigned char> more(1);
  void* data = more.data();
  size_t one = 1;
  int tag = 0;
  void* memory = nullptr;
  ASSERT_EQ(net().irecv(pair_.receive, 1, &data, &one, &tag, &memory, nullptr, &none), kSuccess);
  EXPECT_EQ(none, nullptr);
  for (size_t i = 0; i < got.size(); i++) sends.push_back(isend(pair_, sent[i].data(), kBytes, int(i % 8)));
  std::vector<void*> latest_first(receives.rbegin(), receives.rend());
  latest_first.insert(latest_first.end(), sends.rbegin(), sends.rend());
  ASSERT_EQ(finish(latest_first).size(), latest_first.size()) << logged();
  EXPECT_EQ(got, sent);
}

TEST_F(Transfer, ManyOfRandomSizesKeepTheirOrder) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr size_t kMessages = 400, kMost = 60'000;
  std::vector<std::vector<unsigned char>> sent, got(kMessages);
  for (size_t i = 0; i < kMessages; i++)
    sent.push_back(pattern(random() % 4 == 0 ? random() % kMost : random() % 300, uint32_t(i)));
  struct Open {
    size_t index;
    void* request;
  };
  std::vector<Open> receives, sends;
  size_t next_send = 0, next_receive = 0, received = 0;
  const auto until = Deadline::in_ms(60'000);
  while (received != kMessages && !until.passed()) {
    if (next_receive != kMessages && receives.size() < size_t(max_requests) && random() % 2 == 0) {
      got[next_receive].resize(kMost);
      void* memory = nullptr;
      void* data = got[next_receive].data();
      size_t size = kMost;
      int tag = 4;
      void* request = nullptr;
      ASSERT_EQ(net().irecv(pair_.receive, 1, &data, &size, &tag, &memory, nullptr, &request), kSuccess);
      if (request != nullptr) receives.push_back({next_receive++, request});
    }
    if (next_send != kMessages && sends.size() < size_t(max_requests) && random() % 2 == 0) {
      void* request = nullptr;
      ASSERT_EQ(net().isend(pair_.send, sent[next_send].data(), sent[next_send].size(), 4, nullptr, nullptr,
                            &request),
                kSuccess);
      if (request != nullptr) sends.push_back({next_send++, request});
    }
    const auto test_one = [&](std::vector<Open>& open, bool is_receive) {
      if (open.empty()) return;
      const size_t i = random() % open.size();
      int done = 0, size = -1;
      ASSERT_EQ(net().test(open[i].request, &done, &size), kSuccess) << logged();
      if (done == 0) return;
      const size_t index = open[i].index;
      ASSERT_EQ(size, int(sent[index].size()));
      if (is_receive) {
        got[index].resize(size_t(size));
        ASSERT_EQ(got[index], sent[index]) << "message " << index;
        received++;
      }
      open.erase(open.begin() + ptrdiff_t(i));
    };
    test_one(receives, true);
    test_one(sends, false);
  }
  EXPECT_EQ(received, kMessages);
}

// NCCL tests a side only while that has requests open: what the other still waits for comes all the same.
TEST_F(Transfer, EitherSideMayStopFirst) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr size_t kMost = size_t{1} << 20;
  auto sent = pattern(kMost, 9);
  std::vector<unsigned char> got(kMost);
  void *from = registered(pair_.send, sent), *to = registered(pair_.receive, got);
  for (int round = 0; round < 60 && !HasFatalFailure(); ++round) {
    const size_t count = 1 + random() % size_t(max_requests);
    std::vector<void*> sends, receives;
    for (size_t i = 0; i < count; ++i) {
      const size_t bytes = random() % ((size_t{1} << (random() % 21)) + 1);
      receives.push_back(irecv(pair_, got.data(), kMost, 1, to));
      sends.push_back(isend(pair_, sent.data(), bytes, 1, from));
    }
    // The one is tested until it has all, with a few tests of the other, which then goes on alone.
    const bool receiver_first = round % 2 == 0;
    std::vector<void*>&first = receiver_first ? receives : sends, &second = receiver_first ? sends : receives;
    const auto until = Deadline::in_ms(20'000);
    for (int done = 0; !first.empty() && !until.passed();) {
      ASSERT_EQ(net().test(first.front(), &done, nullptr), kSuccess) << logged();
      if (done != 0) first.erase(first.begin());
      if (first.empty() || second.empty()) continue;
      ASSERT_EQ(net().test(second.front(), &done, nullptr), kSuccess) << logged();
      if (done != 0) second.erase(second.begin());
    }
    ASSERT_TRUE(first.empty());
    ASSERT_EQ(finish(second).size(), second.size())
        << (receiver_first ? "sends" : "receives") << " of " << count << ", round " << round << logged();
  }
  EXPECT_EQ(net().dereg_mr(pair_.send, from), kSuccess);
  EXPECT_EQ(net().dereg_mr(pair_.receive, to), kSuccess);
}

// What nobody receives yet does not hold up what was received.
TEST_F(Transfer, SendsThatWaitHoldUpNoEarlierOne) {
  const auto sent = pattern(700, 5);
  std::vector<unsigned char> got(700);
  void* receive = irecv(pair_, got.data(), got.size(), 1);
  void* send = isend(pair_, sent.data(), sent.size(), 1);
  for (int i = 1; i < max_requests * 3; ++i) {
    void* other = nullptr;
    ASSERT_EQ(
        net().isend(pair_.send, const_cast<unsigned char*>(sent.data()), 700, 2, nullptr, nullptr, &other),
        kSuccess);
  }
  ASSERT_EQ(finish({receive}).size(), 1u) << logged();
  EXPECT_EQ(finish({send}).size(), 1u) << logged();
}

TEST_F(Transfer, WhatWasSentArrivesThoughItsCommClosedAtOnce) {
  const auto sent = pattern(8000, 5);
  std::vector<std::vector<unsigned char>> got(6, std::vector<unsigned char>(8000));
  for (int i = 0; i < 6; i++) {
    void* send = isend(pair_, sent.data(), sent.size(), i);
    ASSERT_EQ(finish({send}).size(), 1u);
  }
  pair_.close_send();
  for (int i = 0; i < 6; i++) {
    void* receive = irecv(pair_, got[size_t(i)].data(), 8000, i);
    ASSERT_EQ(finish({receive}).size(), 1u) << i << logged();
    EXPECT_EQ(got[size_t(i)], sent);
  }
}

TEST_F(Transfer, ClosesWithRequestsOutstanding) {
  std::vector<unsigned char> data(1 << 20);
  void* memory = registered(pair_.receive, data);
  ASSERT_NE(irecv(pair_, data.data(), data.size(), 1, memory), nullptr);
  ASSERT_NE(isend(pair_, data.data(), data.size(), 2), nullptr);
  EXPECT_EQ(net().dereg_mr(pair_.receive, memory), kSuccess);
  pair_.close_receive();
  pair_.close_send();
}

TEST_F(Transfer, DeregisteredInFlightItStillArrives) {
  auto sent = pattern(3 << 20, 6);
  std::vector<unsigned char> got(3 << 20);
  void *from = registered(pair_.send, sent), *to = registered(pair_.receive, got);
  void* receive = irecv(pair_, got.data(), got.size(), 1, to);
  void* send = isend(pair_, sent.data(), sent.size(), 1, from);
  EXPECT_EQ(net().dereg_mr(pair_.send, from), kSuccess);
  EXPECT_EQ(net().dereg_mr(pair_.receive, to), kSuccess);
  ASSERT_EQ(finish({receive, send}).size(), 2u) << logged();
  EXPECT_EQ(got, sent);
}

TEST_F(Transfer, APeerThatIsGoneIsARemoteError) {
  std::vector<unsigned char> data(1000);
  void* receive = irecv(pair_, data.data(), data.size(), 1);
  pair_.close_send();
  NcclResult result = kSuccess;
  const auto until = Deadline::in_ms(20'000);
  for (int done = 0; result == kSuccess && done == 0 && !until.passed();)
    result = net().test(receive, &done, nullptr);
  EXPECT_EQ(result, NcclResult::remote_error);
  EXPECT_NE(logged().find(" from "), std::string::npos) << logged();
  EXPECT_NE(logged().find("process " + std::to_string(getpid())), std::string::npos) << logged();
}

TEST_F(Transfer, ASenderLearnsThatItsReceiverIsGone) {
  std::vector<unsigned char> data(1 << 20);
  void* send = isend(pair_, data.data(), data.size(), 1);
  pair_.close_receive();
  NcclResult result = kSuccess;
  const auto until = Deadline::in_ms(20'000);
  for (int done = 0; result == kSuccess && done == 0 && !until.passed();)
    result = net().test(send, &done, nullptr);
  EXPECT_EQ(result, NcclResult::remote_error);
}

TEST_F(Transfer, BuffersOutsideOfTheirRegistrationAreRefused) {
  std::vector<unsigned char> data(2000);
  void* memory = nullptr;
  ASSERT_EQ(net().reg_mr(pair_.send, data.data(), 1000, pointer_host, &memory), kSuccess);
  void* request = nullptr;
  EXPECT_EQ(net().isend(pair_.send, data.data() + 500, 501, 1, memory, nullptr, &request),
            NcclResult::invalid_argument);
  EXPECT_EQ(request, nullptr);
  EXPECT_EQ(net().dereg_mr(pair_.send, memory), kSuccess);
}

}  // namespace
}  // namespace plait::nccl
