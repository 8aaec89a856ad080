// What differs between engines, and between numbers of connections for bulk.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>

#include "raw_peer.h"

namespace plait::transport::tcp::test {
namespace {

Options uring() {
  Options options = loopback();
  options.engine = EngineKind::uring;
  return options;
}

#define NEEDS_URING() \
  if (Status status = uring_status(); !status.ok()) GTEST_SKIP() << status.text()

// True when `bytes` bytes come to the other side, by counter `counter`, whole.
bool moves(Pair& pair, size_t bytes, uint16_t counter) {
  Window window(pair.b, pair.a, bytes);
  Bytes source(bytes);
  fill(source, uint32_t(bytes));
  const uint64_t before = pair.b.end->counter(counter);
  const Transfer put = make_put(source.data(), bytes, *window.remote, 0, {counter, 1}, When::delivered, 5);
  if (pair.a.end->post({&put, 1}) != 1) return false;
  const int dones = pair.a.count(5);
  return pair.until([&] { return pair.a.count(5) > dones; }) && pair.b.end->counter(counter) == before + 1 &&
         window.bytes == source;
}

// The status of a child that runs `body`.
template <class Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// As container runtimes do.
bool forbid_rings() {
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{uint16_t(std::size(code)), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(TcpEngine, WhereTheKernelForbidsRingsSocketsArePolled) {
  NEEDS_URING();
  EXPECT_EQ(0, in_child([] {
              if (!forbid_rings()) return 0;  // nothing to see here
              const Status status = uring_status();
              if (status.code() != Code::unsupported) return 1;
              if (status.text().find("forbidden") == std::string_view::npos) return 2;
              Pair pair(uring());
              return pair.connect() && moves(pair, 3000, 0) ? 0 : 3;
            }));
}

TEST(TcpEngine, EnginesUnderstandEachOther) {
  Options polled = loopback();
  polled.engine = EngineKind::polled;
  Pair pair(polled, uring());
  ASSERT_TRUE(pair.connect());
  for (const size_t bytes : {size_t{1}, size_t{5000}, size_t{1} << 20}) {
    EXPECT_TRUE(moves(pair, bytes, 0)) << bytes;
    EXPECT_TRUE(moves(pair, bytes, 1)) << bytes;
  }
}

// A feed of small things becomes a polled connection when bulk comes, and goes on.
// Polls until b has the signal, which lies in its socket by then.
int polls_until_heard(Pair& pair, uint16_t counter) {
  const uint64_t before = pair.b.end->counter(counter);
  const Transfer signal = make_signal({counter, 1});
  EXPECT_EQ(pair.a.end->post({&signal, 1}), 1u);
  pair.a.poll();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  int polls = 0;
  for (; pair.b.end->counter(counter) == before && polls < 10000; ++polls) pair.b.poll();
  return polls;
}

// However long the other one has had everything, and however long nothing came at all.
TEST(TcpEngine, AQuietConnectionIsTriedSoon) {
  Options options = loopback();
  options.engine = EngineKind::polled;
  Pair pair(options);
  ASSERT_TRUE(pair.connect());
  for (uint16_t counter : {uint16_t{0}, uint16_t{1}}) ASSERT_LT(polls_until_heard(pair, counter), 10000);
  for (uint16_t busy : {uint16_t{0}, uint16_t{1}}) {
    const auto quiet = uint16_t(1 - busy);
    for (int messages : {1, 5, 40}) {
      for (int i = 0; i < messages; ++i) EXPECT_LE(polls_until_heard(pair, busy), 16);
      EXPECT_LE(polls_until_heard(pair, quiet), 16) << messages;
    }
    for (int idle : {3, 20, 100, 200}) {
      for (int i = 0; i < idle; ++i) pair.b.poll();
      EXPECT_LE(polls_until_heard(pair, quiet), 16) << idle;
    }
  }
}

TEST(TcpEngine, BulkOnTheConnectionOfSmallThings) {
  Pair pair{uring()};
  ASSERT_TRUE(pair.connect());
  EXPECT_TRUE(moves(pair, 64, 0));
  EXPECT_TRUE(moves(pair, size_t{4} << 20, 0));
  EXPECT_TRUE(moves(pair, 64, 0));
}

// The end of the connection comes while the ring is leaving it to be polled.
TEST(TcpEngine, APeerThatDiesWithinBulkOnTheConnectionOfSmallThings) {
  NEEDS_URING();
  Side side(1, uring());
  RawPeer peer(side);
  ASSERT_TRUE(peer.connect());
  Bytes memory(size_t{64} << 10);
  const auto region = side.domain->expose({memory.data(), memory.size()}, Access::write).value();
  Key key;
  std::memcpy(&key, region->key().data(), sizeof key);
  peer.say(0, Header{'P', 0, 0, 0, 0, key.slot, uint32_t(memory.size()), key.nonce, 0, 0});
  peer.say(0, memory.data(), 100);
  peer.lanes[0].reset();
  EXPECT_TRUE(peer.poll_until([&] { return side.count(1) == 1; }));
  EXPECT_EQ(side.code(1), Code::peer);
}

// What a thread asked of its ring ends with the thread; what others do does not.
TEST(TcpEngine, ThreadsThatPolledMayGo) {
  Pair pair{uring()};
  bool connected = false;
  std::thread([&] { connected = pair.connect(); }).join();
  ASSERT_TRUE(connected);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(moves(pair, 100, 0));
    bool moved = false;
    std::thread([&] { moved = moves(pair, 100, 2); }).join();
    EXPECT_TRUE(moved);
  }
}

// One poll sends to all, and all answer. One of them dies in the midst.
TEST(TcpEngine, ManyPeers) {
  constexpr size_t kPeers = 40;
  auto hub = make(uring());
  std::vector<std::unique_ptr<Endpoint>> ends;
  std::vector<std::unique_ptr<Side>> sides;
  const auto until = [&](const std::function<bool()>& done) {
    for (Deadline deadline = Deadline::in_ms(kLimitMs); !done() && !deadline.passed();) {
      Done dones[64];
      hub->poll(dones);
      for (auto& side : sides) side->poll();
    }
    return done();
  };
  for (size_t i = 0; i < kPeers; ++i) {
    ends.push_back(hub->open(4, i).value());
    sides.push_back(std::make_unique<Side>(i, uring()));
    ASSERT_TRUE(ends[i]->connect(sides[i]->end->ticket()).ok());
    ASSERT_TRUE(sides[i]->end->connect(ends[i]->ticket()).ok());
  }
  ASSERT_TRUE(until([&] {
    return std::ranges::all_of(ends, [](auto& e) { return e->state() == State::ready; }) &&
           std::ranges::all_of(sides, [](auto& s) { return s->end->state() == State::ready; });
  }));
  const Transfer signal = make_signal({0, 1});
  for (uint64_t round = 1; round <= 50; ++round) {
    for (auto& end : ends) ASSERT_EQ(end->post({&signal, 1}), 1U);
    ASSERT_TRUE(until(
        [&] { return std::ranges::all_of(sides, [&](auto& s) { return s->end->counter(0) == round; }); }));
    for (auto& side : sides) ASSERT_EQ(side->end->post({&signal, 1}), 1U);
    ASSERT_TRUE(
        until([&] { return std::ranges::all_of(ends, [&](auto& e) { return e->counter(0) == round; }); }));
  }
  for (auto& end : ends) ASSERT_EQ(end->post({&signal, 1}), 1U);
  sides.pop_back();
  EXPECT_TRUE(until([&] { return ends.back()->state() == State::failed; }));
  EXPECT_TRUE(
      until([&] { return std::ranges::all_of(sides, [&](auto& s) { return s->end->counter(0) == 51; }); }));
}

TEST(TcpEngine, TheLesserNumberOfBulkConnectionsCounts) {
  Options two = loopback(), four = loopback();
  two.bulk_connections = 2, four.bulk_connections = 4;
  for (const bool swapped : {false, true}) {
    Pair pair(swapped ? four : two, swapped ? two : four);
    ASSERT_TRUE(pair.connect());
    for (uint16_t counter = 0; counter < 4; ++counter) EXPECT_TRUE(moves(pair, 300'000, counter)) << counter;
  }
}

TEST(TcpEngine, BuffersAreAsAskedFor) {
  Address address = parse_ip("127.0.0.1").value();
  const Buffers small{20'000, 30'000};
  auto listener = listen_on(address, {}, small);
  ASSERT_TRUE(listener.ok());
  const Fd dialed = dial(parse_ip("127.0.0.1").value(), address, small);
  for (const int socket : {listener->get(), dialed.get()}) {
    EXPECT_EQ(buffers_of(socket).send, small.send);
    EXPECT_EQ(buffers_of(socket).receive, small.receive);
  }
  Options options = loopback();
  options.send_buffer = options.receive_buffer = 20'000;
  Pair pair(options);
  ASSERT_TRUE(pair.connect());
  EXPECT_TRUE(moves(pair, 1'000'000, 1));
}

// 2 MB at 10 MB/s take 0.2 s, less what a full socket takes at once.
TEST(TcpEngine, BulkIsPaced) {
  Options options = loopback();
  options.pacing_Bps = 10e6;
  options.bulk_connections = 2;
  Pair pair(options);
  ASSERT_TRUE(pair.connect());
  EXPECT_TRUE(moves(pair, 2'000'000, 1));
}

}  // namespace
}  // namespace plait::transport::tcp::test
