// Strangers at rank 0's door, and that the job goes on.
#include <sys/resource.h>

#include <algorithm>
#include <mutex>

#include "base/log.h"
#include "stranger.h"

namespace plait::bootstrap::test {
namespace {

// What was logged at warning.
class Lines {
 public:
  Lines() {
    log::set_sink([this](log::Level level, std::string_view line) {
      const std::lock_guard lock(mutex_);
      if (level >= log::Level::warn) lines_.emplace_back(line);
    });
  }
  ~Lines() { log::set_sink(nullptr); }
  size_t count(std::string_view part) const {
    const std::lock_guard lock(mutex_);
    return size_t(
        std::count_if(lines_.begin(), lines_.end(), [&](auto& l) { return l.find(part) != l.npos; }));
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

// A job of three ranks, of which the last comes only when `attack` has ended: meanwhile rank 0 listens.
class Attack : public testing::Test {
 protected:
  using Body = std::function<void()>;
  void under(const Body& attack) {
    std::thread attacker;
    run_ranks(3, [&](int rank) -> std::string {
      if (rank == 2) attack();
      auto [group, status] = join(member(job_, rank, 3, root_), 30'000);
      if (!group) return std::string(status.text());
      if (std::string wrong = exchange(*group); !wrong.empty()) return wrong;
      return leave(*group);
    });
  }
  Bytes greeting(const Fd& fd) { return receive_all(fd, Handshake::kGreeting); }
  Trusted ours() { return {Trust::secret, member(job_, 0, 3, root_).secret}; }
  Claim claim(int32_t dialer, int32_t listener) {
    Claim c;
    c.job = sha256(bytes_of_text(job_));
    c.dialer = dialer;
    c.listener = listener;
    c.purpose = uint32_t(Purpose::tree);
    return c;
  }

  const std::string job_ = fresh_job(), root_ = loopback_root();
  const Place door_ = place_of(root_);
  Lines lines_;
};

TEST_F(Attack, Garbage) {
  under([&] {
    for (int i = 0; i < 20; i++) {
      Fd fd = dial(door_);
      ASSERT_TRUE(fd);
      send_all(fd, bytes_of_text("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
      EXPECT_TRUE(was_closed(fd, 4'000));
    }
  });
  EXPECT_EQ(lines_.count("refused 127.0.0.1"), 1u);  // once, with the address
  EXPECT_EQ(lines_.count("another program"), 1u);
}

TEST_F(Attack, WrongSecretAndNoSecret) {
  under([&] {
    for (bool insecure : {false, true}) {
      Membership m = member(job_, 2, 3, root_);
      m.secret = insecure ? nullptr : secret_of("not the secret of the job");
      m.insecure = insecure;
      auto [group, status] = join(m, 10'000);
      EXPECT_EQ(group, nullptr);
      EXPECT_EQ(status.code(), Code::auth) << status.text();
      EXPECT_NE(status.text().find("PLAIT_SECRET_FILE"), std::string::npos) << status.text();
      EXPECT_NE(status.text().find(root_), std::string::npos) << status.text();
    }
  });
}

TEST_F(Attack, ReplayedHandshake) {
  under([&] {
    // A true handshake of "rank 2", whose bytes somebody recorded.
    Handshake rank = Handshake::dialer(ours(), claim(2, 0));
    Fd first = dial(door_);
    ASSERT_TRUE(first);
    rank.feed(greeting(first));
    const Bytes proposal = rank.output();
    ASSERT_TRUE(send_all(first, proposal));
    rank.feed(receive_all(first, Handshake::kVerdict));
    EXPECT_EQ(rank.state(), Handshake::State::done) << rank.status().text();
    first.reset();
    Fd again = dial(door_);
    ASSERT_TRUE(again);
    greeting(again);
    ASSERT_TRUE(send_all(again, proposal));
    const Bytes verdict = receive_all(again, Handshake::kVerdict);
    ASSERT_EQ(verdict.size(), Handshake::kVerdict);
    EXPECT_EQ(verdict[0], std::byte(1));  // refused
    EXPECT_TRUE(was_closed(again, 4'000));
  });
}

TEST_F(Attack, SlowLoris) {
  under([&] {
    std::vector<Fd> slow;
    for (int i = 0; i < 20; i++) {
      slow.push_back(dial(door_));
      ASSERT_TRUE(slow.back());
    }
    for (int ms = 0; ms < 1'000; ms += 100) {
      for (const Fd& fd : slow)
        send_all(fd, bytes_of_text(std::string_view("PLAITbs\n\1\0\0", 11).substr(size_t(ms) / 100, 1)));
      usleep(100'000);
    }
    // A rank gets through beside them; they are cut off after kPatience.
    for (const Fd& fd : slow) EXPECT_TRUE(was_closed(fd, 10'000));
  });
}

TEST_F(Attack, ALengthBeyondAllBounds) {
  under([&] {
    Handshake rank = Handshake::dialer(ours(), claim(2, 0));
    Fd fd = dial(door_);
    ASSERT_TRUE(fd);
    rank.feed(greeting(fd));
    ASSERT_TRUE(send_all(fd, rank.output()));
    rank.feed(receive_all(fd, Handshake::kVerdict));
    ASSERT_EQ(rank.state(), Handshake::State::done);
    Bytes length;
    append(length, uint32_t(0xffffffff));
    ASSERT_TRUE(send_all(fd, length));
    EXPECT_TRUE(was_closed(fd, 4'000));
  });
}

TEST_F(Attack, TenThousandConnections) {
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  // Each needs a descriptor here and one at rank 0, which is in this process, too.
  const size_t count = std::min<size_t>(10'000, size_t(files.rlim_cur) / 2);
  std::vector<Fd> crowd;
  under([&] {
    for (size_t i = 0; i < count; i++) {
      Fd fd = start_connect(door_, {});
      if (fd) crowd.push_back(std::move(fd));
    }
  });
  printf("%zu connections at once\n", crowd.size());
  EXPECT_EQ(lines_.count("refused 127.0.0.1"), 1u);
}

TEST_F(Attack, SecondRank) {
  under([&] {
    usleep(200'000);  // rank 1 has come
    auto [group, status] = join(member(job_, 1, 3, root_), 10'000);
    EXPECT_EQ(group, nullptr);
    EXPECT_EQ(status.code(), Code::mismatch);
    EXPECT_NE(status.text().find("rank 1 came twice"), std::string::npos) << status.text();
    EXPECT_NE(status.text().find("two processes"), std::string::npos);
    auto [root, taken] = join(member(job_, 0, 3, root_), 1'000);
    EXPECT_EQ(root, nullptr);
    EXPECT_NE(taken.text().find("second rank 0"), std::string::npos) << taken.text();
  });
}

TEST_F(Attack, AnotherJobAndAnotherSizeAtOurPort) {
  under([&] {
    auto [group, status] = join(member(job_ + "x", 2, 3, root_), 1'000);
    EXPECT_EQ(group, nullptr);
    EXPECT_NE(status.text().find("of job \"" + job_ + "\""), std::string::npos) << status.text();
    Membership later = member(job_, 2, 3, root_);
    later.epoch = 7;
    auto [other, epoch] = join(later, 1'000);
    EXPECT_EQ(other, nullptr);
    EXPECT_NE(epoch.text().find("communicator 0, not 7"), std::string::npos) << epoch.text();
    auto [third, size] = join(member(job_, 2, 4, root_), 10'000);
    EXPECT_EQ(third, nullptr);
    EXPECT_EQ(size.code(), Code::mismatch);
    EXPECT_NE(size.text().find("4 ranks"), std::string::npos) << size.text();
  });
}

// Strangers also come when all have met: the own listeners stay open for meetings.
TEST_F(Attack, GarbageAfterwards) {
  run_ranks(3, [&](int rank) -> std::string {
    auto [group, status] = join(member(job_, rank, 3, root_));
    if (!group) return std::string(status.text());
    Fd fd = dial(place_of(to_string(group->contact(rank).addresses.front())));
    if (!send_all(fd, bytes_of_text("nonsense"))) return "not sent";
    if (!poll_until(*group, [&] { return was_closed(fd, 1); })) return "not closed";
    if (std::string wrong = exchange(*group); !wrong.empty()) return wrong;
    return leave(*group);
  });
}

// Somebody on the path records everything, and finds no secret; what was recorded is of no use.
TEST_F(Attack, ARecordingHoldsNoSecretAndCannotBeReplayed) {
  Recorder recorder(door_);
  const SecretPtr secret = member(job_, 0, 3, root_).secret;
  run_ranks(3, [&](int rank) -> std::string {
    Membership m = member(job_, rank, 3, rank == 2 ? recorder.root() : root_);
    auto [group, status] = join(m);
    if (!group) return std::string(status.text());
    if (std::string wrong = exchange(*group); !wrong.empty()) return wrong;
    return leave(*group);
  });
  const Bytes all = recorder.all();
  ASSERT_GT(all.size(), Handshake::kGreeting + Handshake::kProposal);
  const ByteView bytes = secret->bytes();
  for (size_t at = 0; at + 8 <= bytes.size(); at++) {
    const ByteView part = bytes.subspan(at, 8);
    EXPECT_EQ(std::search(all.begin(), all.end(), part.begin(), part.end()), all.end()) << "at " << at;
  }
  const Key key = ours().key();
  EXPECT_EQ(std::search(all.begin(), all.end(), key.bytes.begin(), key.bytes.end()), all.end());
  under([&] {
    for (const Bytes& said : recorder.dialed()) {
      Fd fd = dial(door_);
      ASSERT_TRUE(fd);
      ASSERT_TRUE(send_all(fd, said));
      EXPECT_TRUE(was_closed(fd, 4'000));
    }
  });
}

}  // namespace
}  // namespace plait::bootstrap::test
