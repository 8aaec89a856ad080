// Chips of other processes in one window: whose a chip is, who died, and clocks that differ.
#include <sched.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>

#include "pods.h"

namespace plait::icl {
namespace {

const std::string kPod = "ring 2; memory=8M silent=";

// What an end tells its peer.
struct Card {
  unsigned char ticket[ICL_TICKET_BYTES], target[ICL_KEY_BYTES], words[ICL_KEY_BYTES];
};

Card card_of(const End& e) {
  Card card;
  std::memcpy(card.ticket, icl_ticket(e.queue), sizeof card.ticket);
  std::memcpy(card.target, icl_key(e.target_key), sizeof card.target);
  std::memcpy(card.words, icl_key(e.words_key), sizeof card.words);
  return card;
}

// Another process, which runs chip 1: `body` there, by its own clock, which may be `ahead` of ours.
class Child {
 public:
  template <typename Body>
  explicit Child(Body body, const char* ahead = nullptr) {
    EXPECT_EQ(pipe2(down_.data(), O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(up_.data(), O_CLOEXEC), 0);
    process_ = fork();
    drop(process_ == 0 ? down_[1] : down_[0]);
    drop(process_ == 0 ? up_[0] : up_[1]);
    if (process_ != 0) return;
    // A clock of one's own begins with one's children.
    if (ahead != nullptr && (!set_clock(ahead) || (process_ = fork()) != 0)) {
      int status = 0;
      if (process_ > 0) waitpid(process_, &status, 0);
      _exit(process_ > 0 ? WEXITSTATUS(status) : kCannot);
    }
    body(*this);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  ~Child() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
    for (int* fd : {&down_[0], &down_[1], &up_[0], &up_[1]}) drop(*fd);
  }
  Child(const Child&) = delete;
  pid_t process() const { return process_; }
  // Exchanges cards; in the child too. False: the other side ended.
  Card meet(const Card& mine, bool child) const {
    Card theirs{};
    say(&mine, sizeof mine, child);
    hear(&theirs, sizeof theirs, child);
    return theirs;
  }
  bool step(bool child) const {
    char x = 0;
    say(&x, 1, child);
    return hear(&x, 1, child);
  }
  int end() {
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  static constexpr int kCannot = 77;

 private:
  static void drop(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  static bool set_clock(const char* ahead) {
    if (unshare(CLONE_NEWTIME) != 0) return false;
    const int fd = ::open("/proc/self/timens_offsets", O_WRONLY);
    const bool set = write(fd, ahead, std::strlen(ahead)) == static_cast<ssize_t>(std::strlen(ahead));
    ::close(fd);
    return set;
  }
  void say(const void* what, size_t bytes, bool child) const {
    EXPECT_EQ(write((child ? up_ : down_)[1], what, bytes), static_cast<ssize_t>(bytes));
  }
  bool hear(void* what, size_t bytes, bool child) const {
    pollfd p = {(child ? down_ : up_)[0], POLLIN, 0};
    return poll(&p, 1, 60000) == 1 && read(p.fd, what, bytes) == static_cast<ssize_t>(bytes);
  }
  std::array<int, 2> down_{}, up_{};
  pid_t process_ = -1;
};

void meet(const Child& child, End& end, bool is_child) {
  const Card peer = child.meet(card_of(end), is_child);
  end.connect(peer.ticket, peer.target, peer.words);
  ASSERT_TRUE(child.step(is_child));
}

// The child's half of most tests: an end at chip 1, until the parent says.
void run_peer(const Pod& pod, const Child& child) {
  icl_device* d = nullptr;
  ICL_OK_(icl_open(pod.address("1").c_str(), nullptr, &d));
  End b;
  b.open(d, 1);
  meet(child, b, true);
  fill(b.from(), End::kBytes, 2);
  ASSERT_EQ(b.post(b.with_signal(b.write(End::kBytes, 0, 1), 0, 1)), 1u);
  EXPECT_EQ(b.next().status, ICL_OK) << b.why();
  child.step(true);
  b.close();
  EXPECT_EQ(icl_close(d), ICL_OK);
}

void exchange(const End& a) {
  fill(a.from(), End::kBytes, 1);
  for (int i = 0; i < 20; i++) {
    ASSERT_EQ(a.post(a.write(End::kBytes, 0, 7)), 1u);
    ASSERT_EQ(a.next().status, ICL_OK) << a.why();
  }
  ASSERT_TRUE(wait_for([&] { return a.word(0) == 1; })) << a.why();
  std::vector<unsigned char> theirs(End::kBytes);
  fill(theirs.data(), theirs.size(), 2);
  EXPECT_EQ(std::memcmp(theirs.data(), a.to(), theirs.size()), 0);
  ASSERT_EQ(a.post(a.read(End::kBytes, 0, 8)), 1u);
  ASSERT_EQ(a.next().status, ICL_OK) << a.why();
  fill(theirs.data(), theirs.size(), 1);
  EXPECT_EQ(std::memcmp(theirs.data(), a.from(), theirs.size()), 0);
}

bool ended(pid_t process) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid != 0;
}

icl_port_info port(icl_device* device) {
  icl_port_info info{};
  info.struct_size = sizeof info;
  EXPECT_EQ(icl_query_port(device, 0, 0, &info), ICL_OK);
  return info;
}

class Pciwin : public testing::Test {
 protected:
  void open(const std::string& silent, const char* ahead = nullptr) {
    pod_ = std::make_unique<Pod>(Driver::pciwin, kPod + silent);
    child_ = std::make_unique<Child>([&](const Child& self) { run_peer(*pod_, self); }, ahead);
    device_ = pod_->open("0");
    a_.open(device_, 0);
  }
  void TearDown() override {
    if (a_.ring != nullptr) a_.close();
    child_.reset();
    pod_.reset();
  }
  std::unique_ptr<Pod> pod_;
  std::unique_ptr<Child> child_;
  icl_device* device_ = nullptr;
  End a_;
};

TEST_F(Pciwin, TwoProcesses) {
  open("60s");
  meet(*child_, a_, false);
  exchange(a_);
  ASSERT_TRUE(child_->step(false));
  EXPECT_EQ(child_->end(), 0);
}

TEST_F(Pciwin, ClocksMayDiffer) {
  for (const char* ahead : {"monotonic 5000000 0", "monotonic 3 500000000", "monotonic 0 1000"}) {
    SCOPED_TRACE(ahead);
    open("60s", ahead);
    // Losses before a queue was connected are none of its business, by whatever clock.
    for (int i = 0; i < 3; i++) {
      // Trained anew since the last reset: counted first, looked at again then.
      const auto up = [&] {
        const auto downs = static_cast<uint64_t>(i);
        return port(device_).counters.downs == downs && port(device_).state == ICL_PORT_UP;
      };
      if (i == 0 && !wait_for([&] { return up() || ended(child_->process()); }))
        FAIL() << "the link is not up";
      if (i == 0 && !up()) {
        ASSERT_EQ(child_->end(), Child::kCannot);
        GTEST_SKIP() << "processes may not have clocks of their own here";
      }
      ASSERT_TRUE(wait_for(up));
      if (i == 2) break;
      ICL_OK_(icl_reset_link(device_, 0, 0));
    }
    meet(*child_, a_, false);
    exchange(a_);
    ASSERT_TRUE(child_->step(false));
    EXPECT_EQ(child_->end(), 0);
    TearDown();
  }
}

TEST_F(Pciwin, ADeathIsNamed) {
  open("400ms");
  meet(*child_, a_, false);
  exchange(a_);
  kill(child_->process(), SIGKILL);
  icl_completion c{};
  while (c.queue_failed == 0) c = a_.next();
  EXPECT_EQ(c.status, ICL_ERR_CHIP_DEAD);
  EXPECT_NE(a_.why().find("chip 1 "), std::string::npos) << a_.why();
  EXPECT_NE(a_.why().find("is its machine off"), std::string::npos) << a_.why();
  EXPECT_TRUE(wait_for([&] {
    icl_chip_info info{};
    info.struct_size = sizeof info;
    return icl_query_chip(device_, 1, &info) == ICL_OK && info.state == ICL_CHIP_DEAD;
  })) << "icl-info says so";
  // Who comes next has the chip.
  icl_device* next = nullptr;
  ICL_OK_(icl_open(pod_->address("1").c_str(), nullptr, &next));
  ICL_OK_(icl_close(next));
}

TEST_F(Pciwin, PodsAreToldApart) {
  const auto id = [](Pod& pod, const char* chips) {
    icl_device_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(icl_query_device(pod.open(chips), &info), ICL_OK);
    return info.pod;
  };
  Pod one(Driver::pciwin, kPod + "60s"), other(Driver::pciwin, kPod + "60s"), emu("ring 2" + kFast);
  const uint64_t pod = id(one, "0");
  EXPECT_EQ(id(one, "1"), pod);
  EXPECT_NE(id(other, "0"), pod);
  EXPECT_NE(id(emu, "0"), pod);
  EXPECT_NE(pod, 0u);
}

TEST_F(Pciwin, AChipIsOnesAlone) {
  Pod pod(Driver::pciwin, kPod + "400ms");
  icl_device *first = pod.open("0"), *second = nullptr;
  EXPECT_EQ(icl_open(pod.address("0-1").c_str(), nullptr, &second), ICL_ERR_BUSY);
  EXPECT_NE(std::string(icl_last_error()).find("chip 0"), std::string::npos) << icl_last_error();
  icl_device* other = pod.open("1");
  EXPECT_EQ(icl_open(pod.address("0").c_str(), nullptr, &second), ICL_ERR_BUSY);
  pod.close(first);
  ICL_OK_(icl_open(pod.address("0").c_str(), nullptr, &second));
  ICL_OK_(icl_close(second));
  pod.close(other);
}

// Who was stopped for long, and lost its chip meanwhile, says so and leaves the new owner alone.
TEST_F(Pciwin, AChipThatWasTakenIsLost) {
  Pod pod(Driver::pciwin, kPod + "400ms");
  Child child([&](const Child& self) {
    icl_device* d = nullptr;
    ICL_OK_(icl_open(pod.address("1").c_str(), nullptr, &d));
    End b;
    b.open(d, 1);
    self.step(true);
    EXPECT_EQ(b.next().status, ICL_ERR_CHIP_DEAD);
    EXPECT_NE(b.why().find("another took it"), std::string::npos) << b.why();
    b.close();
    EXPECT_EQ(icl_close(d), ICL_OK);
  });
  ASSERT_TRUE(child.step(false));
  kill(child.process(), SIGSTOP);
  pod.open("1");
  kill(child.process(), SIGCONT);
  EXPECT_EQ(child.end(), 0);
  icl_device* third = nullptr;
  EXPECT_EQ(icl_open(pod.address("1").c_str(), nullptr, &third), ICL_ERR_BUSY)
      << "the new owner has it still";
}

}  // namespace
}  // namespace plait::icl
