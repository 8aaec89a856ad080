// Ranks as threads of one process, and the Exchange among them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "transport/exchange.h"

namespace plait::transport::test {

// What the ranks of one world share. Outlives their exchanges.
class LocalWorld {
 public:
  explicit LocalWorld(int size) : size_(size), mine_(size_t(size)), came_(size_t(size)) {}
  int size() const noexcept { return size_; }

  Result<std::vector<Bytes>> allgather(int rank, ByteView bytes, const Bounds& bounds) {
    std::unique_lock lock(mutex_);
    const uint64_t round = round_;
    mine_[size_t(rank)].assign(bytes.begin(), bytes.end());
    came_[size_t(rank)] = true;
    if (std::ranges::count(came_, true) == size_) finish();
    while (round_ == round) {
      if (bounds.aborted()) return Status(Code::aborted, "aborted");
      if (bounds.deadline.passed()) return Status(Code::timeout, "no word from rank" + missing());
      changed_.wait_for(lock, std::chrono::milliseconds(5));
    }
    return all_;
  }

 private:
  void finish() {
    all_ = mine_;
    came_.assign(came_.size(), false);
    ++round_;
    changed_.notify_all();
  }
  std::string missing() const {
    std::string ranks;
    for (size_t i = 0; i < came_.size(); ++i) {
      if (!came_[i]) ranks += " " + std::to_string(i);
    }
    return ranks;
  }

  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Bytes> mine_, all_;
  std::vector<bool> came_;
  uint64_t round_ = 0;
};

class LocalExchange final : public Exchange {
 public:
  LocalExchange(LocalWorld& world, int rank) : world_(world), rank_(rank) {}
  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return world_.size(); }
  Result<std::vector<Bytes>> allgather(ByteView mine, const Bounds& bounds) override {
    return world_.allgather(rank_, mine, bounds);
  }

 private:
  LocalWorld& world_;
  const int rank_;
};

// Runs `rank_main` on a thread a rank, and joins them.
inline void run_threads(int size, const std::function<void(Exchange&)>& rank_main) {
  LocalWorld world(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      LocalExchange exchange(world, rank);
      rank_main(exchange);
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace plait::transport::test
