// Sends and receives that fail: what does not fit, deadlines, aborts, ranks that leave or are killed.
#include "runtime/messages.h"

namespace plait::test {
namespace {

// Both ranks learn it, whoever finds it out, and it names sizes and ranks.
TEST(Failures, MessagesLongerThanTheirReceive) {
  struct Case {
    size_t sent, room;
  };
  for (const Case& k : {Case{100, 50}, Case{300'000, 200'000}}) {
    ranks(
        2,
        [&](Comm& c, int rank) -> std::string {
          Memory m(k.sent, true);
          plait_status status = rank == 0 ? send(c.comm, m, k.sent, 1, 4) : receive(c.comm, m, k.room, 0, 4);
          // A short message leaves before anybody knows: its sender learns of it later.
          if (rank == 0 && status == PLAIT_OK) status = receive(c.comm, m, 1, 1, 5);
          const std::string sent = std::to_string(k.sent) + " bytes",
                            room = std::to_string(k.room) + " bytes";
          return expect(status, PLAIT_ERR_MISMATCH, c.last(), {sent.c_str(), room.c_str(), "tag 4"});
        },
        20'000);
  }
}

TEST(Failures, DeadlinesNameRankTagAndPhase) {
  ranks(
      2,
      [](Comm& c, int rank) -> std::string {
        Memory m(100'000, false);
        if (rank == 1) {  // it is there, and does other things
          const plait_status status = plait_barrier(c.comm, nullptr, nullptr);
          return expect(status, PLAIT_ERR_TIMEOUT, c.last(), {"rank 0"});
        }
        plait_call_config config{};
        config.struct_size = sizeof config;
        config.timeout_ms = 300;
        const plait_status status =
            plait_recv(c.comm, m.data(), 100'000, PLAIT_UINT8, 1, 6, &config, nullptr);
        return expect(status, PLAIT_ERR_TIMEOUT, c.last(),
                      {"plait_recv of 100000 bytes from rank 1 with tag 6", "rank 1 ("});
      },
      20'000);
}

TEST(Failures, AbortEndsMessages) {
  ranks(2, [](Comm& c, int rank) -> std::string {
    Memory m(100, false);
    if (rank == 1) {
      OK(receive(c.comm, m, 100, 0, 2));  // rank 0 waits for no more than what follows
      OK(plait_comm_abort(c.comm));
      const plait_status status = receive(c.comm, m, 100, 0, 1);
      return expect(status, PLAIT_ERR_ABORTED, c.last(), {"rank 1"});
    }
    OK(send(c.comm, m, 100, 1, 2));
    const plait_status status = receive(c.comm, m, 100, 1, 1);
    return expect(status, PLAIT_ERR_ABORTED, c.last(), {"rank 1 aborted", "tag 1"});
  });
}

// A rank that leaves does not send what others wait for.
TEST(Failures, ARankThatDestroysItsCommunicatorIsNamed) {
  ranks(2, [](Comm& c, int rank) -> std::string {
    Memory m(100, false);
    OK(plait_barrier(c.comm, nullptr, nullptr));
    if (rank == 0) {
      OK(send(c.comm, m, 50, 1, 1));
      return {};
    }
    OK(receive(c.comm, m, 100, 0, 1));
    const plait_status status = receive(c.comm, m, 100, 0, 2);
    return expect(status, PLAIT_ERR_PEER, c.last(), {"rank 0", "tag 2"});
  });
}

// The errors of a group come at its end, and name what failed.
TEST(Failures, GroupsSayWhatFailed) {
  ranks(2, [](Comm& c, int rank) -> std::string {
    Memory a(1000, false), b(1000, false);
    if (rank == 1) {
      OK(plait_barrier(c.comm, nullptr, nullptr));
      OK(plait_comm_abort(c.comm));
      return {};
    }
    OK(plait_group_begin());
    OK(receive(c.comm, a, 1000, 1, 1));
    OK(receive(c.comm, b, 1000, 1, 2));
    OK(plait_barrier(c.comm, nullptr, nullptr));
    const plait_status status = plait_group_end();
    return expect(status, PLAIT_ERR_ABORTED, c.last(), {"rank 1"});
  });
}

// Processes, one of which is killed while the others wait for it and send to it.
void kill_one(size_t bytes) {
  const std::string job = fresh_job();
  std::vector<Process> all;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  auto body = [=](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    if (c.status != PLAIT_OK) return c.error;
    Memory m(bytes, true);
    OK(plait_barrier(c.comm, nullptr, nullptr));
    if (rank == 1) {
      OK(send(c.comm, m, 8, 0, 1));
      if (write(ready[1], "x", 1) != 1) return "the pipe is gone";
      for (;;) pause();
    }
    if (rank == 0) OK(receive(c.comm, m, 8, 1, 1));
    if (write(ready[1], "x", 1) != 1) return "the pipe is gone";
    const plait_status status = rank == 0 ? receive(c.comm, m, bytes, 1, 2) : send(c.comm, m, bytes, 1, 3);
    return expect(status, PLAIT_ERR_PEER, c.last(),
                  {"rank 1", rank == 0 ? "from rank 1 with tag 2" : "to rank 1 with tag 3"});
  };
  for (int r = 0; r < 3; r++) all.push_back(fork_ranks(r, 1, 3, body));
  char x;
  for (int r = 0; r < 3; r++) ASSERT_EQ(read(ready[0], &x, 1), 1);
  usleep(200'000);
  kill(all[1].pid, SIGKILL);
  std::string words;
  for (int r = 0; r < 3; r++) {
    const std::string w = join(all[size_t(r)], r == 1);
    if (r != 1) words += w;
  }
  close(ready[0]);
  close(ready[1]);
  EXPECT_EQ(words, "");
}

TEST(Killed, WhoWaitsForTheDeadRankLearnsOfIt) { kill_one(1'000'000); }

}  // namespace
}  // namespace plait::test
