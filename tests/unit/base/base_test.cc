#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status.h"
#include "base/wait.h"

namespace plait {
namespace {

TEST(Status, OkByDefault) {
  Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_TRUE(bool(status));
  EXPECT_EQ(status.code(), Code::ok);
  EXPECT_EQ(status.text(), "ok");
}

TEST(Status, CopiesShareTheSentence) {
  Status status(Code::timeout, "rank 3 said nothing for 5 s");
  Status copy = status;
  EXPECT_FALSE(copy.ok());
  EXPECT_EQ(copy.text(), "rank 3 said nothing for 5 s");
  EXPECT_EQ(copy.text().data(), status.text().data());
}

TEST(Status, CodesHaveNames) {
  for (int code = -12; code <= 0; code++) EXPECT_NE(code_name(Code(code)), "unknown status") << code;
  EXPECT_EQ(code_name(Code(1)), "unknown status");
  EXPECT_EQ(Status(Code::peer).text(), code_name(Code::peer));
}

TEST(Status, OfSystemCalls) {
  Status status = Status::system(ENOENT, "open /nowhere");
  EXPECT_EQ(status.code(), Code::system);
  EXPECT_EQ(status.text(), "open /nowhere: No such file or directory");
}

Result<int> half(int x) {
  if (x % 2 != 0) return Status(Code::invalid, "odd");
  return x / 2;
}
Status try_twice(int x) {
  auto once = half(x);
  PLAIT_TRY(once.status());
  PLAIT_TRY(half(*once).status());
  return {};
}

TEST(Result, IsAValueOrAStatus) {
  EXPECT_EQ(*half(6), 3);
  EXPECT_TRUE(half(6).status().ok());
  EXPECT_FALSE(half(5).ok());
  EXPECT_EQ(half(5).status().text(), "odd");
  EXPECT_TRUE(try_twice(8).ok());
  EXPECT_EQ(try_twice(6).code(), Code::invalid);
  EXPECT_EQ(try_twice(5).code(), Code::invalid);
}

TEST(Deadline, NeverByDefault) {
  Deadline never;
  EXPECT_FALSE(never.passed());
  EXPECT_GT(never.left_ns(), std::numeric_limits<int64_t>::max() / 2);
  EXPECT_EQ(never.left_ms(), 1'000'000);
  EXPECT_FALSE(Deadline::in_ns(std::numeric_limits<int64_t>::max()).passed());
}

TEST(Deadline, Passes) {
  Deadline now = Deadline::in_ms(0);
  EXPECT_TRUE(now.passed());
  EXPECT_EQ(now.left_ns(), 0);
  EXPECT_EQ(now.left_ms(), 0);
  Deadline later = Deadline::in_ms(60'000);
  EXPECT_FALSE(later.passed());
  EXPECT_LE(later.left_ms(), 60'000);
  EXPECT_EQ(later.left_ms(10), 10);
}

TEST(Bytes, AppendAndTake) {
  Bytes bytes;
  append(bytes, uint32_t{7});
  append(bytes, uint8_t{9});
  ASSERT_EQ(bytes.size(), 5u);
  ByteView view = bytes;
  uint32_t word = 0;
  ASSERT_TRUE(take(view, word));
  EXPECT_EQ(word, 7u);
  EXPECT_FALSE(take(view, word));
  EXPECT_EQ(view.size(), 1u);  // nothing was taken
  uint8_t byte = 0;
  ASSERT_TRUE(take(view, byte));
  EXPECT_EQ(byte, 9);
  EXPECT_TRUE(view.empty());
}

TEST(Bytes, BoundsDoNotOverflow) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  EXPECT_TRUE(in_bounds(4, 4, 8));
  EXPECT_TRUE(in_bounds(8, 0, 8));
  EXPECT_FALSE(in_bounds(4, 5, 8));
  EXPECT_FALSE(in_bounds(9, 0, 8));
  EXPECT_FALSE(in_bounds(kMost, 2, 8));
  EXPECT_FALSE(in_bounds(2, kMost, 8));
  EXPECT_EQ(round_up(0, 64), 0u);
  EXPECT_EQ(round_up(65, 64), 128u);
}

TEST(Waiter, SpinsThenSleepsWithACoreEach) {
  Waiter waiter({.crowded = false, .spins = 2 * Waiter::kCheckEvery, .yields = 0});
  for (uint32_t i = 1; i < Waiter::kCheckEvery; i++) ASSERT_EQ(waiter.next(), Turn::again);
  EXPECT_EQ(waiter.next(), Turn::check);
  for (uint32_t i = 1; i < Waiter::kCheckEvery; i++) ASSERT_EQ(waiter.next(), Turn::again);
  EXPECT_EQ(waiter.next(), Turn::sleep);
  waiter.reset();
  EXPECT_EQ(waiter.next(), Turn::again);
}

TEST(Waiter, YieldsWhenCrowded) {
  Waiter waiter({.crowded = true, .spins = 0, .yields = 40});
  int checks = 0;
  for (int i = 0; i < 40; i++) {
    Turn turn = waiter.next();
    ASSERT_NE(turn, Turn::sleep) << i;
    checks += turn == Turn::check;
  }
  EXPECT_EQ(checks, 1);
  EXPECT_EQ(waiter.next(), Turn::sleep);
  EXPECT_EQ(waiter.next(), Turn::sleep);
}

TEST(Waiter, LingersNoMoreThanSoOftenInARow) {
  Waiter waiter({.crowded = true, .spins = 0, .yields = 40});
  constexpr uint32_t kLooks = Waiter::kMostLingers * Waiter::kLinger;
  for (uint32_t i = 0; i < kLooks; i++) ASSERT_NE(waiter.linger(), Turn::sleep) << i;
  // From here on each look gives way.
  for (uint32_t i = Waiter::kMostLingers; i < 40; i++) ASSERT_NE(waiter.linger(), Turn::sleep) << i;
  EXPECT_EQ(waiter.linger(), Turn::sleep);
  waiter.reset();
  for (uint32_t i = 0; i < kLooks; i++) ASSERT_NE(waiter.linger(), Turn::sleep) << i;
}

TEST(Waiter, ThereAreCores) { EXPECT_GE(usable_cores(), 1); }

TEST(Fd, ClosesOnce) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  Fd read(pipe_ends[0]), write(pipe_ends[1]);
  Fd moved = std::move(write);
  EXPECT_EQ(moved.get(), pipe_ends[1]);
  moved.reset();
  char byte;
  EXPECT_EQ(::read(read.get(), &byte, 1), 0);  // the other end is closed
  EXPECT_FALSE(bool(moved));
}

TEST(Log, GoesToTheSink) {
  std::string line;
  log::set_sink([&](log::Level, std::string_view text) { line = text; });
  log::set_level(log::Level::warn);
  log::info("not {}", "this");
  EXPECT_EQ(line, "");
  log::warn("rank {} is late", 3);
  EXPECT_EQ(line, "rank 3 is late");
  log::set_sink(nullptr);
}

}  // namespace
}  // namespace plait
