// Queues that cannot go on: the error is on every rank, and names ranks and tensors.
#include <fcntl.h>

#include "runtime/failure.h"
#include "runtime/queue_rig.h"

namespace plait::test {
namespace {

class QueueFailures : public testing::TestWithParam<bool> {
 protected:
  plait_queue_config config() const {
    plait_queue_config c = queue_config();
    c.progress_thread = GetParam();
    return c;
  }
  // `main` on every rank; the queue is destroyed after it, whatever that says.
  void run(int ranks, const plait_queue_config& config, int64_t timeout_ms,
           const std::function<std::string(QueueOf&, int rank)>& main) {
    const std::string job = fresh_job();
    run_ranks(processes(ranks), [&](int rank, int size) -> std::string {
      QueueOf q(job, rank, size, config, timeout_ms);
      return !q.error.empty() ? q.error : main(q, rank);
    });
  }
};

// The same of the last call, whose text is the thread's.
std::string came_to(plait_status got, plait_status want, std::initializer_list<const char*> parts) {
  return expect(got, want, plait_last_error(nullptr), parts);
}

// Pushes one tensor and waits for it.
std::string push_and(plait_queue* queue, int rank, uint64_t key, size_t count, plait_status want,
                     std::initializer_list<const char*> parts, int32_t priority = 0) {
  Pushed t(key, count, priority, true);
  if (t.push(queue, rank, 0) != PLAIT_OK) return plait_last_error(nullptr);
  const plait_status status = plait_wait(t.request);
  std::string bad = expect(status, want, status == PLAIT_OK ? "" : plait_last_error(nullptr), parts);
  if (plait_request_free(t.request) != PLAIT_OK) bad += plait_last_error(nullptr);
  return bad;
}

// A tensor that goes well on every rank, and all have heard so.
std::string warm_up(QueueOf& q, int rank) {
  std::string bad = push_and(q.queue, rank, 1, 10, PLAIT_OK, {});
  if (bad.empty() && plait_barrier(q.comm.comm, nullptr, nullptr) != PLAIT_OK) bad = q.comm.last();
  return bad;
}

TEST_P(QueueFailures, KeysOfTwoKindsAreAMismatch) {
  run(3, config(), 60'000, [](QueueOf& q, int rank) -> std::string {
    std::string bad = push_and(q.queue, rank, 1, 10, PLAIT_OK, {});
    if (!bad.empty()) return bad;
    bad = push_and(q.queue, rank, 44, rank == 1 ? 200 : 100, PLAIT_ERR_MISMATCH,
                   {"tensor 44", "rank 0 pushed count 100", "rank 1 pushed count 200"});
    if (!bad.empty()) return bad;
    int32_t x = 0;  // it stays broken
    return came_to(plait_queue_push(q.queue, 3, &x, 1, PLAIT_INT32, PLAIT_SUM, 0, nullptr),
                   PLAIT_ERR_MISMATCH, {"tensor 44"});
  });
}

// A key that was of one kind before: one rank pushes that once more, another something else.
TEST_P(QueueFailures, KeysThatChangeOnOneRankAreAMismatch) {
  run(3, config(), 60'000, [](QueueOf& q, int rank) -> std::string {
    std::string bad = push_and(q.queue, rank, 44, 100, PLAIT_OK, {});
    if (!bad.empty()) return bad;
    return push_and(q.queue, rank, 44, 100, PLAIT_ERR_MISMATCH,
                    {"tensor 44", "rank 2 pushed count 100, int32, sum, priority 7", "priority 0"},
                    rank == 2 ? 7 : 0);
  });
}

TEST_P(QueueFailures, ConfigsThatDifferAreAMismatch) {
  const std::string job = fresh_job();
  run_ranks(processes(3), [&](int rank, int size) -> std::string {
    plait_queue_config c = config();
    c.chunk_bytes = rank == 2 ? 1 << 20 : 2 << 20;
    c.fuse_us = rank;  // each rank's own affair
    QueueOf q(job, rank, size, c);
    for (const char* part : {"chunk_bytes", "2097152 on rank 0", "1048576 on rank 2"}) {
      if (!contains(q.error, part)) return "no " + std::string(part) + " in \"" + q.error + "\"";
    }
    return plait_barrier(q.comm.comm, nullptr, nullptr) == PLAIT_OK ? ""
                                                                    : "the communicator: " + q.comm.last();
  });
}

// All push what rank 1 and 2 do not, and something that all push: rounds go on, and say who lacks it.
TEST_P(QueueFailures, ATensorThatRanksLackIsATimeoutThatNamesThem) {
  plait_queue_config c = config();
  c.timeout_ms = 700;
  run(4, c, 60'000, [](QueueOf& q, int rank) -> std::string {
    Pushed common(5, 100, 0, true), rare(77, 100, 0, true);
    if (rank == 0 || rank == 3) {
      if (rare.push(q.queue, rank, 0) != PLAIT_OK) return plait_last_error(nullptr);
    }
    if (common.push(q.queue, rank, 0) != PLAIT_OK) return plait_last_error(nullptr);
    std::string bad = common.end(4, 0);
    if (!bad.empty()) return bad;
    // They wait for something else.
    Pushed other(88, 100, 0, true);
    if (rank == 1 || rank == 2) {
      if (other.push(q.queue, rank, 0) != PLAIT_OK) return plait_last_error(nullptr);
    }
    plait_request* request = rank == 0 || rank == 3 ? rare.request : other.request;
    const plait_status status = plait_wait(request);
    const std::string text = plait_last_error(nullptr);
    plait_request_free(request);
    bad = expect(status, PLAIT_ERR_TIMEOUT, text, {"have not pushed it for 0.7 s"});
    if (!bad.empty()) return bad;
    const bool named =
        contains(text, "tensor 77: ranks 1, 2 have") || contains(text, "tensor 88: ranks 0, 3 have");
    return named ? "" : "it names others: " + text;
  });
}

// One rank pushes nothing at all, and does not come to plait.
TEST_P(QueueFailures, ARankThatPushesNothingIsNamed) {
  const std::string job = fresh_job();
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  run_ranks(processes(3), [&](int rank, int size) -> std::string {
    QueueOf q(job, rank, size, config(), 1000);
    if (!q.error.empty()) return q.error;
    std::string bad = warm_up(q, rank);
    if (!bad.empty()) return bad;
    char byte = 0;
    if (rank == 2) return read(go[0], &byte, 1) == 1 && read(go[0], &byte, 1) == 1 ? "" : "nobody failed";
    Pushed t(9, 100, 0, true);
    if (t.push(q.queue, rank, 0) != PLAIT_OK) return plait_last_error(nullptr);
    const plait_status status = plait_wait(t.request);
    const std::string text = plait_last_error(nullptr);
    if (write(go[1], &byte, 1) != 1) return "the pipe is broken";
    // Whoever hears that the other gave up says so.
    return expect(status, PLAIT_ERR_TIMEOUT, text, {"rank 2"});
  });
  close(go[0]);
  close(go[1]);
}

// What the log says while it waits.
TEST_P(QueueFailures, AStallIsReportedWithRanksAndTensor) {
  static std::string lines;  // of this process
  static std::mutex mutex;
  const std::string job = fresh_job();
  run_ranks(processes(4), [&](int rank, int size) -> std::string {
    plait_config sink{};
    sink.struct_size = sizeof sink;
    sink.log = [](void*, plait_log_level, const char* line) {
      std::lock_guard lock(mutex);
      lines += line;
    };
    if (plait_init(&sink) != PLAIT_OK) return plait_last_error(nullptr);
    std::string bad;
    {
      plait_queue_config c = config();
      c.stall_ms = 100;
      QueueOf q(job, rank, size, c);
      if (!q.error.empty()) return q.error;
      Pushed late(6, 100, 0, true), early(5, 100, 0, true);
      if (early.push(q.queue, rank, 0) != PLAIT_OK) return plait_last_error(nullptr);
      if (rank % 2 == 0 && late.push(q.queue, rank, 0) != PLAIT_OK) return plait_last_error(nullptr);
      bad = early.end(size, 0);
      const bool lacks = rank % 2 == 1;
      // Ranks 1 and 3 come to rounds meanwhile, for a tensor that others push later.
      Pushed more(7, 100, 0, true);
      if (bad.empty() && lacks) {
        if (more.push(q.queue, rank, 0) != PLAIT_OK) return plait_last_error(nullptr);
        for (int done = 0, i = 0; i < 600 && done == 0; i++) {
          if (plait_test(more.request, &done) != PLAIT_OK) return plait_last_error(nullptr);
          usleep(1000);
        }
        if (late.push(q.queue, rank, 0) != PLAIT_OK) return plait_last_error(nullptr);
      }
      if (bad.empty()) bad = late.end(size, 0);
      if (bad.empty() && !lacks && more.push(q.queue, rank, 0) != PLAIT_OK) return plait_last_error(nullptr);
      if (bad.empty()) bad = more.end(size, 0);
      if (bad.empty() && q.close() != PLAIT_OK) bad = plait_last_error(nullptr);
    }
    plait_finalize();
    std::lock_guard lock(mutex);
    const char* want =
        rank == 0 ? "tensor 6: ranks 1, 3 have not pushed it for" : "tensor 7: ranks 0, 2 have not";
    if (bad.empty() && rank < 2 && !contains(lines, want))
      return "no \"" + std::string(want) + "\" in: " + lines;
    return bad;
  });
}

TEST_P(QueueFailures, AKeyMayNotBePushedTwice) {
  run(2, config(), 60'000, [](QueueOf& q, int rank) -> std::string {
    Pushed a(5, 100, 0, true), b(5, 100, 0, true), c(5, 50, 0, true);
    if (rank == 1) {  // so that it cannot be done
      char byte = 0;
      if (plait_recv(q.comm.comm, &byte, 1, PLAIT_INT8, 0, 0, nullptr, nullptr) != PLAIT_OK)
        return q.comm.last();
    }
    if (a.push(q.queue, rank, 0) != PLAIT_OK) return plait_last_error(nullptr);
    if (rank == 0) {
      for (Pushed* t : {&b, &c}) {
        const std::string bad =
            came_to(t->push(q.queue, rank, 0), PLAIT_ERR_STATE, {"tensor 5 is pushed and not done"});
        if (!bad.empty()) return bad;
      }
      const char byte = 0;
      if (plait_send(q.comm.comm, &byte, 1, PLAIT_INT8, 1, 0, nullptr, nullptr) != PLAIT_OK)
        return q.comm.last();
    }
    return a.end(2, 0);
  });
}

TEST_P(QueueFailures, AbortEndsWhatIsPending) {
  run(3, config(), 60'000, [](QueueOf& q, int rank) -> std::string {
    std::string bad = warm_up(q, rank);
    if (!bad.empty()) return bad;
    Pushed t(2, 100, 0, true);
    if (rank != 1 && t.push(q.queue, rank, 0) != PLAIT_OK) return plait_last_error(nullptr);
    if (rank == 1) {
      if (plait_queue_abort(q.queue) != PLAIT_OK) return plait_last_error(nullptr);
      int32_t x = 0;
      plait_queue_push(q.queue, 2, &x, 1, PLAIT_INT32, PLAIT_SUM, 0, nullptr);
      return came_to(plait_queue_flush(q.queue), PLAIT_ERR_ABORTED, {"abort", "rank 1"});
    }
    const plait_status status = plait_wait(t.request);
    return came_to(status, PLAIT_ERR_ABORTED, {"aborted the communicator"});
  });
}

TEST_P(QueueFailures, ADeadRankIsNamed) {
  const std::string job = fresh_job();
  std::vector<Process> all;
  for (int r = 0; r < 3; r++) {
    all.push_back(fork_ranks(r, 1, 3, [&](int rank, int size) -> std::string {
      QueueOf q(job, rank, size, config());
      if (!q.error.empty()) return q.error;
      // Whoever is still in the barrier when rank 1 dies hears of it there.
      std::string bad = push_and(q.queue, rank, 1, 10, PLAIT_OK, {});
      (void)plait_barrier(q.comm.comm, nullptr, nullptr);
      if (!bad.empty()) return bad;
      if (rank == 1) raise(SIGKILL);
      return push_and(q.queue, rank, 2, 100'000, PLAIT_ERR_PEER, {"rank 1"});
    }));
  }
  for (int r = 0; r < 3; r++) EXPECT_EQ(join(all[size_t(r)], r == 1), "");
}

// Pending on one rank; the others hear that it went.
TEST_P(QueueFailures, DestroyAbandonsWhatIsPending) {
  run(2, config(), 60'000, [](QueueOf& q, int rank) -> std::string {
    std::string bad = warm_up(q, rank);
    if (!bad.empty() || rank == 1) return bad;
    Pushed t(2, 100, 0, true);
    if (t.push(q.queue, rank, 0) != PLAIT_OK) return plait_last_error(nullptr);
    return came_to(q.close(), PLAIT_ERR_STATE, {"pending"});
  });
}

// The queue outlives its communicator; and plait_finalize ends what is left.
TEST_P(QueueFailures, FinalizeEndsQueuesThatAreLeft) {
  const std::string job = fresh_job();
  run_ranks(processes(2), [&](int rank, int size) -> std::string {
    auto comm = std::make_unique<Comm>(job, rank, size);
    plait_queue_config c = config();
    plait_queue* queue = nullptr;
    if (plait_init(nullptr) != PLAIT_OK || plait_queue_create(comm->comm, &c, &queue) != PLAIT_OK)
      return comm->last();
    std::string bad = push_and(queue, rank, 1, 10, PLAIT_OK, {});
    if (!bad.empty()) return bad;
    comm.reset();  // waits for the other rank
    Pushed t(2, 10, 0, true);
    if (t.push(queue, rank, 0) != PLAIT_OK) return plait_last_error(nullptr);
    const plait_status status = plait_wait(t.request);
    if (status != PLAIT_OK && status != PLAIT_ERR_ABORTED) return plait_last_error(nullptr);  // it went on
    return plait_finalize() == PLAIT_OK ? "" : plait_last_error(nullptr);
  });
}

TEST(QueueArguments, AreChecked) {
  QueueOf q(fresh_job(), 0, 1);
  ASSERT_EQ(q.error, "");
  int32_t x = 3;
  plait_request* r = nullptr;
  const auto refused = [](plait_status status, const char* part) {
    return came_to(status, PLAIT_ERR_INVALID, {part});
  };
  EXPECT_EQ(refused(plait_queue_push(nullptr, 1, &x, 1, PLAIT_INT32, PLAIT_SUM, 0, &r), "the queue is NULL"),
            "");
  EXPECT_EQ(refused(plait_queue_push(q.queue, 1, nullptr, 1, PLAIT_INT32, PLAIT_SUM, 0, &r), "buffer"), "");
  EXPECT_EQ(refused(plait_queue_push(q.queue, 1, &x, 1, 99, PLAIT_SUM, 0, &r), "dtype 99"), "");
  EXPECT_EQ(refused(plait_queue_push(q.queue, 1, &x, 1, PLAIT_INT32, PLAIT_PREMULTIPLIED_SUM, 0, &r), "op 5"),
            "");
  EXPECT_EQ(
      refused(plait_queue_push(q.queue, 1, &x, SIZE_MAX / 2, PLAIT_INT32, PLAIT_SUM, 0, &r), "overflows"),
      "");
  EXPECT_EQ(refused(plait_queue_trace(q.queue, nullptr), "path"), "");
  EXPECT_EQ(refused(plait_queue_flush(nullptr), "queue"), "");
  size_t length = 0;
  EXPECT_EQ(refused(plait_queue_explain(q.queue, nullptr, 5, &length), "text"), "");
  ASSERT_EQ(plait_queue_explain(q.queue, nullptr, 0, &length), PLAIT_OK);
  EXPECT_EQ(explain(q.queue).size(), length);
  plait_queue_config c = queue_config();
  plait_queue* other = nullptr;
  EXPECT_EQ(plait_queue_create(q.comm.comm, &c, nullptr), PLAIT_ERR_INVALID);
  c.timeout_ms = -1;
  EXPECT_EQ(refused(plait_queue_create(q.comm.comm, &c, &other), "timeout_ms"), "");
  c = queue_config();
  c.chunk_min = 2, c.chunk_max = 1;
  EXPECT_EQ(refused(plait_queue_create(q.comm.comm, &c, &other), "chunk_min"), "");
  c = queue_config();
  c.struct_size = 0;
  EXPECT_EQ(refused(plait_queue_create(q.comm.comm, &c, &other), "struct_size"), "");
  c = queue_config();
  c.algorithm = "no such";
  EXPECT_EQ(plait_queue_create(q.comm.comm, &c, &other), PLAIT_ERR_UNSUPPORTED);
  ASSERT_EQ(plait_queue_push(q.queue, 1, &x, 1, PLAIT_INT32, PLAIT_AVG, 0, &r), PLAIT_OK);
  EXPECT_EQ(plait_wait(r), PLAIT_OK);
  EXPECT_EQ(x, 3);
  EXPECT_EQ(plait_request_free(r), PLAIT_OK);
}

TEST(QueueArguments, OfTooManyKeysAreRefused) {
  plait_queue_config c = queue_config();
  c.max_keys = 3;
  QueueOf q(fresh_job(), 0, 1, c);
  ASSERT_EQ(q.error, "");
  int32_t x[4] = {};
  plait_status status = PLAIT_OK;
  for (uint64_t k = 0; k < 4 && status == PLAIT_OK; k++) {
    status = plait_queue_push(q.queue, k, &x[k], 1, PLAIT_INT32, PLAIT_SUM, 0, nullptr);
    if (status == PLAIT_OK) status = plait_queue_flush(q.queue);
  }
  EXPECT_EQ(came_to(status, PLAIT_ERR_INVALID, {"max_keys"}), "");
}

INSTANTIATE_TEST_SUITE_P(Driven, QueueFailures, testing::Values(false, true),
                         [](const auto& thread) { return thread.param ? "ByAThread" : "ByCalls"; });

}  // namespace
}  // namespace plait::test
