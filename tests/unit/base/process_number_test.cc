// A forked child knows that it is one.
#include "base/process_number.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "base/per_process.h"

namespace plait {
namespace {

template <class Check>
bool in_child(pid_t child, Check check) {
  if (child == 0) _exit(check() ? 0 : 1);
  int status = 1;
  return waitpid(child, &status, 0) == child && status == 0;
}

TEST(ProcessNumber, IsTheSameForAllThreads) {
  std::array<uint64_t, 4> seen{};
  std::array<std::thread, 4> threads;
  for (size_t t = 0; t < seen.size(); t++) threads[t] = std::thread([&, t] { seen[t] = process_number(); });
  for (auto& thread : threads) thread.join();
  for (const uint64_t number : seen) EXPECT_EQ(number, process_number());
  EXPECT_NE(process_number(), 0U);
}

TEST(ProcessNumber, IsAnotherInEachGeneration) {
  const uint64_t mine = process_number();
  EXPECT_TRUE(in_child(fork(), [&] {
    const uint64_t child = process_number();
    if (child == mine || child != process_number()) return false;
    return in_child(fork(), [&] { return process_number() != child && process_number() != mine; });
  }));
  EXPECT_EQ(process_number(), mine);
}

// libc knows nothing of it, so that no handler runs.
TEST(ProcessNumber, IsAnotherInAChildOfTheBareSystemCall) {
  const uint64_t mine = process_number();
  EXPECT_TRUE(in_child(pid_t(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0)),
                       [&] { return process_number() != mine; }));
}

TEST(PerProcess, AChildHasItsOwnAndSeesItsParents) {
  static PerProcess<int> object;
  const auto make = [](int value) {
    return [value]() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(value); };
  };
  const auto is_seven = [](int value) { return value == 7; };
  EXPECT_EQ(object.peek(), nullptr);
  int* mine = *object.get(make(7));
  EXPECT_EQ(object.peek(), mine);
  EXPECT_EQ(*object.get(make(8)), mine);
  EXPECT_FALSE(object.any_inherited(is_seven)) << "it is this process's own";
  EXPECT_TRUE(in_child(fork(), [&] {
    if (object.peek() != nullptr || !object.any_inherited(is_seven)) return false;
    const bool own = **object.get(make(9)) == 9 && *object.peek() == 9;
    return own && object.any_inherited(is_seven) && *mine == 7;
  }));
}

}  // namespace
}  // namespace plait
