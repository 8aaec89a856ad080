// Groups are each thread's own: what a call asks to find out whether it is in one must not take one thread
// for another.
#include <latch>
#include <thread>

#include "runtime/messages.h"

namespace plait::test {
namespace {

// To this rank itself, by a thread of its own.
plait_status receive_for(plait_comm* comm, float* to, int64_t timeout_ms) {
  plait_call_config config{};
  config.struct_size = sizeof config;
  config.timeout_ms = timeout_ms;
  return plait_recv(comm, to, 1, PLAIT_FLOAT32, 0, 3, &config, nullptr);
}

// Within a group a receive is put off until its end, and the send behind it comes; meanwhile() is done.
// Outside it is waited for, in vain.
template <class Meanwhile>
std::string is_put_off(const Comm& c, Meanwhile meanwhile) {
  float out = 0;
  const float in = 7;
  OK(plait_group_begin());
  std::string bad = meanwhile();
  OK(receive_for(c.comm, &out, 20'000));
  OK(plait_send(c.comm, &in, 1, PLAIT_FLOAT32, 0, 3, nullptr, nullptr));
  OK(plait_group_end());
  return out == 7 ? bad : "nothing came";
}
std::string is_waited_for(const std::string& job) {
  Comm c(job, 0, 1);
  float out = 0;
  const plait_status got = receive_for(c.comm, &out, 30);
  return got == PLAIT_ERR_TIMEOUT ? "" : std::string("a receive in no group: ") + plait_status_string(got);
}

// Calls what() in a thread of its own, whose place the next one is likely to have.
template <class What>
void in_a_thread(What what) {
  std::string words;
  std::thread([&] { words = what(); }).join();
  EXPECT_EQ(words, "");
}

TEST(Groups, AnotherThreadsIsNotThisOnes) {
  const std::string job = fresh_job(), others = fresh_job();
  in_a_thread([&] {
    Comm c(job, 0, 1);
    return is_put_off(c, [&] {
      std::string words;
      std::thread([&] { words = is_waited_for(others); }).join();
      return words;
    });
  });
}

TEST(Groups, AThreadThatEndsWithinOneLeavesNone) {
  const std::string job = fresh_job(), next = fresh_job();
  in_a_thread([&]() -> std::string {
    Comm c(job, 0, 1);
    OK(plait_group_begin());
    return "";
  });
  in_a_thread([&] { return is_waited_for(next); });
}

TEST(Groups, ManyAtOnceAreToldApartFromThenOn) {
  const std::string job = fresh_job();
  std::latch all_have_one(3);
  std::vector<std::thread> threads;
  std::vector<std::string> words(3);
  for (size_t t = 0; t < 3; t++) {
    threads.emplace_back([&, t] {
      Comm c(job + std::to_string(t), 0, 1);
      words[t] = is_put_off(c, [&] {
        all_have_one.arrive_and_wait();
        return std::string();
      });
      if (words[t].empty()) words[t] = is_put_off(c, [] { return std::string(); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& one : words) EXPECT_EQ(one, "");
  in_a_thread([&] { return is_waited_for(job); });
}

}  // namespace
}  // namespace plait::test
