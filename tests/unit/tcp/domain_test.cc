// Domains: addresses, ports, descriptors that run out, forked children.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <thread>

#include "../../support/own_loopback.h"
#include "base/log.h"
#include "raw_peer.h"

namespace plait::transport::tcp::test {
namespace {

TEST(TcpDomain, OptionsThatMakeNoSenseAreRefused) {
  EXPECT_EQ(make_domain({}).status().code(), Code::invalid);
  Options any = loopback("0.0.0.0"), backwards = loopback(), half = loopback(),
          foreign = loopback("203.0.113.7");
  backwards.port_min = 2000, backwards.port_max = 1000;
  half.port_max = 1000;
  EXPECT_EQ(make_domain(any).status().code(), Code::invalid);
  EXPECT_EQ(make_domain(backwards).status().code(), Code::invalid);
  EXPECT_EQ(make_domain(half).status().code(), Code::invalid);
  Options none = loopback(), many = loopback(), vast = loopback(), negative = loopback();
  none.bulk_connections = 0, many.bulk_connections = int(kBulkMost) + 1;
  vast.send_buffer = size_t{2} << 30, negative.pacing_Bps = -1;
  for (const Options* wrong : {&none, &many, &vast, &negative})
    EXPECT_EQ(make_domain(*wrong).status().code(), Code::invalid);
  auto no_such = make_domain(foreign);
  EXPECT_EQ(no_such.status().code(), Code::system);
  EXPECT_NE(no_such.status().text().find("203.0.113.7"), std::string_view::npos) << no_such.status().text();
}

TEST(TcpDomain, PortsComeFromTheRangeUntilItIsFull) {
  Options options = loopback();
  options.port_min = 29'310;
  options.port_max = 29'313;
  std::vector<std::unique_ptr<Domain>> domains;
  std::vector<bool> seen(4);
  for (auto domain = make_domain(options); domain.ok(); domain = make_domain(options)) {
    const uint16_t port = ticket_of(**domain->get()->open(1, 1)).addresses[0].port;
    ASSERT_TRUE(port >= options.port_min && port <= options.port_max) << port;
    EXPECT_FALSE(seen[port - options.port_min]);
    seen[port - options.port_min] = true;
    domains.push_back(std::move(*domain));
    ASSERT_LE(domains.size(), 4U);
  }
  EXPECT_GE(domains.size(), 1U);
  auto full = make_domain(options);
  EXPECT_EQ(full.status().code(), Code::system);
  EXPECT_NE(full.status().text().find("29310 to 29313"), std::string_view::npos) << full.status().text();
}

TEST(TcpDomain, ReachesThoseOfACommonFamily) {
  auto four = make(loopback("127.0.0.1")), other = make(loopback("127.0.0.2"));
  EXPECT_TRUE(four->reaches(other->identity()));
  Identity identity;
  std::memcpy(&identity, four->identity().data(), sizeof identity);
  auto told = [&](auto change) {
    Identity changed = identity;
    change(changed);
    return four->reaches(bytes_of(changed));
  };
  EXPECT_TRUE(told([](Identity&) {}));
  EXPECT_FALSE(told([](Identity& i) { i.host ^= 1; })) << "another host's loopback";
  EXPECT_FALSE(told([](Identity& i) { i.families = kIp4; }));
  EXPECT_FALSE(told([](Identity& i) { i.families = kLoopback6; }));
  EXPECT_FALSE(told([](Identity& i) { i.version = 9; }));
  EXPECT_FALSE(told([](Identity& i) { i.magic = 9; }));
  EXPECT_FALSE(four->reaches(bytes_of(identity).first(15)));
}

// Several addresses, of which the first common one that answers is taken.
TEST(TcpDomain, TriesOneAddressAfterTheOther) {
  Options two = loopback("127.0.0.1");
  two.addresses.push_back(parse_ip("127.0.0.2").value());
  Pair pair(two);
  Ticket to_b = ticket_of(*pair.b.end), to_a = ticket_of(*pair.a.end);
  for (Ticket* ticket : {&to_a, &to_b}) {
    Address free = ticket->addresses[0];
    ASSERT_TRUE(listen_on(free, {}).ok());  // nobody listens there any more
    ticket->addresses[0] = free;
    ticket->sum = sum_of(*ticket);
  }
  EXPECT_TRUE(pair.connect(bytes_of(to_b), bytes_of(to_a)));
}

// Two threads that come to one place at the same moment, within nanoseconds where each has a core.
class Meeting {
 public:
  void come() {
    constexpr int kSpins = 1000;
    const int round = come_.fetch_add(1) / 2;
    for (int i = 0; come_.load() / 2 == round; ++i)
      if (i > kSpins) std::this_thread::yield();
  }

 private:
  std::atomic<int> come_{0};
};

// How often none, one and both of two threads got a port of a range for which they asked at once: `rounds`
// times, or as often as they could in some time.
std::array<int, 3> ask_at_once(const PortRange& range, int rounds) {
  const Address own = parse_ip(plait::test::own_loopback()).value();
  const Deadline enough = Deadline::in_ms(2000);
  Meeting meeting;
  std::atomic<int> listening{0};
  std::atomic<bool> more{true};
  std::array<int, 3> counts{};
  const auto ask = [&](bool counts_them) {
    for (int round = 1; more; ++round) {
      Address address = own;
      meeting.come();
      const auto listener = listen_on(address, range);
      if (listener.ok()) ++listening;
      meeting.come();
      if (counts_them) {
        ++counts[size_t(listening.exchange(0))];
        more = round < rounds && !enough.passed();
      }
      meeting.come();
    }
  };
  std::thread other(ask, false);
  ask(true);
  other.join();
  return counts;
}

// Two may be bound to one port until one of them listens, and are both refused if both listen at once.
TEST(TcpDomain, OfTwoThatListenAtOnceOneIsRefusedAtMost) {
  const auto two_ports = ask_at_once({23000, 23001}, 4000);
  EXPECT_EQ(two_ports[0] + two_ports[1], 0);
  EXPECT_GT(two_ports[2], 0);
  const auto one_port = ask_at_once({23000, 23000}, 30000);
  EXPECT_EQ(one_port[0] + one_port[2], 0);
  EXPECT_GT(one_port[1], 0);
}

TEST(TcpDomain, NoFamilyInCommonIsSaid) {
  Side four(1);
  auto six = make_domain(loopback("::1"));
  if (!six.ok()) GTEST_SKIP() << six.status().text();
  auto end = (*six)->open(1, 1).value();
  EXPECT_FALSE(four.domain->reaches((*six)->identity()));
  Status status = four.end->connect(end->ticket());
  EXPECT_EQ(status.code(), Code::unsupported) << status.text();
}

TEST(TcpDomain, AnOwnTicketIsRefused) {
  Side side(1);
  EXPECT_EQ(side.end->connect(side.end->ticket()).code(), Code::invalid);
  EXPECT_EQ(side.end->state(), State::opened);
}

// In a process of its own, since limits are a process's.
void in_child(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

void leave_descriptors(int count) {
  static const int next = [] {
    const int fd = fcntl(0, F_DUPFD_CLOEXEC, 0);
    close(fd);
    return fd;
  }();
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = rlim_t(next + count);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

TEST(TcpDomain, WithoutDescriptorsErrorsSayWhatToDo) {
  in_child([] {
    Side side(1), peer(2);
    leave_descriptors(0);
    auto domain = make_domain(loopback());
    EXPECT_EQ(domain.status().code(), Code::system);
    EXPECT_NE(domain.status().text().find("ulimit -n"), std::string_view::npos) << domain.status().text();
    Status status = side.end->connect(peer.end->ticket());
    EXPECT_EQ(status.code(), Code::system);
    EXPECT_NE(side.end->error().find("ulimit -n"), std::string_view::npos) << side.end->error();
  });
}

// Connections that come in wait in the kernel's queue until there are descriptors again, and nothing spins
// meanwhile.
TEST(TcpDomain, WithoutDescriptorsAcceptingPauses) {
  in_child([] {
    Side side(1);
    Fd stranger = call(ticket_of(*side.end).addresses[0]);
    std::vector<std::string> said;
    log::set_sink([&](log::Level, std::string_view text) { said.emplace_back(text); });
    log::warn("once before");  // a sanitizer looks types up when they are first used, with descriptors
    said.clear();
    leave_descriptors(0);
    const int64_t end = now_ns() + 350'000'000;
    int woken = 0;
    while (now_ns() < end) {
      side.poll();
      ASSERT_TRUE(side.domain->arm());
      pollfd fd{side.domain->wait_fd(), POLLIN, 0};
      woken += ::poll(&fd, 1, 50);
    }
    EXPECT_LE(woken, 20);
    EXPECT_EQ(said.size(), 1U);
    leave_descriptors(64);
    log::reset();
  });
}

TEST(TcpDomain, AForkedChildHarmsNothing) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  auto region = std::make_unique<Window>(pair.b, pair.a, 100);
  in_child([&] {
    EXPECT_EQ(pair.a.domain->open(1, 1).status().code(), Code::state);
    region.reset();
    pair.a.end.reset();
    pair.a.domain.reset();
    EXPECT_TRUE(make_domain(loopback()).ok());
  });
  Bytes source(100, std::byte{4});
  const Transfer put = make_put(source.data(), 100, *region->remote, 0, {1, 1}, When::delivered, 5);
  ASSERT_EQ(pair.a.end->post({&put, 1}), 1U);
  EXPECT_TRUE(pair.until([&] { return pair.a.code(5) == Code::ok; })) << pair.a.end->error();
  EXPECT_EQ(region->bytes, source);
}

}  // namespace
}  // namespace plait::transport::tcp::test
