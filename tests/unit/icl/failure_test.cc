// What ends, ends: keys, queues, links, chips; and whoever talked to them learns which, by name.
#include <sys/wait.h>
#include <csignal>
#include <cstring>

#include "pods.h"

namespace plait::icl {
namespace {

// Ends at two chips of a pod, each chip a device of its own.
struct Pair {
  explicit Pair(const std::string& text, uint32_t chips, uint32_t from, uint32_t to, uint32_t timeout_ms = 0)
      : pod(text + (text.find(';') == std::string::npos ? kFast : "")) {
    for (uint32_t c = 0; c < chips; c++) devices.push_back(pod.open(std::to_string(c)));
    a.open(devices[from], from, 64, timeout_ms);
    b.open(devices[to], to, 64, timeout_ms);
    connect(a, b);
  }
  ~Pair() {
    if (a.ring != nullptr) a.close();
    if (b.ring != nullptr) b.close();
  }
  Pod pod;
  std::vector<icl_device*> devices;
  End a, b;
};

// Everything posted comes back, then the queue's own failure: its status.
icl_status failure(const End& e) {
  for (;;) {
    const icl_completion c = e.next();
    if (c.queue_failed != 0 || c.cookie == 0) return c.status;
  }
}

// Whatever was posted may have been done before what the test did: this one is not.
void post_late(const End& e) {
  size_t taken = 0;
  const icl_descriptor d = e.write(8, 0, 99);
  const icl_status status = icl_post(e.queue, &d, 1, &taken);
  EXPECT_TRUE(taken == 1 || status == ICL_ERR_STATE) << icl_last_error();
}

bool says(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

TEST(Failure, ARevokedKeyLandsNothing) {
  for (int round = 0; round < 20; round++) {
    Pair p("ring 2", 2, 0, 1);
    fill(p.a.from(), End::kBytes, 5);
    for (uint64_t i = 1; i <= 8; i++) ASSERT_EQ(p.a.post(p.a.write(End::kBytes, 0, i)), 1u);
    usleep(static_cast<useconds_t>(round) * 50);
    icl_revoke(p.b.target_key);
    std::memset(p.b.to(), 0, End::kBytes);  // ours again
    post_late(p.a);
    EXPECT_EQ(failure(p.a), ICL_ERR_DENIED);
    EXPECT_TRUE(says(p.a.why(), "chip 1")) << p.a.why();
    for (size_t i = 0; i < End::kBytes; i++) ASSERT_EQ(p.b.to()[i], 0);
    ICL_OK_(icl_export(p.b.target, 0, 8, 0, &p.b.target_key));
  }
}

TEST(Failure, CloseIsFinal) {
  for (int round = 0; round < 20; round++) {
    Pair p("mesh 1x3", 3, 0, 2);
    fill(p.a.from(), End::kBytes, 5);
    for (uint64_t i = 1; i <= 8; i++)
      ASSERT_EQ(p.a.post(p.a.with_signal(p.a.write(End::kBytes, 0, i), 0, 1)), 1u);
    usleep(static_cast<useconds_t>(round) * 50);
    p.b.close_queue();
    const uint64_t word = p.b.word(0);
    std::memset(p.b.to(), 0, End::kBytes);
    post_late(p.a);
    EXPECT_EQ(failure(p.a), ICL_ERR_REFUSED);
    EXPECT_EQ(p.b.word(0), word);
    for (size_t i = 0; i < End::kBytes; i++) ASSERT_EQ(p.b.to()[i], 0);
  }
}

TEST(Failure, ClosingGivesEveryCookieBack) {
  Pair p("ring 2", 2, 0, 1);
  for (uint64_t i = 1; i <= 10; i++) ASSERT_EQ(p.a.post(p.a.write(End::kBytes, 0, i)), 1u);
  p.a.close_queue();
  for (uint64_t i = 1; i <= 10; i++) {
    const icl_completion c = p.a.next();
    EXPECT_EQ(c.cookie, i);
    EXPECT_TRUE(c.status == ICL_OK || c.status == ICL_ERR_FLUSHED) << icl_status_name(c.status);
    EXPECT_EQ(c.queue_failed, 0u);
  }
}

TEST(Failure, AbortFailsOnceAndFlushesTheRest) {
  Pair p("ring 2", 2, 0, 1);
  for (uint64_t i = 1; i <= 30; i++) ASSERT_EQ(p.a.post(p.a.write(End::kBytes, 0, i)), 1u);
  icl_abort(p.a.queue);
  icl_abort(p.a.queue);
  int aborted = 0;
  for (uint64_t i = 1; i <= 30; i++) {
    const icl_completion c = p.a.next();
    EXPECT_EQ(c.cookie, i);
    aborted += c.status == ICL_ERR_ABORTED;
  }
  EXPECT_LE(aborted, 1);
  const icl_completion last = p.a.next();
  EXPECT_EQ(last.queue_failed, 1u);
  EXPECT_EQ(last.cookie, 1000u);
  EXPECT_EQ(last.status, ICL_ERR_ABORTED);
  size_t taken;
  const icl_descriptor d = p.a.write(8, 0, 1);
  EXPECT_EQ(icl_post(p.a.queue, &d, 1, &taken), ICL_ERR_STATE);
}

TEST(Failure, AQueueThatIsNotConnectedRefuses) {
  Pod pod("ring 2" + kFast);
  icl_device* d = pod.open("0-1");
  End a, b, c;
  a.open(d, 0);
  b.open(d, 1);
  c.open(d, 1);
  connect(a, b);
  c.connect(icl_ticket(a.queue), icl_key(a.target_key), icl_key(a.words_key));  // a does not know of it
  ASSERT_EQ(c.post(c.write(8, 0, 1)), 1u);
  EXPECT_EQ(failure(c), ICL_ERR_REFUSED);
  ASSERT_EQ(a.post(a.write(8, 0, 1)), 1u);
  EXPECT_EQ(a.next().status, ICL_OK);
  for (End* e : {&a, &b, &c}) e->close();
}

TEST(Failure, ForgedKeysAreDenied) {
  Pair p("ring 2", 2, 0, 1);
  unsigned char key[ICL_KEY_BYTES];
  std::memcpy(key, icl_key(p.b.target_key), sizeof key);
  key[24] ^= 1;  // its nonce
  icl_remote* forged = nullptr;
  ICL_OK_(icl_import(p.a.queue, key, &forged));
  icl_descriptor d = p.a.write(8, 0, 1);
  d.remote = forged;
  ASSERT_EQ(p.a.post(d), 1u);
  EXPECT_EQ(failure(p.a), ICL_ERR_DENIED);
  EXPECT_EQ(p.b.to()[0], 0);
}

TEST(Failure, ResetOfAChip) {
  Pair p("ring 3", 3, 0, 1);
  ASSERT_EQ(p.a.post(p.a.write(8, 0, 1)), 1u);
  ASSERT_EQ(p.a.next().status, ICL_OK);
  ICL_OK_(icl_reset_chip(p.b.device, 1));
  EXPECT_EQ(failure(p.b), ICL_ERR_CHIP_RESET);
  const icl_status status = failure(p.a);
  EXPECT_TRUE(status == ICL_ERR_CHIP_RESET || status == ICL_ERR_LINK_DOWN) << icl_status_name(status);
  EXPECT_TRUE(says(p.a.why(), "chip 1")) << p.a.why();
}

TEST(Failure, ResetOfALinkFailsWhatRunsOverIt) {
  Pair p("ring 4", 4, 0, 1);
  End c, d;
  c.open(p.devices[2], 2);
  d.open(p.devices[3], 3);
  connect(c, d);
  ASSERT_EQ(p.a.post(p.a.write(8, 0, 1)), 1u);
  ASSERT_EQ(p.a.next().status, ICL_OK);
  ICL_OK_(icl_reset_link(p.devices[0], 0, 0));
  EXPECT_EQ(failure(p.a), ICL_ERR_LINK_DOWN);
  EXPECT_TRUE(says(p.a.why(), "chip 0 port 0 to chip 1 port 1") ||
              says(p.a.why(), "chip 1 port 1 to chip 0 port 0"))
      << p.a.why();
  ASSERT_EQ(c.post(c.write(8, 0, 1)), 1u);
  EXPECT_EQ(c.next().status, ICL_OK) << "another link";
  // New queues run over the link that is up again.
  p.a.close();
  p.b.close();
  p.a.open(p.devices[0], 0);
  p.b.open(p.devices[1], 1);
  connect(p.a, p.b);
  ASSERT_EQ(p.a.post(p.a.write(8, 0, 1)), 1u);
  EXPECT_EQ(p.a.next().status, ICL_OK) << p.a.why();
  c.close();
  d.close();
}

TEST(Failure, ADeadChipIsNamedByWhoTalksToItAndThroughIt) {
  Pair p("mesh 1x3", 3, 0, 2);
  End c, d;
  c.open(p.devices[0], 0);
  d.open(p.devices[1], 1);
  connect(c, d);
  p.pod.fault("chip 1 dead");
  EXPECT_EQ(failure(p.a), ICL_ERR_CHIP_DEAD);
  EXPECT_TRUE(says(p.a.why(), "to chip 2: chip 1 is dead")) << p.a.why();
  EXPECT_EQ(failure(c), ICL_ERR_CHIP_DEAD);
  EXPECT_TRUE(says(c.why(), "to chip 1: chip 1 is dead")) << c.why();
  EXPECT_EQ(failure(d), ICL_ERR_CHIP_DEAD);
  EXPECT_TRUE(says(d.why(), "of this process")) << d.why();
  c.close();
  d.close();
}

TEST(Failure, AKilledProcessIsADeadChip) {
  Pod pod("ring 2" + kFast);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    icl_device* d = nullptr;
    End e;
    const char ok = icl_open(pod.address("1").c_str(), nullptr, &d) == ICL_OK;
    if (ok != 0) e.open(d, 1);
    (void)!write(ready[1], icl_ticket(e.queue), ICL_TICKET_BYTES);
    pause();
    _exit(0);
  }
  unsigned char ticket[ICL_TICKET_BYTES];
  ASSERT_EQ(read(ready[0], ticket, sizeof ticket), static_cast<ssize_t>(sizeof ticket));
  icl_device* d = pod.open("0");
  End a;
  a.open(d, 0);
  ICL_OK_(icl_connect(a.queue, ticket));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(failure(a), ICL_ERR_CHIP_DEAD);
  EXPECT_TRUE(says(a.why(), "chip 1 is dead") && says(a.why(), std::to_string(child))) << a.why();
  // Its chip can be had again, and its links come up.
  icl_device* again = pod.open("1");
  a.close();
  a.open(d, 0);
  End b;
  b.open(again, 1);
  connect(a, b);
  ASSERT_EQ(a.post(a.write(5000, 0, 1)), 1u);
  EXPECT_EQ(a.next().status, ICL_OK) << a.why();
  a.close();
  b.close();
  close(ready[0]);
  close(ready[1]);
}

TEST(Failure, AStuckDoorbellIsNamed) {
  Pair p("ring 2", 2, 0, 1, 300);
  p.pod.fault("chip 0 stuck");
  ASSERT_EQ(p.a.post(p.a.write(8, 0, 1)), 1u);
  EXPECT_EQ(failure(p.a), ICL_ERR_TIMEOUT);
  EXPECT_TRUE(says(p.a.why(), "doorbell of chip 0")) << p.a.why();
}

TEST(Failure, ANeighbourThatNeverCameIsNamed) {
  Pod pod("ring 3" + kFast);
  End a;
  a.open(pod.open("0"), 0, 64, 300);
  unsigned char ticket[ICL_TICKET_BYTES];
  {
    End b;
    icl_device* d = pod.open("1");
    b.open(d, 1);
    std::memcpy(ticket, icl_ticket(b.queue), sizeof ticket);
    b.close();
    pod.close(d);
  }
  ICL_OK_(icl_connect(a.queue, ticket));
  EXPECT_EQ(failure(a), ICL_ERR_CHIP_DEAD);
  EXPECT_TRUE(says(a.why(), "chip 1 was closed")) << a.why();
  a.close();
}

}  // namespace
}  // namespace plait::icl
