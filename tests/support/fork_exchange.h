// Ranks as forked processes, and the Exchange among them: boxes in memory that they share.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "transport/exchange.h"

namespace plait::transport::test {

constexpr int kMaxForks = 16;
constexpr size_t kBox = 8192;

struct ForkBoxes {
  struct Box {
    std::atomic<uint64_t> written, read;  // rounds
    uint32_t bytes;
    std::byte data[kBox];
  };
  Box box[kMaxForks];
};

class ForkExchange final : public Exchange {
 public:
  ForkExchange(ForkBoxes& boxes, int rank, int size) : boxes_(boxes), rank_(rank), size_(size) {}
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }

  Result<std::vector<Bytes>> allgather(ByteView bytes, const Bounds& bounds) override {
    auto& own = boxes_.box[rank_];
    if (bytes.size() > kBox) return Status(Code::internal, "too long for a test's box");
    // A box is written again when everybody has read it.
    PLAIT_TRY(wait(bounds, &ForkBoxes::Box::read, round_));
    if (!bytes.empty()) std::memcpy(own.data, bytes.data(), bytes.size());
    own.bytes = uint32_t(bytes.size());
    own.written.store(++round_, std::memory_order_release);
    PLAIT_TRY(wait(bounds, &ForkBoxes::Box::written, round_));
    std::vector<Bytes> all;
    for (int i = 0; i < size_; ++i)
      all.emplace_back(boxes_.box[i].data, boxes_.box[i].data + boxes_.box[i].bytes);
    own.read.store(round_, std::memory_order_release);
    return all;
  }

 private:
  Status wait(const Bounds& bounds, std::atomic<uint64_t> ForkBoxes::Box::*word, uint64_t round) {
    for (int i = 0; i < size_; ++i) {
      while ((boxes_.box[i].*word).load(std::memory_order_acquire) < round) {
        if (bounds.aborted()) return Status(Code::aborted, "aborted");
        if (bounds.deadline.passed()) return Status(Code::timeout, "no word from rank " + std::to_string(i));
        timespec nap{0, 50000};
        nanosleep(&nap, nullptr);
      }
    }
    return {};
  }

  ForkBoxes& boxes_;
  const int rank_, size_;
  uint64_t round_ = 0;
};

// Runs `rank_main` in a forked process a rank; a gtest failure in one becomes one of the caller. Returns each
// one's wait status. Ranks that do not end within `limit_ms` are killed.
inline std::vector<int> run_forked(int size, const std::function<void(Exchange&)>& rank_main,
                                   int64_t limit_ms = 60000) {
  void* shared = mmap(nullptr, sizeof(ForkBoxes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& boxes = *static_cast<ForkBoxes*>(shared);
  std::vector<pid_t> pids;
  std::fflush(nullptr);
  for (int rank = 0; rank < size; ++rank) {
    pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      {
        ForkExchange exchange(boxes, rank, size);
        rank_main(exchange);
      }
      std::fflush(nullptr);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    pids.push_back(pid);
  }
  std::vector<int> statuses;
  Deadline deadline = Deadline::in_ms(limit_ms);
  for (pid_t pid : pids) {
    int status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(pid, &status, WNOHANG)) == 0 && !deadline.passed()) {
      timespec nap{0, 200000};
      nanosleep(&nap, nullptr);
    }
    if (ended == 0) {
      ADD_FAILURE() << "a rank did not end in time";
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
    }
    statuses.push_back(status);
  }
  munmap(shared, sizeof(ForkBoxes));
  return statuses;
}

}  // namespace plait::transport::test
