// Over real devices: what is refused and how it is told, what fails and who hears of it, and how much work it
// is.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "unit/verbs/rig.h"

namespace plait::transport::verbs::test {
namespace {

bool says(std::string_view text, std::string_view what) { return text.find(what) != std::string_view::npos; }

// An error's sentence says what failed, where, with whom, why, and what to do.
void names_all(const Side& side, const Side& peer, std::string_view operation,
               std::initializer_list<std::string_view> causes) {
  Ticket mine, theirs;
  ByteView own = side.end->ticket(), far = peer.end->ticket();
  ASSERT_TRUE(take(own, mine) && take(far, theirs));
  const std::string device(side.domain->name().substr(std::strlen("verbs:")));
  const std::string_view error = side.end->error();
  for (const std::string& part : {device + " port 1", std::string("GID "), rdma::to_string(mine.station.gid),
                                  std::string(operation), "peer " + rdma::to_string(theirs.station.gid),
                                  "queue pair " + std::to_string(theirs.station.queue_pair)})
    EXPECT_TRUE(says(error, part)) << part << " is not in: " << error;
  for (const std::string_view cause : causes)
    EXPECT_TRUE(says(error, cause)) << cause << " is not in: " << error;
}

// A peer that lies about its region's size, or whoever guesses keys, is stopped by the target's device.
TEST(Device, AForgedKeyIsRefusedByTheDevice) {
  PLAIT_NEEDS_A_DEVICE();
  for (const Verb verb : {Verb::put, Verb::get}) {
    for (const bool bounds : {true, false}) {
      Pair p;
      Key key;
      ByteView bytes = p.b.region->key();
      ASSERT_TRUE(take(bytes, key));
      key.bytes += bounds ? 4096 : 0;
      key.remote_key ^= bounds ? 0 : 0x5a00;
      key.sum = sum_of(key);
      auto forged = p.a.end->import(bytes_of(key));
      ASSERT_TRUE(forged.ok());
      Transfer t{verb,
                 When::delivered,
                 {},
                 p.a.region->slice(0, 64).value(),
                 (*forged)->slice(bounds ? kBytes : 0, 64).value(),
                 7};
      ASSERT_EQ(p.a.end->post({&t, 1}), 1u);
      ASSERT_TRUE(p.pump([&] { return p.a.has(7) && p.a.has(p.a.cookie); }));
      EXPECT_EQ(p.a.code(7), Code::auth);
      EXPECT_EQ(p.a.end->state(), State::failed);
      names_all(p.a, p.b, verb == Verb::put ? "a put (RDMA_WRITE)" : "a get (RDMA_READ)",
                {"remote access error (10)", "out of bounds", "keep a region until"});
    }
  }
}

TEST(Device, AQueuePairThatFailsIsNoticed) {
  PLAIT_NEEDS_A_DEVICE();
  Pair p;
  force_error(*p.a.end);
  ASSERT_TRUE(p.pump([&] { return p.a.has(p.a.cookie); }));
  EXPECT_EQ(p.a.end->state(), State::failed);
  EXPECT_FALSE(p.a.end->error().empty());
  // The peer's next put finds nobody.
  Transfer t = p.b.put(64, {0, 1}, 9);
  ASSERT_EQ(p.b.end->post({&t, 1}), 1u);
  ASSERT_TRUE(p.pump([&] { return p.b.has(9); }));
  EXPECT_EQ(p.b.code(9), Code::peer);
  EXPECT_TRUE(says(p.b.end->error(), "did not answer")) << p.b.end->error();
}

// In the midst of transfers, the one rail that there is: what was taken is done or comes back with an error,
// and the sentence is that of the first that failed.
TEST(Device, AQueuePairThatFailsInMidTransferNamesTheTransfer) {
  PLAIT_NEEDS_A_DEVICE();
  for (const bool signals : {false, true}) {
    Pair p;
    std::vector<Transfer> all;
    for (uint64_t i = 1; i <= 8; ++i) all.push_back(p.a.put(kBytes, {0, uint16_t(signals)}, i));
    ASSERT_EQ(p.a.end->post(all), all.size());
    force_error(*p.a.end);
    ASSERT_TRUE(p.pump([&] { return p.a.has(8) && p.a.has(p.a.cookie); }));
    EXPECT_EQ(p.a.dones.size(), all.size() + 1) << "each once, and the endpoint's cookie";
    EXPECT_EQ(p.a.code(8), Code::peer);
    EXPECT_EQ(p.a.code(p.a.cookie), Code::peer);
    names_all(p.a, p.b, signals ? "a put (RDMA_WRITE_WITH_IMM)" : "a put (RDMA_WRITE)",
              {"Flushed Error (5)", "the queue pair had failed", "look at the first error"});
    EXPECT_EQ(p.a.end->post(all), 0u);
  }
}

// Hellos to somebody who is not there yet fail, and are said again.
TEST(Device, APeerMayConnectMuchLater) {
  PLAIT_NEEDS_A_DEVICE();
  Options impatient;
  impatient.timeout = 10;  // 4 ms
  impatient.retries = 1;
  for (const bool swapped : {false, true}) {
    Side a(1, swapped ? 1 : 0, impatient), b(2, swapped ? 0 : 1);
    ASSERT_TRUE(a.end->connect(b.end->ticket()).ok());
    for (const Deadline end = Deadline::in_ms(400); !end.passed();) a.poll();
    EXPECT_EQ(a.end->state(), State::connecting) << a.end->error();
    EXPECT_GT(work_of(*a.domain).requests, 2u);
    ASSERT_TRUE(b.end->connect(a.end->ticket()).ok());
    for (const Deadline end = Deadline::in_ms(kLimitMs); b.end->counter(0) == 0 && !end.passed();) {
      Transfer signal{Verb::put, When::never, {0, 1}, {}, {}, 0};
      if (a.end->state() == State::ready && b.end->state() == State::ready) a.end->post({&signal, 1});
      a.poll();
      b.poll();
    }
    EXPECT_GE(b.end->counter(0), 1u) << a.end->error() << b.end->error();
  }
}

// What a forked child destroys is its parent's, and goes on there.
TEST(Device, AForkedChildLeavesItsParentAlone) {
  PLAIT_NEEDS_A_DEVICE();
  for (const Connect connect : {Connect::tickets, Connect::cm}) {
    Options options;
    options.connect = connect;
    Pair p(options);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const bool refused = !p.a.domain->open(1, 5).ok() && !p.a.domain->expose({&p, 8}, Access::none).ok();
      for (Side* side : {&p.a, &p.b}) {
        side->far.reset();
        side->end.reset();
        side->region.reset();
        side->domain.reset();
      }
      _exit(refused ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    Transfer t = p.a.put(4096, {0, 1}, 3);
    ASSERT_EQ(p.a.end->post({&t, 1}), 1u);
    EXPECT_TRUE(p.pump([&] { return p.a.code(3) == Code::ok && p.b.end->counter(0) == 1; }))
        << p.a.end->error();
  }
}

TEST(Device, MemoryThatCannotBeExposedIsRefused) {
  PLAIT_NEEDS_A_DEVICE();
  Side a(1, 0);
  void* gone = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto read_only = a.domain->expose({gone, 4096}, Access::write);
  EXPECT_FALSE(read_only.ok());
  EXPECT_TRUE(says(read_only.status().text(), "writable")) << read_only.status().text();
  munmap(gone, 4096);
  const auto unmapped = a.domain->expose({gone, 4096}, Access::none);
  EXPECT_FALSE(unmapped.ok());
  EXPECT_TRUE(says(unmapped.status().text(), "mapped")) << unmapped.status().text();
  Memory device{a.memory.data(), 4096, MemoryKind::device, 0, 0, 0};
  const auto dmabuf = a.domain->expose(device, Access::none);
  if (!rdma::find_ports()[0].dmabuf) {
    EXPECT_EQ(dmabuf.status().code(), Code::unsupported);
  }
  EXPECT_TRUE(says(dmabuf.status().text(), "dmabuf")) << dmabuf.status().text();
  if (!rdma::find_ports()[0].on_demand_paging) {
    Options options;
    options.on_demand_paging = true;
    const auto made = make_domain(options);
    EXPECT_EQ(made.status().code(), Code::unsupported);
    EXPECT_TRUE(says(made.status().text(), "on-demand paging")) << made.status().text();
  }
}

#define PLAIT_NEEDS_THE_VIRTUAL_MACHINE()                                         \
  if (device(0) != "rxe1" || std::system("ip link show v1 >/dev/null 2>&1") != 0) \
  GTEST_SKIP() << "not the virtual machine, and this takes an interface down"

// A port that goes down ends what is idle, too.
TEST(Device, APortThatGoesDownIsTold) {
  PLAIT_NEEDS_A_DEVICE();
  PLAIT_NEEDS_THE_VIRTUAL_MACHINE();
  Pair p;
  ASSERT_EQ(std::system("ip link set v1 down"), 0);
  EXPECT_TRUE(p.pump([&] { return p.a.has(p.a.cookie); }));
  EXPECT_EQ(p.a.end->state(), State::failed);
  EXPECT_TRUE(says(p.a.end->error(), "port went down")) << p.a.end->error();
  ASSERT_EQ(std::system("ip link set v1 up && sleep 1"), 0);
}

// Who polls too seldom to see it down hears of it when it is up again.
TEST(Device, APortThatIsUpAgainEndsNothing) {
  PLAIT_NEEDS_A_DEVICE();
  PLAIT_NEEDS_THE_VIRTUAL_MACHINE();
  Pair p;
  ASSERT_EQ(std::system("ip link set v1 down && sleep 1 && ip link set v1 up && sleep 1"), 0);
  ASSERT_TRUE(p.pump([&] { return p.a.domain->arm(); }));  // heard is what the device has to tell
  EXPECT_EQ(p.a.end->state(), State::ready) << p.a.end->error();
  const Transfer put = p.a.put(4096, {}, 1);
  ASSERT_EQ(p.a.end->post({&put, 1}), 1U);
  EXPECT_TRUE(p.pump([&] { return p.a.has(1); }));
  EXPECT_EQ(p.a.code(1), Code::ok) << p.a.end->error();
}

// `size` bytes, `list` transfers a post, 20 times: what the device was given for it.
rdma::Work work_for(size_t size, size_t list) {
  Pair p;
  const rdma::Work before = work_of(*p.a.domain);
  uint64_t cookie = 1;
  for (int i = 0; i < 20; ++i) {
    std::vector<Transfer> all;
    for (size_t n = 0; n < list; ++n) all.push_back(p.a.put(size, {}, cookie++, n * size % kBytes));
    EXPECT_EQ(p.a.end->post(all), list);
    EXPECT_TRUE(p.pump([&] { return p.a.dones.size() == cookie - 1; }));
  }
  const rdma::Work after = work_of(*p.a.domain);
  return {after.requests - before.requests, after.doorbells - before.doorbells};
}

// tests/lab/vm/work.sh compares these with what ib_write_bw does.
TEST(Work, OneByOne) {
  PLAIT_NEEDS_A_DEVICE();
  const rdma::Work work = work_for(kBytes, 1);
  EXPECT_EQ(work.requests, 20u);
  EXPECT_EQ(work.doorbells, 20u);
}

TEST(Work, InLists) {
  PLAIT_NEEDS_A_DEVICE();
  const rdma::Work work = work_for(kBytes / 16, 16);
  EXPECT_EQ(work.requests, 320u);
  EXPECT_EQ(work.doorbells, 20u);
}

}  // namespace
}  // namespace plait::transport::verbs::test
