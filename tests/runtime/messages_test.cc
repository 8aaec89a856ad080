// Sends and receives of the C API.
#include <deque>
#include <latch>
#include <memory>
#include <random>

#include "runtime/messages.h"

namespace plait::test {
namespace {

TEST(Messages, AllSizesGoThereAndBack) {
  ranks(2, [](Comm& c, int rank) -> std::string {
    int seed = 1;
    for (size_t bytes :
         std::initializer_list<size_t>{0, 1, 32, 33, 4096, 8192, 8193, 65536, 131072, 300'001, 2'000'000}) {
      for (int kind = 0; kind < 4; kind++, seed++) {
        Memory mine(bytes, (kind & 1) != 0), theirs(bytes, (kind & 2) != 0);
        mine.fill(seed);
        if (rank == 0) {
          OK(send(c.comm, mine, bytes, 1, 3));
          OK(receive(c.comm, theirs, bytes, 1, 3));
        } else {
          OK(receive(c.comm, theirs, bytes, 0, 3));
          OK(send(c.comm, mine, bytes, 0, 3));
        }
        if (!theirs.holds(seed)) return std::to_string(bytes) + " bytes came wrong";
      }
    }
    return {};
  });
}

TEST(Messages, SixtyFourMiB) {
  ranks(2, [](Comm& c, int rank) -> std::string {
    constexpr size_t kBytes = size_t(64) << 20;
    Memory m(kBytes, rank == 0);
    m.fill(rank);
    if (rank == 0) {
      OK(send(c.comm, m, kBytes, 1, 0));
    } else {
      OK(receive(c.comm, m, kBytes, 0, 0));
      if (!m.holds(0)) return "wrong bytes";
    }
    return {};
  });
}

// Each rank sends to the next and receives from the one before, with blocking calls in a group.
TEST(Messages, RingExchangeInAGroup) {
  ranks(4, [](Comm& c, int rank) -> std::string {
    for (size_t bytes : std::initializer_list<size_t>{8, 100'000, 400'000}) {
      Memory out(bytes, true), in(bytes, false);
      out.fill(rank);
      OK(plait_group_begin());
      OK(send(c.comm, out, bytes, (rank + 1) % 4, 1));
      OK(receive(c.comm, in, bytes, (rank + 3) % 4, 1));
      OK(plait_group_end());
      if (!in.holds((rank + 3) % 4)) return "wrong bytes";
    }
    return {};
  });
}

// Those that are there when they are asked for need no request, others do; each tag is in order all the same.
TEST(Messages, ManyShortOnesInGroups) {
  ranks(2, [](Comm& c, int rank) -> std::string {
    constexpr int kMany = 699, kTags = 3;  // more than a link has lines
    for (int group : {kTags, 60, kMany}) {
      std::vector<int64_t> numbers(kMany, -1);
      for (int i = 0; i < kMany; i++) {
        if (i % group == 0) OK(plait_group_begin());
        const int tag = i % kTags;
        if (rank == 0) {
          numbers[size_t(i)] = i;
          OK(plait_send(c.comm, &numbers[size_t(i)], 1, PLAIT_INT64, 1, tag, nullptr, nullptr));
        } else {  // the last of three tags first
          const int later = kTags - 1 - tag;
          int64_t* const to = &numbers[size_t(i - tag + later)];
          OK(plait_recv(c.comm, to, 1, PLAIT_INT64, 0, later, nullptr, nullptr));
        }
        if (i % group == group - 1 || i == kMany - 1) OK(plait_group_end());
      }
      for (int i = 0; i < kMany; i++) {
        if (numbers[size_t(i)] != i) return "message " + std::to_string(i) + " is wrong";
      }
    }
    return {};
  });
}

// Everybody with everybody, itself too, between collectives; the collective in the group is part of it.
TEST(Messages, AllToAllAmongCollectives) {
  constexpr int kRanks = 3;
  ranks(kRanks, [](Comm& c, int rank) -> std::string {
    constexpr size_t kBytes = 50'000;
    for (int round = 0; round < 3; round++) {
      std::vector<std::unique_ptr<Memory>> out, in;
      float sum[4] = {1, 2, 3, float(rank)};
      OK(plait_group_begin());
      for (int r = 0; r < kRanks; r++) {
        out.push_back(std::make_unique<Memory>(kBytes, round == 1));
        in.push_back(std::make_unique<Memory>(kBytes, round == 2));
        out.back()->fill(10 * rank + r);
        OK(send(c.comm, *out.back(), kBytes, r, 5));
      }
      OK(plait_allreduce(c.comm, sum, sum, 4, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr));
      for (int r = 0; r < kRanks; r++) OK(receive(c.comm, *in[size_t(r)], kBytes, r, 5));
      OK(plait_group_end());
      for (int r = 0; r < kRanks; r++) {
        if (!in[size_t(r)]->holds(10 * r + rank)) return "wrong bytes from rank " + std::to_string(r);
      }
      if (sum[0] != kRanks || sum[3] != 3) return "a wrong sum";
      OK(plait_barrier(c.comm, nullptr, nullptr));
    }
    return {};
  });
}

// More than a link holds, by requests, tags mixed; waited for from the last to the first.
TEST(Messages, ManyInFlight) {
  ranks(2, [](Comm& c, int rank) -> std::string {
    constexpr int kMany = 700;
    std::vector<int> values(kMany), got(kMany, -1);
    std::vector<plait_request*> requests(kMany);
    for (int i = 0; i < kMany; i++) {
      values[size_t(i)] = i * 3;
      auto* at = &requests[size_t(i)];
      if (rank == 0) {
        OK(plait_send(c.comm, &values[size_t(i)], 1, PLAIT_INT32, 1, i % 5, nullptr, at));
      } else {
        OK(plait_recv(c.comm, &got[size_t(i)], 1, PLAIT_INT32, 0, i % 5, nullptr, at));
      }
    }
    for (int i = kMany - 1; i >= 0; i--) OK(plait_wait(requests[size_t(i)]));
    for (plait_request* r : requests) OK(plait_request_free(r));
    if (rank == 1 && got != values) return "wrong values, or in the wrong order";
    return {};
  });
}

TEST(Messages, PlansAndShortMessages) {
  ranks(2, [](Comm& c, int rank) -> std::string {
    Memory m(20'000, true);
    plait_request* plan = nullptr;
    const char* name = nullptr;
    if (rank == 0) {
      OK(plait_plan_send(c.comm, m.data(), 20'000, PLAIT_UINT8, 1, 2, nullptr, &plan));
    } else {
      OK(plait_plan_recv(c.comm, m.data(), 20'000, PLAIT_UINT8, 0, 2, nullptr, &plan));
    }
    size_t bytes = 0;
    if (plait_request_bytes(plan, &bytes) != PLAIT_ERR_STATE) return "bytes of what never ran";
    if (plait_request_algorithm(plan, &name) != PLAIT_ERR_INVALID) return "a message has an algorithm";
    for (int round = 0; round < 5; round++) {
      m.fill(rank == 0 ? round : 100);
      OK(plait_start(plan));
      OK(plait_wait(plan));
      if (rank == 1 && !m.holds(round)) return "wrong bytes in round " + std::to_string(round);
      OK(plait_barrier(c.comm, nullptr, nullptr));
    }
    OK(plait_request_free(plan));
    // A receive that is longer than its message.
    if (rank == 0) {
      OK(send(c.comm, m, 77, 1, 9));
      OK(send(c.comm, m, 10'001, 1, 9));
      return {};
    }
    for (size_t sent : std::initializer_list<size_t>{77, 10'001}) {
      plait_request* request = nullptr;
      OK(receive(c.comm, m, 20'000, 0, 9, &request));
      OK(plait_wait(request));
      OK(plait_request_bytes(request, &bytes));
      OK(plait_request_free(request));
      if (bytes != sent) return std::to_string(bytes) + " bytes came, not " + std::to_string(sent);
    }
    return {};
  });
}

// Messages that are done at once share a request; each call's is freed for itself, in any order.
TEST(Messages, RequestsOfShortMessages) {
  ranks(2, [](Comm& c, int rank) -> std::string {
    constexpr size_t kMany = 40;
    std::mt19937 random(7), order(unsigned(rank) + 1);
    for (int round = 0; round < 200; round++) {
      std::deque<Memory> all;
      std::vector<std::pair<plait_request*, size_t>> open;
      for (size_t i = 0; i < kMany; i++) {
        const size_t bytes = random() % 3 == 0 ? random() % 300 : 8;
        Memory& m = all.emplace_back(bytes, false);
        if (rank == 0) m.fill(int(i));
        plait_request* request = nullptr;
        OK(rank == 0 ? plait_send(c.comm, m.data(), bytes, PLAIT_UINT8, 1, 3, nullptr, &request)
                     : plait_recv(c.comm, m.data(), bytes, PLAIT_UINT8, 0, 3, nullptr, &request));
        open.emplace_back(request, bytes);
        while (open.size() > (i + 1 == kMany ? 0 : order() % 20)) {
          std::swap(open[order() % open.size()], open.back());
          const auto [done, length] = open.back();
          open.pop_back();
          size_t moved = 0;
          OK(plait_wait(done));
          OK(plait_request_bytes(done, &moved));
          if (moved != length) return "a request of another length";
          OK(plait_request_free(done));
        }
      }
      for (size_t i = 0; i < kMany; i++)
        if (!all[i].holds(int(i))) return "wrong bytes";
      OK(plait_barrier(c.comm, nullptr, nullptr));
    }
    return {};
  });
}

// The end of a group waits for calls without a request only: one that has one is gone before, whatever its
// rank does then.
TEST(Messages, OneInAGroupWithARequestLeavesWithoutAWait) {
  std::latch came(1);
  ranks(2, [&](Comm& c, int rank) -> std::string {
    Memory mine(64, false), theirs(64, false);
    mine.fill(rank);
    OK(plait_barrier(c.comm, nullptr, nullptr));
    if (rank == 0) {
      OK(send(c.comm, mine, 8, 1, 1));  // whatever opens between them is open
      OK(plait_group_begin());
      plait_request* request = nullptr;
      const std::string said = ok(send(c.comm, mine, 64, 1, 2, &request), c.comm);
      const std::string then = ok(plait_group_end(), c.comm);
      came.wait();
      if (!said.empty() || !then.empty()) return said + then;
      OK(plait_wait(request));
      OK(plait_request_free(request));
      return {};
    }
    plait_call_config config{};
    config.struct_size = sizeof config;
    config.timeout_ms = 10'000;
    std::string bad = ok(receive(c.comm, theirs, 8, 0, 1), c.comm);
    if (bad.empty())
      bad = ok(plait_recv(c.comm, theirs.data(), 64, PLAIT_UINT8, 0, 2, &config, nullptr), c.comm);
    came.count_down();
    if (bad.empty() && !theirs.holds(0)) bad = "wrong bytes";
    return bad;
  });
}

TEST(Messages, ToOneselfToo) {
  for (int size : {1, 2}) {
    ranks(size, [](Comm& c, int rank) -> std::string {
      Memory a(1000, true), b(1000, false), to_a(1000, false), to_b(1000, true);
      a.fill(1);
      b.fill(2);
      OK(plait_group_begin());
      OK(send(c.comm, a, 1000, rank, 1));
      OK(receive(c.comm, to_b, 1000, rank, 2));
      OK(send(c.comm, b, 1000, rank, 2));
      OK(receive(c.comm, to_a, 1000, rank, 1));
      OK(plait_group_end());
      return to_a.holds(1) && to_b.holds(2) ? "" : "wrong bytes";
    });
  }
}

TEST(Messages, WrongArgumentsStartNothing) {
  ranks(2, [](Comm& c, int) -> std::string {
    int x = 0;
    auto call = [&](void* at, size_t count, plait_dtype dtype, int peer, int tag) {
      return plait_recv(c.comm, at, count, dtype, peer, tag, nullptr, nullptr);
    };
    if (call(&x, 1, PLAIT_INT32, 2, 0) != PLAIT_ERR_INVALID || !contains(c.last(), "peer 2"))
      return "peer " + c.last();
    if (call(&x, 1, PLAIT_INT32, -1, 0) != PLAIT_ERR_INVALID) return "peer " + c.last();
    if (call(&x, 1, PLAIT_INT32, 0, -1) != PLAIT_ERR_INVALID || !contains(c.last(), "tag -1"))
      return "tag " + c.last();
    if (call(&x, 1, 77, 0, 0) != PLAIT_ERR_INVALID) return "dtype " + c.last();
    if (call(nullptr, 1, PLAIT_INT32, 0, 0) != PLAIT_ERR_INVALID) return "buffer " + c.last();
    if (call(&x, SIZE_MAX / 2, PLAIT_INT32, 0, 0) != PLAIT_ERR_INVALID) return "count " + c.last();
    if (plait_recv(nullptr, &x, 1, PLAIT_INT32, 0, 0, nullptr, nullptr) != PLAIT_ERR_INVALID) return "comm";
    plait_call_config config{};
    config.struct_size = sizeof config;
    config.algorithm = "ring";
    if (plait_recv(c.comm, &x, 1, PLAIT_INT32, 0, 0, &config, nullptr) != PLAIT_ERR_INVALID)
      return "algorithm";
    if (plait_group_end() != PLAIT_ERR_STATE) return "an end without a begin";
    OK(plait_barrier(c.comm, nullptr, nullptr));
    return {};
  });
}

// As processes: nothing is reached by its own address.
TEST(Processes, PlainAndSharedMemory) {
  const std::string job = fresh_job();
  run_ranks({1, 1}, [&](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    if (c.status != PLAIT_OK) return c.error;
    for (size_t bytes : std::initializer_list<size_t>{100, 10'000, 700'000}) {
      for (int kind = 0; kind < 4; kind++) {
        Memory out(bytes, (kind & 1) != 0), in(bytes, (kind & 2) != 0);
        out.fill(kind + rank);
        OK(plait_group_begin());
        OK(send(c.comm, out, bytes, 1 - rank, 1));
        OK(receive(c.comm, in, bytes, 1 - rank, 1));
        OK(plait_group_end());
        if (!in.holds(kind + 1 - rank)) return std::to_string(bytes) + " bytes came wrong";
      }
    }
    return {};
  });
}

}  // namespace
}  // namespace plait::test
