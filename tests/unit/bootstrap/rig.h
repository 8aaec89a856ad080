// Ranks as threads of this process, met over Unix sockets or loopback.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/group.h"

namespace plait::bootstrap::test {

inline transport::Bounds within_ms(int64_t ms) { return {Deadline::in_ms(ms), nullptr}; }

// A name that no other test and no other run uses.
std::string fresh_job();
// A port of loopback that was free just now.
uint16_t free_port(int family = 4);
std::string loopback_root(int family = 4);  // "127.0.0.1:PORT" or "[::1]:PORT"
SecretPtr secret_of(std::string_view text);
Bytes bytes_of_text(std::string_view text);
std::string text_of(ByteView bytes);
bool has_ipv6();

// A job of `size` ranks; root empty: over Unix sockets.
Membership member(const std::string& job, int32_t rank, int32_t size, const std::string& root = {});

using Main = std::function<std::string(int rank)>;  // empty: all well
// Runs `main` for ranks 0..count-1, each on a thread; every complaint is a failure that names its rank.
void run_ranks(int count, const Main& main);

// Joins; the text of the error where that fails.
struct Joined {
  std::unique_ptr<Group> group;
  Status status;
};
Joined join(const Membership& m, int64_t ms = 20'000);

// An allgather in which rank r gives r % 7 + 1 bytes of value r; what was wrong.
std::string exchange(Group& group, int64_t ms = 20'000);
// leave(), and poll until all left; what was wrong.
std::string leave(Group& group, int64_t ms = 20'000);
// Polls until `done`; false when that took longer.
bool poll_until(Group& group, const std::function<bool()>& done, int64_t ms = 20'000);

}  // namespace plait::bootstrap::test
