// Queues: tensors in any order, fused, cut, by priority, with and without a thread of its own.
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "runtime/queue_rig.h"

namespace plait::test {
namespace {

#ifdef PLAIT_SANITIZED
constexpr int kSteps = 4;
#else
constexpr int kSteps = 12;
#endif

struct Kind {
  int ranks;
  bool thread;
};
class Queues : public testing::TestWithParam<Kind> {
 protected:
  // `main` on every rank, as processes.
  void run(plait_queue_config config, const std::function<std::string(QueueOf&, int rank, int size)>& main) {
    const std::string job = fresh_job();
    config.progress_thread = GetParam().thread;
    run_ranks(processes(GetParam().ranks), [&](int rank, int size) -> std::string {
      QueueOf q(job, rank, size, config);
      if (!q.error.empty()) return q.error;
      std::string bad = main(q, rank, size);
      if (bad.empty() && q.close() != PLAIT_OK) bad = std::string("destroy: ") + plait_last_error(nullptr);
      return bad;
    });
  }
};

// Every rank in an order of its own; sizes from nothing to many chunks; some keys in some steps only.
TEST_P(Queues, SumWhatIsPushedInAnyOrder) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  plait_queue_config config = queue_config();
  config.fuse_bytes = 16 << 10;
  config.chunk_bytes = 64 << 10;
  run(config, [&](QueueOf& q, int rank, int size) -> std::string {
    std::mt19937 alike(seed), own(seed + unsigned(rank) + 1);
    std::vector<Pushed> tensors;
    for (uint64_t k = 0; k < 70; k++) {
      const size_t count = k == 0 ? 0 : k % 10 == 1 ? alike() % 100'000 : alike() % 3000;
      tensors.emplace_back(k * 1'000'003, count, int32_t(alike() % 4), (k + uint64_t(rank)) % 2 == 0);
    }
    for (int step = 0; step < kSteps; step++) {
      std::vector<size_t> order;
      for (size_t i = 0; i < tensors.size(); i++) {
        if (alike() % 5 != 0) order.push_back(i);
      }
      std::shuffle(order.begin(), order.end(), own);
      for (size_t i : order) {
        if (tensors[i].push(q.queue, rank, step) != PLAIT_OK) return plait_last_error(nullptr);
        if (own() % 20 == 0) usleep(unsigned(own() % 300));
      }
      std::shuffle(order.begin(), order.end(), own);
      for (size_t i : order) {
        const std::string bad = tensors[i].end(size, step);
        if (!bad.empty()) return bad;
      }
    }
    return {};
  });
}

// One rank waits for each before it pushes the next, another pushes all of them backwards.
TEST_P(Queues, NeedNotAllBePushedBeforeOneIsWaitedFor) {
  run(queue_config(), [&](QueueOf& q, int rank, int size) -> std::string {
    std::vector<Pushed> tensors;
    for (uint64_t k = 0; k < 8; k++) tensors.emplace_back(k, 1000 + k, 0, true);
    for (int step = 0; step < 3; step++) {
      for (size_t i = 0; i < tensors.size(); i++) {
        const size_t at = rank == 0 ? i : tensors.size() - 1 - i;
        if (tensors[at].push(q.queue, rank, step) != PLAIT_OK) return plait_last_error(nullptr);
        if (rank != 0) continue;
        const std::string bad = tensors[at].end(size, step);
        if (!bad.empty()) return bad;
      }
      for (size_t i = 0; i < tensors.size() && rank != 0; i++) {
        const std::string bad = tensors[i].end(size, step);
        if (!bad.empty()) return bad;
      }
    }
    return {};
  });
}

TEST_P(Queues, FlushWaitsForThoseThatNobodyHolds) {
  run(queue_config(), [&](QueueOf& q, int rank, int size) -> std::string {
    std::vector<Pushed> tensors;
    for (uint64_t k = 0; k < 100; k++) tensors.emplace_back(k, 500, 0, k % 2 == 0);
    for (int step = 0; step < kSteps; step++) {
      for (Pushed& t : tensors) {
        if (t.push(q.queue, rank, step, false) != PLAIT_OK) return plait_last_error(nullptr);
      }
      if (plait_queue_flush(q.queue) != PLAIT_OK) return plait_last_error(nullptr);
      for (const Pushed& t : tensors) {
        const std::string bad = t.check(size, step);
        if (!bad.empty()) return bad;
      }
    }
    return {};
  });
}

// By test and wait_any, with a request of the communicator among them.
TEST_P(Queues, GiveOrdinaryRequests) {
  run(queue_config(), [&](QueueOf& q, int rank, int size) -> std::string {
    Pushed a(1, 5000, 0, true), b(2, 70'000, 0, false);
    if (a.push(q.queue, rank, 0) != PLAIT_OK || b.push(q.queue, rank, 0) != PLAIT_OK)
      return plait_last_error(nullptr);
    plait_request* barrier = nullptr;
    if (plait_barrier(q.comm.comm, nullptr, &barrier) != PLAIT_OK) return q.comm.last();
    std::vector<plait_request*> all = {a.request, barrier, b.request};
    size_t bytes = 0;
    const char* name = nullptr;
    if (plait_request_bytes(a.request, &bytes) != PLAIT_ERR_INVALID) return "a push has no message";
    if (plait_request_algorithm(a.request, &name) != PLAIT_ERR_INVALID) return "a push has no algorithm";
    if (plait_start(a.request) != PLAIT_ERR_INVALID) return "a push is no plan";
    for (size_t left = all.size(); left > 0; left--) {
      size_t index = 99;
      if (plait_wait_any(all.data(), all.size(), &index) != PLAIT_OK) return plait_last_error(nullptr);
      int done = 0;
      if (plait_test(all[index], &done) != PLAIT_OK || done != 1) return "it was done";
      if (plait_request_free(all[index]) != PLAIT_OK) return plait_last_error(nullptr);
      all[index] = nullptr;
    }
    if (a.push(q.queue, rank, 1) != PLAIT_OK) return plait_last_error(nullptr);
    for (int done = 0; done == 0;) {
      if (plait_test(a.request, &done) != PLAIT_OK) return plait_last_error(nullptr);
    }
    std::string bad = a.end(size, 1);
    return bad.empty() ? b.check(size, 0) : bad;
  });
}

// A key may be of another size once all are done with it.
TEST_P(Queues, LetAKeyChange) {
  run(queue_config(), [&](QueueOf& q, int rank, int size) -> std::string {
    for (int step = 0; step < kSteps; step++) {
      Pushed a(7, size_t(10 + 1000 * step), step, true), b(8, 100, 0, true);
      Pushed* order[] = {&a, &b};
      if (rank % 2 == 1) std::swap(order[0], order[1]);
      for (Pushed* t : order) {
        if (t->push(q.queue, rank, step) != PLAIT_OK) return plait_last_error(nullptr);
      }
      for (Pushed* t : order) {
        const std::string bad = t->end(size, step);
        if (!bad.empty()) return bad;
      }
    }
    return {};
  });
}

// What was pushed last and goes first is done before most of what was there already.
TEST_P(Queues, ServeByPriority) {
  plait_queue_config config = queue_config();
  config.fuse_bytes = 1;
  config.chunk_bytes = 64 << 10;
  config.window_bytes = 128 << 10;
  run(config, [&](QueueOf& q, int rank, int size) -> std::string {
    std::vector<Pushed> tensors;
    for (uint64_t k = 0; k < 20; k++) tensors.emplace_back(k, 200'000, int32_t(k == 19), true);
    for (int step = 0; step < 3; step++) {
      for (Pushed& t : tensors) {
        if (t.push(q.queue, rank, step) != PLAIT_OK) return plait_last_error(nullptr);
      }
      if (plait_wait(tensors[19].request) != PLAIT_OK) return plait_last_error(nullptr);
      size_t before = 0;
      for (size_t i = 0; i < 19; i++) {
        int done = 0;
        if (plait_test(tensors[i].request, &done) != PLAIT_OK) return plait_last_error(nullptr);
        before += size_t(done);
      }
      // With a thread, the first may be done before the last is pushed.
      if (before > 10 && !GetParam().thread && step > 0)
        return std::to_string(before) + " were done before it; " + explain(q.queue);
      for (Pushed& t : tensors) {
        const std::string bad = t.end(size, step);
        if (!bad.empty()) return bad;
      }
    }
    return {};
  });
}

TEST_P(Queues, WriteATimeline) {
  const std::string path = "/tmp/plait-queue-" + std::to_string(getpid()) + (GetParam().thread ? "t" : "");
  plait_queue_config config = queue_config();
  config.trace = path.c_str();
  config.trace_tensors = 5;
  config.chunk_bytes = 4096;
  config.fuse_bytes = 1024;
  run(config, [&](QueueOf& q, int rank, int size) -> std::string {
    for (uint64_t k = 0; k < 8; k++) {
      Pushed t(k, k == 7 ? 5000 : 10, 0, true);
      if (t.push(q.queue, rank, 0) != PLAIT_OK) return plait_last_error(nullptr);
      const std::string bad = t.end(size, 0);
      if (!bad.empty()) return bad;
    }
    if (plait_queue_trace(q.queue, "/no/such/folder/x") != PLAIT_ERR_SYSTEM) return "it was written";
    return {};
  });
  for (int rank = 0; rank < GetParam().ranks; rank++) {
    const std::string file = path + "." + std::to_string(rank) + ".json";
    std::ifstream in(file);
    const auto json = nlohmann::json::parse(in, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << file;
    size_t wires = 0;
    double end = 0;
    for (const auto& e : json["traceEvents"]) {
      EXPECT_EQ(e["pid"], rank);
      if (e["ph"] != "X") continue;
      EXPECT_GE(e["dur"].get<double>(), 0);
      if (e["name"] != "on the wire") continue;
      wires++;
      EXPECT_GE(e["ts"].get<double>() + 0.01, end);
      end = e["ts"].get<double>() + e["dur"].get<double>();
      EXPECT_EQ(e["args"]["key"], 2 + wires);
      EXPECT_EQ(e["args"]["operations"], wires == 5 ? 5 : 1);
    }
    EXPECT_EQ(wires, 5u);
    unlink(file.c_str());
  }
}

TEST_P(Queues, TuneThemselves) {
#ifdef PLAIT_SANITIZED
  constexpr size_t kElements = size_t(1) << 20;  // two chunks all the same
#else
  constexpr size_t kElements = size_t(4) << 20;
#endif
  plait_queue_config config = queue_config();
  config.autotune = 1;
  config.chunk_bytes = config.chunk_min = 1 << 20;
  config.chunk_max = 2 << 20;
  config.fuse_min = config.fuse_max = 64 << 10;
  config.fuse_bytes = 64 << 10;
  run(config, [&](QueueOf& q, int rank, int size) -> std::string {
    std::vector<Pushed> tensors;
    for (uint64_t k = 0; k < 4; k++) tensors.emplace_back(k, kElements, 0, true);
    for (int step = 0; step < 40 && !contains(explain(q.queue), "settled"); step++) {
      for (Pushed& t : tensors) {
        if (t.push(q.queue, rank, step) != PLAIT_OK) return plait_last_error(nullptr);
      }
      for (Pushed& t : tensors) {
        const std::string bad = t.end(size, step);
        if (!bad.empty()) return bad;
      }
    }
    const std::string text = explain(q.queue);
    for (const char* part :
         {"settled: fuse_bytes 65536", "chunk_bytes 1048576", "chunk_bytes 2097152", "the beginning"}) {
      if (!contains(text, part)) return "no " + std::string(part) + " in " + text;
    }
    return {};
  });
}

// The same bits, whether a tensor goes alone, fused or cut.
TEST_P(Queues, AreDeterministicWhereTheCommunicatorIs) {
  const std::string job = fresh_job();
  setenv("PLAIT_DETERMINISTIC", "1", 1);
  run_ranks(processes(GetParam().ranks), [&](int rank, int size) -> std::string {
    std::vector<std::vector<float>> results;
    for (const size_t fuse : {size_t(1), size_t(1) << 20}) {
      plait_queue_config config = queue_config();
      config.progress_thread = GetParam().thread;
      config.fuse_bytes = fuse;
      config.chunk_bytes = fuse == 1 ? 4096 : 1 << 20;
      QueueOf q(job, rank, size, config);
      if (!q.error.empty()) return q.error;
      std::vector<std::vector<float>> x(30);
      std::mt19937 random{unsigned(rank)};
      std::uniform_real_distribution<float> values(-1, 1);
      for (size_t k = 0; k < x.size(); k++) {
        x[k].resize(100 + 777 * k);
        for (float& v : x[k]) v = values(random);
      }
      for (size_t k = 0; k < x.size(); k++) {
        if (plait_queue_push(q.queue, k, x[k].data(), x[k].size(), PLAIT_FLOAT32, PLAIT_AVG, 0, nullptr) !=
            PLAIT_OK)
          return plait_last_error(nullptr);
      }
      if (plait_queue_flush(q.queue) != PLAIT_OK) return plait_last_error(nullptr);
      if (results.empty()) {
        results = x;
      } else if (results != x) {
        return "the bits differ";
      }
    }
    return {};
  });
  unsetenv("PLAIT_DETERMINISTIC");
}

INSTANTIATE_TEST_SUITE_P(Ranks, Queues,
                         testing::Values(Kind{1, false}, Kind{2, false}, Kind{2, true}, Kind{3, false},
                                         Kind{4, true}, Kind{5, false}),
                         [](const auto& kind) {
                           return std::to_string(kind.param.ranks) + (kind.param.thread ? "threaded" : "");
                         });

}  // namespace
}  // namespace plait::test
