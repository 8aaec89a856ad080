#include "perf/fabric/crowd.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/clock.h"
#include "transport/tcp/domain.h"

namespace plait::perf {

namespace {

using namespace transport;

constexpr size_t kMost = size_t{1} << 20;
constexpr int kLimitMs = 30'000;

struct Order {
  uint64_t bytes = 0, rounds = 0;  // 0 rounds: go
};

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "bench_tcp: %s\n", why.c_str());
  _exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result.ok()) fail(std::string(result.status().text()));
  return std::move(*result);
}

template <class T>
void say(int socket, const T& value) {
  if (send(socket, &value, sizeof value, MSG_NOSIGNAL) != ssize_t(sizeof value)) fail("a process has gone");
}
template <class T>
T hear(int socket) {
  T value;
  if (recv(socket, &value, sizeof value, MSG_WAITALL) != ssize_t(sizeof value)) fail("a process has gone");
  return value;
}

std::unique_ptr<Domain> make_local(tcp::Options options) {
  options.addresses = {must(parse_ip("127.0.0.1"))};
  return must(tcp::make_domain(options));
}

void pin_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core % int(sysconf(_SC_NPROCESSORS_ONLN)), &set);
  sched_setaffinity(0, sizeof set, &set);
}

double cpu_us() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& t) { return double(t.tv_sec) * 1e6 + double(t.tv_usec); };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

// Polls until `done`: on a core of its own without a pause, else asleep until there is something.
template <class Done>
void wait(Domain& domain, bool sleeps, uint64_t& slept, Done done) {
  const Deadline limit = Deadline::in_ms(kLimitMs);
  for (uint32_t i = 1; !done(); ++i) {
    transport::Done dones[64];
    domain.poll(dones);
    if (done()) return;
    if (i % 4096 == 0 && limit.passed()) fail("no answer");
    if (!sleeps || !domain.arm()) continue;
    pollfd fd{domain.wait_fd(), POLLIN, 0};
    if (::poll(&fd, 1, kLimitMs) == 0) fail("no answer, asleep");
    ++slept;
  }
}

uint16_t counter_for(size_t bytes) { return bytes > 4096; }

Transfer make_put(std::byte* from, RemoteRegion& to, size_t bytes) {
  return {Verb::put, When::never, {counter_for(bytes), 1}, {from, bytes, nullptr}, {&to, 0, bytes}, 0};
}

void join(Domain& domain, Endpoint& end, int control) {
  say(control, *reinterpret_cast<const tcp::Ticket*>(end.ticket().data()));
  const auto ticket = hear<tcp::Ticket>(control);
  if (!end.connect(bytes_of(ticket)).ok()) fail(std::string(end.error()));
  uint64_t slept = 0;
  wait(domain, true, slept, [&] { return end.state() != State::connecting; });
  if (end.state() != State::ready) fail(std::string(end.error()));
}

// What a peer does: answers.
[[noreturn]] void be_peer(int control, const tcp::Options& options, bool sleeps) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pin_to(1);
  auto domain = make_local(options);
  std::vector<std::byte> memory(2 * kMost);
  auto region = must(domain->expose({memory.data(), memory.size()}, Access::write));
  auto end = must(domain->open(2, 1));
  join(*domain, *end, control);
  say(control, *reinterpret_cast<const tcp::Key*>(region->key().data()));
  const auto key = hear<tcp::Key>(control);
  auto remote = must(end->import(bytes_of(key)));
  uint64_t heard[2] = {}, slept = 0;
  for (;;) {
    const Order order = hear<Order>(control);
    const double before = cpu_us();
    say(control, 0);
    const uint16_t counter = counter_for(order.bytes);
    const Transfer answer = make_put(memory.data() + kMost, *remote, order.bytes);
    for (uint64_t i = 0; i < order.rounds; ++i) {
      wait(*domain, sleeps, slept, [&] { return end->counter(counter) > heard[counter]; });
      ++heard[counter];
      wait(*domain, false, slept, [&] { return end->post({&answer, 1}) == 1; });
    }
    // What a full socket did not take yet.
    const Transfer flush{Verb::put, When::delivered, {counter, 0}, {}, {}, 7};
    wait(*domain, false, slept, [&] { return end->post({&flush, 1}) == 1; });
    for (Done done[8]; domain->poll(done) == 0;) {
    }
    say(control, cpu_us() - before);
  }
}

}  // namespace

Crowd::Crowd(int peers, const tcp::Options& options) {
  peers_.resize(size_t(peers));
  for (Peer& peer : peers_) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) fail("no socketpair");
    peer.pid = fork();
    if (peer.pid < 0) fail("no process");
    if (peer.pid == 0) be_peer(pair[1], options, peers > 1);
    close(pair[1]);
    peer.control = Fd(pair[0]);
  }
  pin_to(0);
  domain_ = make_local(options);
  memory_.resize(2 * kMost);
  region_ = must(domain_->expose({memory_.data(), memory_.size()}, Access::write));
  tcp::Key key;
  std::memcpy(&key, region_->key().data(), sizeof key);
  for (Peer& peer : peers_) {
    peer.end = must(domain_->open(2, 1));
    join(*domain_, *peer.end, peer.control.get());
    say(peer.control.get(), key);
    const auto theirs = hear<tcp::Key>(peer.control.get());
    peer.remote = must(peer.end->import(bytes_of(theirs)));
  }
}

Crowd::~Crowd() {
  for (Peer& peer : peers_) {
    kill(peer.pid, SIGKILL);
    waitpid(peer.pid, nullptr, 0);
    peer.remote.reset();
    peer.end.reset();
  }
}

// Until the answers have come; what is to be sent leaves first.
void Crowd::rest(int us) {
  for (int i = 0; i < 3; ++i) domain_->poll({});
  const int64_t until = now_ns() + int64_t{us} * 1000;
  while (now_ns() < until) usleep(useconds_t((until - now_ns()) / 1000 + 1));
}

Cost Crowd::run(size_t bytes, int rounds, int pause_us) {
  for (Peer& peer : peers_) say(peer.control.get(), Order{bytes, uint64_t(rounds)});
  for (Peer& peer : peers_) (void)hear<int>(peer.control.get());
  const auto& counts = static_cast<tcp::TcpDomain&>(*domain_).engine().counts;
  const uint16_t counter = counter_for(bytes);
  const uint64_t calls = counts.all(), sleeps = sleeps_;
  double cpu = cpu_us();
  const int64_t start = now_ns();
  for (int i = 0; i < rounds; ++i) {
    for (Peer& peer : peers_) {
      const Transfer put = make_put(memory_.data() + kMost, *peer.remote, bytes);
      wait(*domain_, false, sleeps_, [&] { return peer.end->post({&put, 1}) == 1; });
    }
    if (pause_us != 0) rest(pause_us);
    size_t first = 0;
    wait(*domain_, peers_.size() > 1, sleeps_, [&] {
      while (first < peers_.size() && peers_[first].end->counter(counter) > peers_[first].answered[counter])
        ++first;
      return first == peers_.size();
    });
    for (Peer& peer : peers_) ++peer.answered[counter];
  }
  const double ops = double(rounds) * double(peers_.size());
  Cost cost;
  cost.us = double(now_ns() - start) / 1e3 / ops;
  cost.calls = double(counts.all() - calls + (sleeps_ - sleeps)) / ops;
  cpu = cpu_us() - cpu;
  double theirs = 0;
  for (size_t i = 0; i < peers_.size();) {
    // Acknowledgements are due to those who end.
    pollfd fd{peers_[i].control.get(), POLLIN, 0};
    domain_->poll({});
    if (::poll(&fd, 1, 0) == 1) theirs += hear<double>(peers_[i++].control.get());
  }
  cost.cpu_us = (pause_us == 0 ? cpu + theirs : cpu) / ops;
  return cost;
}

}  // namespace plait::perf
