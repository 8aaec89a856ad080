#include "perf/fabric/duel.h"

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/clock.h"
#include "perf/fabric/near.h"

namespace plait::perf::fabric {
namespace {

constexpr int64_t kPatienceMs = 20'000;

// Writes all of `out` and reads all of `in`, whichever the socket lets.
Status exchange(int socket, ByteView out, std::span<std::byte> in, const std::function<void()>& meanwhile) {
  const Deadline deadline = Deadline::in_ms(kPatienceMs);
  while (!out.empty() || !in.empty()) {
    pollfd p{socket, short((in.empty() ? 0 : POLLIN) | (out.empty() ? 0 : POLLOUT)), 0};
    if (meanwhile) meanwhile();
    if (::poll(&p, 1, meanwhile ? 0 : deadline.left_ms()) < 0 && errno != EINTR)
      return Status::system(errno, "poll");
    if (deadline.passed()) return Status(Code::timeout, "the other rank said nothing for 20 s");
    if ((p.revents & POLLOUT) != 0) {
      const ssize_t n = send(socket, out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno != EAGAIN && errno != EINTR) return Status(Code::peer, "the other rank ended");
      if (n > 0) out = out.subspan(size_t(n));
    }
    if ((p.revents & (POLLIN | POLLHUP)) != 0) {
      const ssize_t n = recv(socket, in.data(), in.size(), MSG_DONTWAIT);
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        return Status(Code::peer, "the other rank ended");
      if (n > 0) in = in.subspan(size_t(n));
    }
  }
  return {};
}

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::ranges::sort(v);
  return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

void pin_to(int rank) {
  cpu_set_t mine, one;
  if (sched_getaffinity(0, sizeof mine, &mine) != 0 || CPU_COUNT(&mine) < 2) return;
  for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mine) || seen++ != rank) continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

struct Row {
  Load load;
  std::array<std::vector<double>, 2> seconds;  // of one message, by contestant
};

// One rank of a duel.
class Rank {
 public:
  Rank(const Party& party, const Options& options) : party_(party), options_(options) {}

  Status run(const Maker& make) {
    for (int which = 0; which < 2; ++which) {
      auto made = make(which);
      if (!made.ok()) return made.status();
      contestants_[size_t(which)] = std::move(*made);
      const size_t most = options_.sizes.empty() ? 0 : *std::ranges::max_element(options_.sizes);
      PLAIT_TRY(contestants_[size_t(which)]->meet(party_, most));
      PLAIT_TRY(meet(*contestants_[size_t(which)]));
    }
    for (size_t bytes : options_.sizes) rows_.push_back({{Kind::latency, bytes, 0}, {}});
    for (size_t bytes : options_.sizes) {
      if (bytes >= options_.bandwidth_from) rows_.push_back({{Kind::bandwidth, bytes, 0}, {}});
    }
    for (Row& row : rows_) PLAIT_TRY(choose_count(row.load));
    for (int round = 0; round < options_.rounds; ++round) {
      for (Row& row : rows_) PLAIT_TRY(take_turns(row, round % 2));
    }
    return {};
  }

  // True when plait is within the limits.
  bool report(const std::string& title) const {
    std::printf("# %s\n# medians of %d rounds, in turns; us a message, half a round trip or streamed\n",
                title.c_str(), options_.rounds);
    std::printf("%-10s %10s %12s %12s %10s %8s\n", "what", "bytes", "plait", "bare", "ns more", "% more");
    bool fine = true;
    for (const Row& row : rows_) {
      const double ours = median(row.seconds[0]), bare = median(row.seconds[1]);
      const bool large = row.load.bytes >= options_.large;
      const bool good =
          large ? ours <= bare * (1 + options_.large_share) : ours <= bare + options_.small_ns * 1e-9;
      std::printf("%-10s %10zu %12.3f %12.3f %10.0f %8.1f%s\n",
                  row.load.kind == Kind::latency ? "latency" : "bandwidth", row.load.bytes, ours * 1e6,
                  bare * 1e6, (ours - bare) * 1e9, bare == 0 ? 0 : (ours / bare - 1) * 100,
                  good ? "" : "  TOO SLOW");
      fine &= good;
    }
    return fine;
  }

 private:
  Status meet(Contestant& c) {
    return party_.swap({}, [&] { c.progress(); }).status();
  }

  // Seconds, those of rank 0 at both.
  Result<double> timed(Contestant& c, const Load& load) {
    PLAIT_TRY(meet(c));
    const int64_t start = now_ns();
    PLAIT_TRY(c.run(load));
    const double mine = double(now_ns() - start) * 1e-9;
    const auto theirs = party_.swap(bytes_of(mine), [&] { c.progress(); });
    if (!theirs.ok()) return theirs.status();
    ByteView view = *theirs;
    double other = mine;
    if (!take(view, other)) return Status(Code::internal, "the ranks are out of step");
    return party_.rank() == 0 ? mine : other;
  }

  // So that a turn takes about options_.seconds.
  Status choose_count(Load& load) {
    load.count = load.kind == Kind::latency ? 20 : 8;
    for (int i = 0; i < 3; ++i) {
      const auto t = timed(*contestants_[1], load);
      if (!t.ok()) return t.status();
      const double one = std::max(*t / load.count, 1e-8);
      load.count = int(std::clamp(options_.seconds / one, 4.0, 200'000.0));
    }
    return {};
  }

  Status take_turns(Row& row, int first) {
    for (int i = 0; i < 2; ++i) {
      const size_t which = size_t((first + i) % 2);
      Load warm = row.load;
      warm.count = std::max(2, warm.count / 10);
      PLAIT_TRY(timed(*contestants_[which], warm).status());
      const auto t = timed(*contestants_[which], row.load);
      if (!t.ok()) return t.status();
      row.seconds[which].push_back(*t / row.load.count / (row.load.kind == Kind::latency ? 2 : 1));
    }
    return {};
  }

  const Party& party_;
  const Options& options_;
  std::array<std::unique_ptr<Contestant>, 2> contestants_;
  std::vector<Row> rows_;
};

int run_rank(int rank, int socket, const std::string& title, const Maker& make, const Options& options) {
  if (options.pin) pin_to(rank);
  const Party party(rank, socket);
  Rank me(party, options);
  const Status status = me.run(make);
  if (!status.ok()) {
    std::fprintf(stderr, "rank %d: %s\n", rank, std::string(status.text()).c_str());
    return 2;
  }
  return rank == 0 && !me.report(title) ? 1 : 0;
}

bool number(const char* text, double& value) {
  char* end = nullptr;
  value = std::strtod(text, &end);
  return end != text && *end == '\0' && value > 0;
}

}  // namespace

Result<Bytes> Party::swap(ByteView mine, const std::function<void()>& meanwhile) const {
  const uint64_t size = mine.size();
  uint64_t theirs = 0;
  PLAIT_TRY(exchange(socket_, bytes_of(size), std::as_writable_bytes(std::span(&theirs, 1)), meanwhile));
  if (theirs > (1U << 20)) return Status(Code::internal, "the ranks are out of step");
  Bytes got(theirs);
  PLAIT_TRY(exchange(socket_, mine, got, meanwhile));
  return got;
}

Status parse(int argc, char** argv, Options& options, std::vector<std::string>& rest) {
  double least = 0, most = 1e18;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name != "-b" && name != "-e" && name != "-r" && name != "-t") {
      rest.push_back(name);
      continue;
    }
    double value = 0;
    if (++i == argc || !number(argv[i], value))
      return Status(Code::invalid, name + " wants a number above 0");
    if (name == "-b") least = value;
    if (name == "-e") most = value;
    if (name == "-r") options.rounds = int(std::min(value, 1000.0));
    if (name == "-t") options.seconds = value;
  }
  std::erase_if(options.sizes, [&](size_t s) { return double(s) < least || double(s) > most; });
  if (options.sizes.empty()) return Status(Code::invalid, "no size is left between -b and -e");
  return {};
}

int duel(const std::string& title, const Maker& make, const Options& options) {
  std::array<int, 2> sockets{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) return 2;
  cpu_set_t all;  // this process becomes rank 0, which has one
  const bool known = sched_getaffinity(0, sizeof all, &all) == 0;
  const double before = round_trip_ns();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return 2;
  const int rank = child == 0 ? 1 : 0;
  close(sockets[size_t(1 - rank)]);
  const int mine = run_rank(rank, sockets[size_t(rank)], title, make, options);
  std::fflush(nullptr);
  if (rank == 1) _exit(mine);
  close(sockets[0]);
  int theirs = 0;
  while (waitpid(child, &theirs, 0) < 0 && errno == EINTR) {
  }
  if (known) sched_setaffinity(0, sizeof all, &all);
  std::printf("# a cache line went to the other processor and back in %.0f ns before, %.0f ns after\n",
              before, round_trip_ns());
  return std::max(mine, WIFEXITED(theirs) ? WEXITSTATUS(theirs) : 2);
}

}  // namespace plait::perf::fabric
