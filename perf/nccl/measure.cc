#include "perf/nccl/measure.h"

#include <algorithm>

#include "perf/nccl/guarded.h"
#include "perf/nccl/peer.h"
#include "perf/nccl/plain.h"
#include "perf/nccl/station.h"

namespace plait::nccl_drive {
namespace {

// What the leader has the follower do.
struct Task {
  enum Kind : uint64_t { end, ping, stream, plain_ping, plain_stream } kind;
  uint64_t bytes, count, window;
};

constexpr double kRoundSeconds = 0.03;  // of one contestant, one size, one window
constexpr size_t kFirstCount = 4, kMostCount = 20'000;

double median(std::vector<double> all) {
  if (all.empty()) return 0;
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

size_t largest(const Measure& what) { return *std::max_element(what.sizes.begin(), what.sizes.end()); }
size_t room(const Measure& what) { return std::max(largest(what), kLeastRoom); }

Status follow_plain(PlainSocket& socket, Memory& memory, size_t room, const Task& task, const Side& side) {
  for (uint64_t i = 0; i < task.count; ++i) {
    unsigned char* to = memory.data() + place_of(task.window == 0 ? 0 : i % task.window, task.bytes, room);
    PLAIT_TRY(socket.read(to, task.bytes, side.deadline()));
    if (task.kind == Task::plain_ping) PLAIT_TRY(socket.write(memory.data(), task.bytes));
  }
  return task.kind == Task::plain_ping ? Status() : socket.write(memory.data(), 8);
}

Status follow(Side& side, Channel& channel, const Measure& what, PlainSocket& socket) {
  PLAIT_TRY(side.open());
  Station station(side);
  PLAIT_TRY(station.open(channel, what.comms, largest(what)));
  Memory memory(room(what));
  for (;;) {
    Task task;
    PLAIT_TRY(channel.get(&task, sizeof task, side.deadline()));
    switch (task.kind) {
      case Task::ping:
        PLAIT_TRY(station.follow_ping(task.bytes, task.count));
        break;
      case Task::stream:
        PLAIT_TRY(station.follow_stream(task.bytes, task.count, task.window));
        break;
      case Task::plain_ping:
      case Task::plain_stream:
        PLAIT_TRY(follow_plain(socket, memory, room(what), task, side));
        break;
      default:
        PLAIT_TRY(station.close());
        return side.close();
    }
  }
}

class Leader {
 public:
  Leader(Side& side, Channel& channel, PlainSocket& socket, const Measure& what)
      : side_(side), channel_(channel), socket_(socket), what_(what), station_(side), memory_(room(what)) {}

  Status open() { return station_.open(channel_, what_.comms, largest(what_)); }
  Status close() {
    PLAIT_TRY(station_.close());
    const Task task{Task::end, 0, 0, 0};
    return channel_.put(&task, sizeof task);
  }

  Status measure(size_t bytes, Figures* figures) {
    figures->bytes = bytes;
    std::vector<Contest> contests;
    PLAIT_TRY(add({Task::ping, bytes, 0, 0}, &contests));
    if (what_.plain) PLAIT_TRY(add({Task::plain_ping, bytes, 0, 0}, &contests));
    for (const size_t window : what_.windows) {
      PLAIT_TRY(add({Task::stream, bytes, 0, window}, &contests));
      if (what_.plain) PLAIT_TRY(add({Task::plain_stream, bytes, 0, window}, &contests));
    }
    for (int round = 0; round < what_.rounds;
         ++round)  // by turns: what changes on the machine changes for all
      for (size_t i = 0; i < contests.size(); ++i) {
        Contest& contest = contests[(i + size_t(round)) % contests.size()];
        double value;
        PLAIT_TRY(run(contest.task, &value));
        contest.values.push_back(value);
      }
    tell(contests, figures);
    return Status();
  }

 private:
  struct Contest {
    Task task;
    std::vector<double> values;  // of each round: us, or GB/s
  };

  // Warms up, and chooses how often it is done in a round.
  Status add(Task task, std::vector<Contest>* contests) {
    task.count = kFirstCount;
    double ignored;
    PLAIT_TRY(run(task, &ignored));
    const int64_t start = now_ns();
    PLAIT_TRY(run(task, &ignored));
    const double each = double(now_ns() - start) / 1e9 / double(kFirstCount);
    const size_t least = task.kind == Task::stream ? 2 * task.window : 3;
    task.count = std::clamp(size_t(kRoundSeconds / each), task.bytes >= size_t{16} << 20 ? 3 : least,
                            std::max(kMostCount, least));
    contests->push_back({task, {}});
    return Status();
  }

  Status run(const Task& task, double* value) {
    PLAIT_TRY(channel_.put(&task, sizeof task));
    std::vector<double> halves;
    const int64_t start = now_ns();
    switch (task.kind) {
      case Task::ping:
        PLAIT_TRY(station_.lead_ping(task.bytes, task.count, &halves));
        break;
      case Task::stream:
        PLAIT_TRY(station_.lead_stream(task.bytes, task.count, task.window));
        break;
      case Task::plain_ping:
        PLAIT_TRY(plain_ping(task, &halves));
        break;
      default:
        PLAIT_TRY(plain_stream(task));
        break;
    }
    const double ns = double(now_ns() - start);
    const double comms = task.kind == Task::stream ? double(what_.comms) : 1;
    *value = halves.empty() ? double(task.bytes) * double(task.count) * comms / ns : median(halves);
    return Status();
  }

  Status plain_ping(const Task& task, std::vector<double>* halves) {
    for (uint64_t i = 0; i < task.count; ++i) {
      const int64_t start = now_ns();
      PLAIT_TRY(socket_.write(memory_.data(), task.bytes));
      PLAIT_TRY(socket_.read(memory_.data(), task.bytes, side_.deadline()));
      halves->push_back(double(now_ns() - start) / 2e3);
    }
    return Status();
  }

  Status plain_stream(const Task& task) {
    for (uint64_t i = 0; i < task.count; ++i) {
      const unsigned char* from = memory_.data() + place_of(i % task.window, task.bytes, room(what_));
      PLAIT_TRY(socket_.write(from, task.bytes));
    }
    return socket_.read(memory_.data(), 8, side_.deadline());
  }

  static std::vector<double> quotients(const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> all;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) all.push_back(a[i] / b[i]);
    return all;
  }

  void tell(const std::vector<Contest>& contests, Figures* figures) const {
    const std::vector<double>& ping = contests.front().values;
    figures->half_us = median(ping);
    if (what_.plain) {
      figures->plain_half_us = median(contests[1].values);
      figures->half_ratio = median(quotients(contests[1].values, ping));
    }
    for (size_t i = 0; i < contests.size(); ++i) {
      if (contests[i].task.kind != Task::stream) continue;
      figures->gbps.push_back(median(contests[i].values));
      if (!what_.plain) continue;
      figures->plain_gbps.push_back(median(contests[i + 1].values));
      figures->ratios.push_back(median(quotients(contests[i].values, contests[i + 1].values)));
    }
  }

  Side& side_;
  Channel& channel_;
  PlainSocket& socket_;
  const Measure& what_;
  Station station_;
  Memory memory_;
};

}  // namespace

Status measure(const Job& job, const Measure& what, const std::function<void(const Figures&)>& tell) {
  PlainSocket one, other;
  PLAIT_TRY(PlainSocket::pair(&one, &other));
  Peer peer;
  PLAIT_TRY(peer.start(job, [&](Side& side, Channel& channel) {
    one.drop();
    return follow(side, channel, what, other);
  }));
  other.drop();
  Side side(job);
  PLAIT_TRY(peer.blame(side.open()));
  Leader leader(side, peer.channel(), one, what);
  PLAIT_TRY(peer.blame(leader.open()));
  for (const size_t bytes : what.sizes) {
    Figures figures;
    PLAIT_TRY(peer.blame(leader.measure(bytes, &figures)));
    tell(figures);
  }
  PLAIT_TRY(peer.blame(leader.close()));
  PLAIT_TRY(peer.finish(side.deadline()));
  return side.close();
}

}  // namespace plait::nccl_drive
