// What several rails to a peer give and cost. Two processes, on two hosts or in two network namespaces:
//
//   bench_rails serve PORT SECONDS RAIL...         the addresses of its rails, in order; waits for the other
//   at PORT bench_rails dial HOST PORT SECONDS RAIL...     puts to it for SECONDS over the first rail, then
//   over all of them
//
// prints for each the bandwidth and the longest time in which nothing arrived. And in one process, over
// loopback:
//
//   bench_rails local                              half a round trip of a short put, bare and over one and
//   two rails
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "base/file.h"
#include "transport/fake/fake.h"
#include "transport/rails/rails.h"
#include "transport/tcp/tcp.h"

namespace plait::transport {
namespace {

constexpr size_t kMessage = size_t{4} << 20, kSlots = 4;
constexpr int64_t kConnectMs = 20'000;

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "bench_rails: %s\n", why.c_str());
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result.ok()) die(std::string(result.status().text()));
  return std::move(result).value();
}

using Domains = std::vector<std::unique_ptr<Domain>>;

std::unique_ptr<Domain> over_tcp(const std::string& address) {
  tcp::Options options;
  options.addresses = {must(parse_ip(address))};
  options.label = "tcp:" + address;
  return must(tcp::make_domain(options));
}

std::unique_ptr<rails::Rails> over_rails(const std::vector<std::string>& addresses) {
  Domains own;
  for (const std::string& address : addresses) own.push_back(over_tcp(address));
  return must(rails::make_domain(std::move(own)));
}

// Bytes of any length, and back.
void say(int socket, ByteView bytes) {
  const auto size = uint32_t(bytes.size());
  if (::send(socket, &size, sizeof size, MSG_NOSIGNAL) != ssize_t(sizeof size) ||
      ::send(socket, bytes.data(), size, MSG_NOSIGNAL) != ssize_t(size))
    die("the other process went away");
}

Bytes hear(int socket) {
  uint32_t size = 0;
  if (::recv(socket, &size, sizeof size, MSG_WAITALL) != ssize_t(sizeof size) || size > 1U << 20)
    die("the other process went away");
  Bytes bytes(size);
  if (size != 0 && ::recv(socket, bytes.data(), size, MSG_WAITALL) != ssize_t(size))
    die("the other process went away");
  return bytes;
}

Bytes swap(int socket, ByteView mine) {
  say(socket, mine);
  return hear(socket);
}

void connect(Domain& domain, Endpoint& end, int socket) {
  const Status status = end.connect(swap(socket, end.ticket()));
  if (!status.ok()) die(std::string(status.text()));
  for (const Deadline deadline = Deadline::in_ms(kConnectMs); end.state() != State::ready; domain.poll({})) {
    if (end.state() == State::failed) die(std::string(end.error()));
    if (deadline.passed()) die("connecting took too long");
  }
  swap(socket, {});
}

// One measurement: `sends` puts for so long, the other takes. Counter 1: messages, 0: the credit for them.
void measure(int socket, bool sends, int64_t seconds, const std::vector<std::string>& addresses) {
  const auto domain = over_rails(addresses);
  std::vector<std::byte> memory(kMessage * kSlots, std::byte{1});
  Memory whole;
  whole.base = memory.data();
  whole.bytes = memory.size();
  const auto region = must(domain->expose(whole, Access::write));
  auto end = must(domain->open(2, 1));
  connect(*domain, *end, socket);
  const Bytes key = swap(socket, region->key());
  auto remote = must(end->import(key));
  const int64_t start = now_ns(), until = start + seconds * 1'000'000'000;
  int64_t latest = start, longest = 0;
  uint64_t sent = 0, seen = 0;
  const size_t own = sends ? 0 : 1;
  Done done[16];
  // The sender stops at its time; the receiver when it hears so.
  bool over = false;
  while (!over || (sends && seen < sent)) {
    domain->poll(done);
    if (end->state() != State::ready) die(std::string(end->error()));
    if (sends && now_ns() < until && sent - seen < kSlots) {
      const size_t at = sent % kSlots * kMessage;
      Transfer t{Verb::put,
                 When::never,
                 {1, 1},
                 must(region->slice(at, kMessage)),
                 must(remote->slice(at, kMessage)),
                 0};
      sent += end->post({&t, 1});
    }
    const uint64_t now_seen = end->counter(uint16_t(own)).load(std::memory_order_acquire);
    if (now_seen != seen) {
      if (!sends) {
        Transfer credit;
        credit.signal = {0, uint16_t(now_seen - seen)};
        if (end->post({&credit, 1}) == 0) continue;
      }
      seen = now_seen;
      const int64_t now = now_ns();
      longest = std::max(longest, now - latest);
      latest = now;
    }
    if (sends) {
      over = now_ns() >= until;
    } else {
      char byte;
      over = ::recv(socket, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 1;
    }
  }
  if (sends) {
    std::printf("%zu rail%s: %8.1f MB/s, longest stall %7.1f ms\n", addresses.size(),
                addresses.size() == 1 ? " " : "s", double(seen * kMessage) / double(latest - start) * 1e3,
                double(longest) * 1e-6);
    for (const rails::RailReport& rail : domain->report()) {
      std::printf("    %-20s %6llu parts, %8.1f MB, %llu sent again, %llu deaths, %llu returns\n",
                  rail.name.c_str(), static_cast<unsigned long long>(rail.parts), double(rail.bytes) * 1e-6,
                  static_cast<unsigned long long>(rail.resent), static_cast<unsigned long long>(rail.deaths),
                  static_cast<unsigned long long>(rail.returns));
    }
    std::fflush(stdout);
  }
  swap(socket, {});
  remote.reset();
  end.reset();
}

Fd meet(const char* host, const char* port) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = host == nullptr ? AI_PASSIVE : 0;
  if (getaddrinfo(host, port, &hints, &list) != 0) die("no such address");
  Fd socket(::socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  Fd peer;
  if (host == nullptr) {
    if (bind(socket.get(), list->ai_addr, list->ai_addrlen) != 0 || listen(socket.get(), 1) != 0)
      die("cannot listen");
    peer = Fd(accept(socket.get(), nullptr, nullptr));
  } else {
    for (int i = 0; i < 100 && !peer; ++i) {
      Fd dialed(::socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (::connect(dialed.get(), list->ai_addr, list->ai_addrlen) == 0) {
        peer = std::move(dialed);
      } else {
        usleep(100'000);
      }
    }
  }
  freeaddrinfo(list);
  if (!peer) die("cannot reach the other process");
  return peer;
}

// Half a round trip between two domains that one thread polls in turn.
double ping_pong(Domain& a, Domain& b, size_t bytes) {
  std::byte memory[2][256] = {};
  std::unique_ptr<Region> regions[2];
  std::unique_ptr<Endpoint> ends[2];
  Domain* domains[2] = {&a, &b};
  for (size_t i = 0; i < 2; ++i) {
    Memory whole;
    whole.base = memory[i];
    whole.bytes = sizeof memory[i];
    regions[i] = must(domains[i]->expose(whole, Access::write));
    ends[i] = must(domains[i]->open(2, 1));
  }
  for (size_t i = 0; i < 2; ++i) {
    if (const Status s = ends[i]->connect(ends[1 - i]->ticket()); !s.ok()) die(std::string(s.text()));
  }
  while (ends[0]->state() != State::ready || ends[1]->state() != State::ready) a.poll({}), b.poll({});
  std::unique_ptr<RemoteRegion> remotes[2];
  for (size_t i = 0; i < 2; ++i) remotes[i] = must(ends[i]->import(regions[1 - i]->key()));
  constexpr uint64_t kRounds = 20'000, kWarm = 2'000;
  int64_t start = 0;
  Done done[16];
  for (uint64_t round = 1; round <= kRounds + kWarm; ++round) {
    if (round == kWarm) start = now_ns();
    for (size_t i = 0; i < 2; ++i) {
      Transfer t{Verb::put,
                 When::never,
                 {0, 1},
                 must(regions[i]->slice(0, bytes)),
                 must(remotes[i]->slice(64, bytes)),
                 0};
      while (ends[i]->post({&t, 1}) == 0) a.poll(done), b.poll(done);
      while (ends[1 - i]->counter(0).load(std::memory_order_acquire) < round) domains[1 - i]->poll(done);
    }
  }
  const double ns = double(now_ns() - start) / double(2 * kRounds);
  for (auto& remote : remotes) remote.reset();
  for (auto& end : ends) end.reset();
  for (auto& region : regions) region.reset();
  return ns;
}

void local() {
  const auto fake = [](size_t rails, size_t bytes) {
    fake::FakeOptions options;
    options.mapped = false;
    options.capabilities.target_must_poll = true;  // as in tcp, the target's poll is enough
    std::vector<fake::FakeNetwork> networks(rails == 0 ? 1 : rails);
    std::unique_ptr<Domain> ends[2];
    for (auto& end : ends) {
      Domains own;
      for (auto& network : networks) own.push_back(network.make_domain("fake", options));
      end =
          rails == 0 ? std::move(own[0]) : std::unique_ptr<Domain>(must(rails::make_domain(std::move(own))));
    }
    return ping_pong(*ends[0], *ends[1], bytes);
  };
  const auto tcp = [](size_t rails, size_t bytes) {
    std::unique_ptr<Domain> ends[2];
    for (auto& end : ends) {
      if (rails == 0) end = over_tcp("127.0.0.1");
      if (rails == 1) end = over_rails({"127.0.0.1"});
      if (rails == 2) end = over_rails({"127.0.0.1", "127.0.0.2"});
    }
    return ping_pong(*ends[0], *ends[1], bytes);
  };
  for (const size_t bytes : {size_t(0), size_t(64)}) {
    std::printf(
        "%3zu bytes, ns: fake %7.0f, rails of 1 %7.0f, of 2 %7.0f; tcp %7.0f, rails of 1 %7.0f, of 2 %7.0f\n",
        bytes, fake(0, bytes), fake(1, bytes), fake(2, bytes), tcp(0, bytes), tcp(1, bytes), tcp(2, bytes));
  }
}

int run(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "local") return local(), 0;
  const bool dials = what == "dial";
  if ((!dials && what != "serve") || argc < (dials ? 6 : 5))
    die("serve PORT SECONDS RAIL..., dial HOST PORT SECONDS RAIL..., or local");
  const Fd socket = meet(dials ? argv[2] : nullptr, argv[dials ? 3 : 2]);
  const int64_t seconds = std::atoll(argv[dials ? 4 : 3]);
  const std::vector<std::string> rails(argv + (dials ? 5 : 4), argv + argc);
  measure(socket.get(), dials, seconds, {rails[0]});
  measure(socket.get(), dials, seconds, rails);
  return 0;
}

}  // namespace
}  // namespace plait::transport

int main(int argc, char** argv) { return plait::transport::run(argc, argv); }
