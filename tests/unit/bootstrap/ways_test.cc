// The other ways in: a unique id, the framework's allgather, names; and what can be wrong with them.
#include "bootstrap/unique_id.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>

#include "bootstrap/socket.h"
#include "rig.h"

namespace plait::bootstrap::test {
namespace {

std::string join_exchange_leave(const Membership& m) {
  auto [group, status] = join(m);
  if (!group) return std::string(status.text());
  if (std::string wrong = exchange(*group); !wrong.empty()) return wrong;
  return leave(*group);
}

TEST(UniqueIds, BringRanksTogetherWhoeverComesFirst) {
  auto id = make_unique_id("", 0, 0);
  ASSERT_TRUE(id.ok()) << id.status().text();
  for (uint32_t epoch = 0; epoch < 3; epoch++) {
    run_ranks(10, [&](int rank) -> std::string {
      auto m = membership_of(*id, rank, 10);
      if (!m.ok()) return std::string(m.status().text());
      m->epoch = epoch;
      if (rank == 0) usleep(50'000);  // its listener has been there since the id was made
      return join_exchange_leave(*m);
    });
  }
}

TEST(UniqueIds, SeveralAtOnceInOneProcess) {
  std::vector<UniqueId> ids;
  for (int i = 0; i < 3; i++) ids.push_back(make_unique_id("lo", 0, 0).value());
  run_ranks(9,
            [&](int i) { return join_exchange_leave(membership_of(ids[size_t(i % 3)], i / 3, 3).value()); });
}

TEST(UniqueIds, PortsAndInterfacesAreObeyed) {
  const uint16_t port = free_port();
  auto id = make_unique_id("127.0.0.1", port, port);
  ASSERT_TRUE(id.ok()) << id.status().text();
  EXPECT_EQ(membership_of(*id, 0, 1)->root, "127.0.0.1:" + std::to_string(port));
  auto taken = make_unique_id("127.0.0.1", port, port);
  ASSERT_FALSE(taken.ok());
  EXPECT_NE(taken.status().text().find("PLAIT_PORTS"), std::string::npos) << taken.status().text();
  EXPECT_EQ(make_unique_id("no-such-interface", 0, 0).status().code(), Code::invalid);
  EXPECT_EQ(make_unique_id("", 5, 4).status().code(), Code::invalid);
}

TEST(UniqueIds, DamagedOnesAreRefused) {
  const UniqueId id = make_unique_id("lo", 0, 0).value();
  for (size_t bit = 0; bit < sizeof id * 8; bit++) {
    UniqueId changed = id;
    changed[bit / 8] ^= std::byte(1 << (bit % 8));
    auto m = membership_of(changed, 0, 2);
    ASSERT_FALSE(m.ok()) << "bit " << bit;
    EXPECT_EQ(m.status().code(), Code::invalid);
  }
  EXPECT_FALSE(membership_of(UniqueId{}, 0, 2).ok());
}

TEST(UniqueIds, MustBeMadeByRankZero) {
  const UniqueId id = make_unique_id("lo", 0, 0).value();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto [group, status] = join(membership_of(id, 0, 2).value(), 1'000);
    _exit(status.text().find("process that becomes rank 0 must make") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// A framework's allgather among threads.
class Blackboard {
 public:
  explicit Blackboard(int size) : size_(size) {}
  Status allgather(int rank, const void* mine, void* all, size_t bytes) {
    std::unique_lock lock(mutex_);
    board_.resize(size_t(size_) * bytes);
    std::memcpy(board_.data() + size_t(rank) * bytes, mine, bytes);
    written_++;
    changed_.notify_all();
    changed_.wait(lock, [&] { return written_ == size_; });
    std::memcpy(all, board_.data(), board_.size());
    return {};
  }
  AllgatherCallback callback(int rank) {
    return
        [this, rank](const void* mine, void* all, size_t bytes) { return allgather(rank, mine, all, bytes); };
  }

 private:
  const int size_;
  int written_ = 0;
  Bytes board_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

TEST(Callback, NeedsNoAddressAndNoSecret) {
  for (int size : {1, 2, 9, 30}) {
    for (bool secret : {false, true}) {
      Blackboard board(size);
      run_ranks(size, [&](int rank) -> std::string {
        Membership m = member(fresh_job(), rank, size);
        m.job = "callback";
        m.allgather = board.callback(rank);
        if (secret) m.secret = secret_of("a secret of their own");
        return join_exchange_leave(m);
      });
    }
  }
}

TEST(Callback, WhatContradictsIsNamed) {
  Blackboard board(3);
  run_ranks(3, [&](int rank) -> std::string {
    Membership m = member("callback", rank, 3);
    m.allgather = board.callback(rank);
    if (rank == 1) m.secret = secret_of("a secret of their own");
    auto [group, status] = join(m);
    if (group || status.code() != Code::auth) return "joined";
    return status.text().find("rank 1 has a secret file") != std::string::npos ? ""
                                                                               : std::string(status.text());
  });
  Membership m = member("callback", 0, 2);
  m.allgather = [](const void*, void*, size_t) { return Status(Code::peer, "the framework's word"); };
  EXPECT_EQ(join(m).status.text(), "the framework's word");
  m.allgather = [](const void* mine, void* all, size_t bytes) {  // the same card twice
    std::memcpy(all, mine, bytes);
    std::memcpy(static_cast<std::byte*>(all) + bytes, mine, bytes);
    return Status();
  };
  EXPECT_NE(join(m).status.text().find("what came for rank 1 is of rank 0"), std::string::npos);
}

TEST(Callback, ARankThatDoesNotComeIsNamed) {
  Blackboard board(20);
  run_ranks(20, [&](int rank) -> std::string {
    Membership m = member("callback", rank, 20);
    m.allgather = board.callback(rank);
    if (rank == 1) {  // the parent of ranks 9 to 16
      Bytes all(20 * 544);
      auto take = m.allgather;
      m.allgather = [&](const void* mine, void* to, size_t bytes) {
        (void)take(mine, to, bytes);
        return Status(Code::aborted, "gone");
      };
      join(m);
      return {};
    }
    auto [group, status] = join(m, 1'500);
    if (group) return "joined without rank 1";
    if (rank >= 9 && rank <= 16) return {};  // rank 1 is whom they miss
    return status.text().find("rank 1 did not come") != std::string::npos ? "" : std::string(status.text());
  });
}

TEST(Names, AreResolvedAndListsTried) {
  const std::string job = fresh_job(), port = std::to_string(free_port());
  run_ranks(5, [&](int rank) {
    return join_exchange_leave(
        member(job, rank, 5, rank == 0 ? "localhost:" + port : "[::1]:" + port + ",localhost:" + port));
  });
}

TEST(Names, ThatAreUnknownAreNamedAtTheDeadline) {
  auto [group, status] = join(member(fresh_job(), 1, 2, "no-such-host.invalid:2000"), 1'000);
  EXPECT_EQ(group, nullptr);
  EXPECT_NE(status.text().find("no-such-host.invalid"), std::string::npos) << status.text();
}

TEST(Network, ASecretOrInsecureIsNeeded) {
  Membership m = member(fresh_job(), 1, 2, "127.0.0.1:2000");
  m.secret = nullptr;
  const Status status = join(m).status;
  EXPECT_EQ(status.code(), Code::auth);
  EXPECT_NE(status.text().find("PLAIT_SECRET_FILE"), std::string::npos);
  const std::string root = loopback_root();
  const std::string job = fresh_job();
  run_ranks(3, [&](int rank) {
    Membership open = member(job, rank, 3, root);
    open.secret = nullptr;
    open.insecure = true;
    return join_exchange_leave(open);
  });
}

TEST(Network, OwnPortsAreInTheirRange) {
  const std::string job = fresh_job(), root = loopback_root();
  run_ranks(4, [&](int rank) -> std::string {
    Membership m = member(job, rank, 4, root);
    m.port_min = 31'000;
    m.port_max = 31'063;
    auto [group, status] = join(m);
    if (!group) return std::string(status.text());
    for (int r = 0; r < 4; r++) {
      const uint16_t port = group->contact(r).addresses.front().port;
      if (port < m.port_min || port > m.port_max) return "port " + std::to_string(port);
    }
    return leave(*group);
  });
}

TEST(Network, AWrongInterfaceIsNamed) {
  Membership m = member(fresh_job(), 1, 2, "127.0.0.1:2000");
  m.interfaces = "ib7";
  EXPECT_NE(join(m).status.text().find("\"ib7\""), std::string::npos);
}

TEST(Memberships, ThatMakeNoSenseAreRefused) {
  auto refused = [](auto change) {
    Membership m = member("job", 0, 2);
    m.secret = secret_of("a secret that nobody asks for");
    change(m);
    return join(m, 1'000).status.code() == Code::invalid;
  };
  EXPECT_TRUE(refused([](Membership& m) { m.rank = 2; }));
  EXPECT_TRUE(refused([](Membership& m) { m.rank = -1; }));
  EXPECT_TRUE(refused([](Membership& m) { m.size = 0; }));
  EXPECT_TRUE(refused([](Membership& m) { m.size = 1 << 21; }));
  EXPECT_TRUE(refused([](Membership& m) { m.job = ""; }));
  EXPECT_TRUE(refused([](Membership& m) { m.job = std::string(201, 'j'); }));
  EXPECT_TRUE(refused([](Membership& m) { m.port_min = 5; }));
  EXPECT_TRUE(refused([](Membership& m) { m.root = "nonsense"; }));
}

TEST(Descriptors, NoneLeftIsAnErrorAndNotAHang) {
  const std::string root = loopback_root();
  for (const std::string& where : {std::string(), root}) {
    for (int spare = 0; spare < 8; spare++) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        const int next = dup(0);
        rlimit few{rlim_t(next + spare), rlim_t(next + spare)};
        setrlimit(RLIMIT_NOFILE, &few);
        auto [group, status] = join(member("few", 1, 2, where), 1'000);
        _exit(group ? 1 : status.code() == Code::system || status.code() == Code::timeout ? 0 : 2);
      }
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0) << spare << " descriptors";
    }
  }
}

TEST(Size, OneNeedsNothing) {
  Membership m;
  EXPECT_EQ(join_exchange_leave(m), "");
}

}  // namespace
}  // namespace plait::bootstrap::test
