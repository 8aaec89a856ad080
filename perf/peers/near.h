// A host may move the two cores of a virtual machine about, for tenths of a second or for minutes: to two threads of one core, to
// neighbours, or far apart, where what passes between them takes five times as long. Times of one kind tell nothing beside those of
// another. So two ranks with a core each look, before a point is measured, whether the cores are as they mostly are where they are
// neither threads of one core nor far apart, move them until they are, and look again afterwards. Part of bench.h.
//
// How they are moved: a host places a core anew when it wakes from having halted. While both are busy they stay for seconds as they
// are. Where one was halted for 20 ms and the other was busy they are neighbours in half of all looks afterwards.
//
// Environment: BENCH_NEAR, a file that all runs to be compared share; what is known of the distances is kept there.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace bench {

// What the two ranks exchange. Zero at first.
struct alignas(128) Ball {
  std::atomic<uint64_t> hops;
  double us;
};

// Microseconds that a line takes from one core to the other. `usual`: mostly, of those that are neither far nor threads of one core; 0
// before the first survey. `again`: how often a point was taken again.
struct Distances {
  std::atomic<double> nearest, farthest, usual;
  std::atomic<uint64_t> again;
};

inline double monotonic_us() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

// Both ranks call each function at once, with a barrier of theirs.
class Cores {
 public:
  static constexpr int kHops = 400;        // there and back, 30 to 250 us
  static constexpr int kLooks = 50;        // of a survey
  static constexpr int kMostLooks = 3000;  // of one that finds no neighbours: a minute
  static constexpr double kNeighbours_us = 0.1;  // at most, of cores that share a cache: 0.03 to 0.05 on a Zen 3 and a Zen 5
  static constexpr int kTries = 40;        // for a point, of 20 ms
  static constexpr int kTriesOfAll = 300;  // for a process: cores that stay apart are not worth more than six seconds
  static constexpr int kHaltUs = 20000;
  static constexpr int kTurns = 10000;     // of an effort, 8 us
  static constexpr double kShared = 1.5;   // times the effort of two cores: threads of one core take about twice that

  Cores(Ball* ball, int rank) : ball_(ball), rank_(rank) {
    const char* path = getenv("BENCH_NEAR");
    const int fd = path && *path ? open(path, O_RDWR | O_CREAT, 0600) : -1;
    if (fd >= 0 && ftruncate(fd, sizeof(Distances)) == 0) {
      void* at = mmap(nullptr, sizeof(Distances), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      if (at != MAP_FAILED) known_ = static_cast<Distances*>(at);
    }
    if (fd >= 0) close(fd);
  }

  // Until they are near, or it is not worth while.
  template <class Wait>
  void come_near(Wait wait) {
    if (needs_survey(wait)) survey(wait);
    for (int i = 0; i < kTries && tries_ < kTriesOfAll && !near(wait); i++, tries_++) move();
  }

  // Are they as they mostly are? The same answer on both.
  template <class Wait>
  bool near(Wait wait) {
    const double us = distance(wait), usual = known_->usual;
    return us > usual * 0.6 && us < usual * 1.6;
  }

  void taken_again() {
    if (rank_ == 0) known_->again++;
  }

 private:
  template <class Wait>
  bool needs_survey(Wait wait) {
    wait();  // else one might see what the other is about to write
    const bool needs = known_->usual == 0;
    wait();
    return needs;
  }
  struct Look {
    double effort, us;
  };
  // The median of the distances that are at most four times the shortest, of those from one core to another: a tenth of kLooks, or
  // more, must be of such.
  static double usual_of(std::vector<Look> looks) {
    std::sort(looks.begin(), looks.end(), [](const Look& a, const Look& b) { return a.effort < b.effort; });
    const double most = looks[kLooks / 10].effort * kShared;
    std::vector<double> all;
    for (const Look& look : looks) {
      if (look.effort < most) all.push_back(look.us);
    }
    std::sort(all.begin(), all.end());
    const auto far = std::upper_bound(all.begin(), all.end(), 4 * all.front());
    return all[size_t(far - all.begin()) / 2];
  }
  // A host that has the cores far apart just now is waited for: else all that is compared were of cores as they seldom are.
  template <class Wait>
  void survey(Wait wait) {
    std::vector<Look> looks;
    double usual = 0;
    for (int i = 0; i < kLooks || (usual > kNeighbours_us && i < kMostLooks); i++, move()) {
      const double us = distance(wait);
      looks.push_back({effort(wait), us});
      if (i + 1 >= kLooks) usual = usual_of(looks);
    }
    known_->usual = usual;  // both write the same
    wait();
  }
  // Microseconds of a loop that leaves no unit of a core idle, on both at once: the median of three.
  template <class Wait>
  double effort(Wait wait) {
    wait();
    double took[3];
    for (double& us : took) {
      const double begin = monotonic_us();
      uint64_t a = 0, b = 0, c = 0, d = 0;
      for (int i = 0; i < kTurns; i++)
        asm volatile("add $1, %0\n add $1, %1\n add $1, %2\n add $1, %3\n add $1, %0\n add $1, %1\n add $1, %2\n add $1, %3"
                     : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
      us = monotonic_us() - begin;
    }
    std::sort(took, took + 3);
    if (rank_ == 0) ball_->us = took[1];
    wait();
    const double us = ball_->us;
    wait();
    return us;
  }
  template <class Wait>
  double distance(Wait wait) {
    wait();
    const double begin = monotonic_us();
    for (int i = 0; i < kHops; i++) hop();
    if (rank_ == 0) ball_->us = keep((monotonic_us() - begin) / (2 * kHops));
    wait();
    const double us = ball_->us;
    wait();
    return us;
  }
  void move() {
    if (rank_ == 1) usleep(kHaltUs);
    for (const double end = monotonic_us() + kHaltUs; rank_ == 0 && monotonic_us() < end;) {
    }
  }
  void hop() {
    const uint64_t mine = 2 * count_ + (rank_ == 0 ? 0 : 1);
    if (rank_ == 0) ball_->hops.store(mine + 1, std::memory_order_release);
    while (ball_->hops.load(std::memory_order_acquire) != (rank_ == 0 ? mine + 2 : mine)) __builtin_ia32_pause();
    if (rank_ == 1) ball_->hops.store(mine + 1, std::memory_order_release);
    count_++;
  }
  double keep(double us) {
    if (known_->nearest == 0 || us < known_->nearest) known_->nearest = us;
    if (us > known_->farthest) known_->farthest = us;
    return us;
  }

  Distances own_{};
  Distances* known_ = &own_;
  Ball* ball_;
  int rank_;
  int tries_ = 0;
  uint64_t count_ = 0;
};

}  // namespace bench
