// Registrations and the connections that they are of.
#include "pair.h"

namespace plait::nccl {
namespace {

std::string& told() {
  static std::string text;
  return text;
}
void log_all(LogLevel, unsigned long, const char*, int, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char line[2048];
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  told() += line;
  told() += '\n';
}

class Registrations : public ::testing::Test {
 protected:
  void SetUp() override {
    told().clear();
    Config config{unset};
    ASSERT_EQ(net().init(&context_, 7, &config, log_all, nullptr), kSuccess);
    pair_.join(context_);
  }
  void TearDown() override {
    pair_.close_send();
    pair_.close_receive();
    EXPECT_EQ(net().finalize(context_), kSuccess);
  }
  void* reg(void* comm) {
    void* memory = nullptr;
    EXPECT_EQ(net().reg_mr(comm, data_.data(), data_.size(), pointer_host, &memory), kSuccess) << told();
    EXPECT_NE(memory, nullptr);
    return memory;
  }

  void* context_ = nullptr;
  Pair pair_;
  std::vector<unsigned char> data_ = pattern(100'000, 1);
};

TEST_F(Registrations, GoWithTheirComm) {
  void* const closed = pair_.send;
  void *gone = reg(closed), *first = reg(closed), *second = reg(closed), *theirs = reg(pair_.receive);
  ASSERT_EQ(net().dereg_mr(closed, gone), kSuccess);
  pair_.close_send();
  EXPECT_NE(told().find("closed with 2 registrations"), std::string::npos) << told();
  EXPECT_NE(told().find(": closes after 0 messages of 0 bytes in all"), std::string::npos) << told();
  EXPECT_EQ(net().dereg_mr(closed, first), kSuccess);
  EXPECT_EQ(net().dereg_mr(closed, second), kSuccess);
  EXPECT_EQ(net().dereg_mr(pair_.receive, theirs), kSuccess);
  told().clear();
  pair_.close_receive();
  EXPECT_EQ(told().find("registrations"), std::string::npos) << told();
}

TEST_F(Registrations, WithRequestsUnderWayToo) {
  void* const memory = reg(pair_.send);
  void* const request = isend(pair_, data_.data(), data_.size(), 1, memory);  // nobody receives it
  ASSERT_NE(request, nullptr);
  void* const closed = pair_.send;
  pair_.close_send();
  EXPECT_NE(told().find("closed with 1 registrations"), std::string::npos) << told();
  EXPECT_EQ(net().dereg_mr(closed, memory), kSuccess);
}

TEST_F(Registrations, AreDeregisteredByTheirOwnCommAlone) {
  void* const memory = reg(pair_.send);
  EXPECT_EQ(net().dereg_mr(pair_.receive, memory), NcclResult::invalid_argument);
  EXPECT_NE(told().find("of another connection"), std::string::npos) << told();
  EXPECT_EQ(net().dereg_mr(pair_.send, memory), kSuccess);
  EXPECT_EQ(net().dereg_mr(pair_.send, memory), kSuccess);  // nothing is left of it
  EXPECT_EQ(net().dereg_mr(pair_.send, nullptr), kSuccess);
}

TEST_F(Registrations, GoWithTheLastCommunicator) {
  (void)reg(pair_.receive);
  ASSERT_EQ(net().finalize(std::exchange(context_, nullptr)), kSuccess);
  EXPECT_NE(told().find("closed with 1 registrations"), std::string::npos) << told();
  pair_.send = pair_.receive = nullptr;  // they went, too
  Config config{unset};
  ASSERT_EQ(net().init(&context_, 8, &config, log_all, nullptr), kSuccess);
}

}  // namespace
}  // namespace plait::nccl
