// Two rings of bells, and a stream of bytes between them that the test is.
#include "fabric/bells.h"

#include <gtest/gtest.h>

#include <cstring>

#include "fabric/bell_message.h"
#include "fabric/explain.h"

namespace plait::fabric {
namespace {

class TwoRings : public testing::Test {
 protected:
  TwoRings() {
    Request request;
    request.address = "127.0.0.1";
    device_ = Device::open(choose(request).value()).value();
    EXPECT_TRUE(a_.open(*device_).ok() && b_.open(*device_).ok());
  }
  static bool ring(Bells& from, Bells& to, uint32_t word) {
    const bool put = to.put(from.sent(), from.next(word, 0));
    from.went();
    return put;
  }
  static int hear_all(Bells& bells) {
    int heard = 0;
    for (; bells.front() && bells.hear(); ++heard) {
    }
    return heard;
  }

  std::shared_ptr<Device> device_;
  Bells a_, b_;
};

TEST_F(TwoRings, WordsComeInOrderOverManyLaps) {
  uint32_t sent = 0, heard = 0;
  while (heard < 300 * Bells::kRing) {
    while (a_.has_room()) EXPECT_TRUE(ring(a_, b_, sent++));
    EXPECT_EQ(a_.sent(), sent);
    while (const auto word = b_.front()) {
      EXPECT_EQ(*word, heard++);
      ASSERT_TRUE(b_.hear());
    }
    ASSERT_FALSE(b_.ringing());
    ASSERT_TRUE(b_.owes());
    ASSERT_TRUE(ring(b_, a_, 0));
    ASSERT_FALSE(b_.owes());
    ASSERT_EQ(hear_all(a_), 1);
  }
}

TEST_F(TwoRings, NoneIsWrittenOverBeforeItIsHeard) {
  uint64_t sent = 0;
  for (; a_.has_room(); ++sent) ring(a_, b_, 0);
  EXPECT_EQ(sent, Bells::kRing - Bells::kSpare);
  EXPECT_FALSE(b_.put(Bells::kRing, uint64_t{2} << 56)) << "it would be written over the first";
}

TEST_F(TwoRings, ASkippedOneIsSeen) {
  a_.went();
  ring(a_, b_, 1);
  EXPECT_FALSE(b_.front());
  EXPECT_TRUE(b_.ringing());
  bool skipped = false;
  for (uint64_t i = 0; i < Bells::kRing && !skipped; ++i) skipped = b_.skipped();
  EXPECT_TRUE(skipped);
}

TEST_F(TwoRings, BellsThatMakeNoSense) {
  EXPECT_FALSE(b_.put(0, uint64_t{2} << 56)) << "of another lap";
  EXPECT_FALSE(b_.put(UINT64_MAX, 0)) << "of one that was heard";
  EXPECT_TRUE(b_.put(0, uint64_t{1} << 56 | uint64_t{1} << 32));
  EXPECT_FALSE(b_.hear()) << "I sent none that could have been heard";
}

TEST(BellMessages, OnlyWholeOnes) {
  const BellMessage good{1, 2, 3};
  EXPECT_TRUE(parse_bell_message(bytes_of(good)));
  EXPECT_FALSE(parse_bell_message(bytes_of(good).first(sizeof good - 1)));
  const BellMessage nobodys{0, 2, 3};
  EXPECT_FALSE(parse_bell_message(bytes_of(nobodys)));
}

TEST(Explain, AnErrorHasAReasonAndAdvice) {
  EXPECT_EQ(reason(-FI_ECONNREFUSED), reason(FI_ECONNREFUSED));
  EXPECT_NE(reason(FI_ECONNREFUSED), "");
  EXPECT_NE(std::string(advice(-FI_ENOMEM)).find("ulimit -l"), std::string::npos);
  EXPECT_NE(std::string(advice(4711)).find("FI_LOG_LEVEL"), std::string::npos);
}

}  // namespace
}  // namespace plait::fabric
