// Every collective over inter-chip links: emulated pods of several shapes, a process a chip, while links flap
// and bits turn over on the way.
#include <sys/mman.h>

#include <memory>
#include <random>

#include "runtime/collective.h"
#include "support/pod.h"
#include "support/ranks.h"

namespace plait::test {
namespace {

// What processes tell each other.
struct Signs {
  std::atomic<int> connected{0};       // ranks
  std::atomic<bool> disturbed{false};  // all kinds of faults were counted
};

template <class T>
struct Mapped {
  T* const at =
      static_cast<T*>(mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  Mapped() { new (at) T; }
  ~Mapped() { munmap(at, sizeof(T)); }
  T* operator->() const { return at; }
};

unsigned fresh_seed() {
  const char* given = std::getenv("PLAIT_TEST_SEED");
  const unsigned seed = given != nullptr ? unsigned(std::atoi(given)) : std::random_device()();
  std::printf("seed %u (PLAIT_TEST_SEED)\n", seed);
  return seed;
}

// Every rank is a host of its own, so that all that ranks say to each other goes over the links.
void use(const EmulatedPod& pod) {
  setenv("PLAIT_NETWORK", pod.network().c_str(), 1);
  setenv("PLAIT_TEST_RANKS_PER_HOST", "1", 1);
}

#ifdef PLAIT_SANITIZED
constexpr size_t kLarge = 6001;
#else
constexpr size_t kLarge = 40001;
#endif

size_t share(Kind kind, size_t elements, int size) {
  return has_blocks(kind) ? (elements + size_t(size) - 1) / size_t(size) : elements;
}

class Rank {
 public:
  Rank(plait_comm* comm, int rank, int size)
      : comm_(comm), rank_(rank), size_(size), bytes_((kLarge + 2000 * size_t(size)) * 8) {
    for (auto& b : buffers_) b = std::make_unique<char[]>(bytes_);
  }
  std::string operator()(const Case& c) {
    const Room room{buffers_[0].get(), buffers_[1].get(), std::min(bytes_, room_for(c, size_))};
    return run_case(c, comm_, room, rank_, size_);
  }
  // All kinds, even and uneven, small ones and some of many packets.
  std::string all(unsigned seed) {
    std::mt19937 random(seed);
    std::string words;
    for (Kind kind : kKinds) {
      for (size_t elements : {size_t(1), size_t(900), kLarge}) {
        const Case c{.kind = kind,
                     .count = share(kind, elements, size_),
                     .in_place = random() % 2 == 0,
                     .root = int(random() % unsigned(size_)),
                     .how = How(random() % 3)};
        if (!(words = (*this)(c)).empty()) return words;
      }
      if (!has_blocks(kind)) continue;
      Case c{.kind = kind, .dtype = PLAIT_INT32, .root = int(random() % unsigned(size_))};
      c.counts = random_counts(kind, size_, kLarge / size_t(size_) / 2, random);
      c.gaps = unsigned(random() % 1000);
      if (!(words = (*this)(c)).empty()) return words;
    }
    return plait_barrier(comm_, nullptr, nullptr) == PLAIT_OK ? "" : plait_last_error(comm_);
  }
  // What rank 0 says of `yes`, on all ranks.
  std::string agree(bool* yes) {
    uint8_t said = *yes;
    if (plait_broadcast(comm_, &said, &said, 1, PLAIT_UINT8, 0, nullptr, nullptr) != PLAIT_OK)
      return plait_last_error(comm_);
    *yes = said != 0;
    return {};
  }

 private:
  plait_comm* const comm_;
  const int rank_, size_;
  const size_t bytes_;
  std::unique_ptr<char[]> buffers_[2];
};

// Some rounds, and more until all faults were counted, or for too long.
std::string run_rounds(const Signs& signs, plait_comm* comm, int rank, int size, unsigned seed) {
  constexpr unsigned kRounds = 3;
  constexpr int kMostSeconds = 60;
  Rank r(comm, rank, size);
  const time_t begin = time(nullptr);
  for (unsigned round = 0;; round++) {
    if (std::string words = r.all(seed + round); !words.empty()) return words;
    bool over = (round + 1 >= kRounds && signs.disturbed) || time(nullptr) - begin > kMostSeconds;
    if (std::string words = r.agree(&over); !words.empty()) return words;
    if (over) return {};
  }
}

// Turns bits over on all links, and cuts one after the other for less than the pod's limit, until the ranks
// have ended.
void disturb(const EmulatedPod& pod, const PodObserver& observer, Signs& signs, unsigned seed,
             const std::function<bool()>& ended) {
  const std::vector<PodPort> links = observer.links();
  std::mt19937 random(seed);
  for (const PodPort& link : links)
    EXPECT_EQ(pod.fault("link " + link.text() + " errors 3000 " + std::to_string(random() % 1000)), "");
  while (!ended()) {
    const PodPort& link = links[random() % links.size()];
    EXPECT_EQ(pod.fault("link " + link.text() + " cut 20ms"), "");
    usleep(30'000);
    signs.disturbed = observer.sum(&icl_port_counters::crc_errors) > 0 &&
                      observer.sum(&icl_port_counters::retries) > 0 &&
                      observer.sum(&icl_port_counters::flaps) > 1;
  }
}

bool all_ended(std::vector<Process>& ranks) {
  return std::all_of(ranks.begin(), ranks.end(), [](const Process& p) {
    siginfo_t info{};
    return waitid(P_PID, id_t(p.pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
  });
}

struct Shape {
  const char *name, *graph;
  int chips;
};
void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.graph; }

class IclCollectives : public testing::TestWithParam<Shape> {};

TEST_P(IclCollectives, AreRightWhileLinksFlapAndBitsTurnOver) {
  const Shape shape = GetParam();
  const unsigned seed = fresh_seed();
  const EmulatedPod pod(std::string(shape.graph) + "; mbps=0 latency=0ns memory=64K silent=60s limit=60s");
  ASSERT_EQ(pod.error(), "");
  use(pod);
  const Mapped<Signs> signs;
  const std::string job = fresh_job();
  std::vector<Process> ranks;
  for (int r = 0; r < shape.chips; r++)
    ranks.push_back(fork_ranks(r, 1, shape.chips, [&](int rank, int size) -> std::string {
      Comm c(job, rank, size);
      return c.status != PLAIT_OK ? c.error : run_rounds(*signs.at, c.comm, rank, size, seed);
    }));
  // After the last fork: it has a thread, which might hold a lock of a sanitizer's allocator meanwhile.
  const PodObserver observer(pod);
  disturb(pod, observer, *signs.at, seed, [&] { return all_ended(ranks); });
  std::string words;
  for (Process& p : ranks) words += join(p);
  EXPECT_EQ(words, "");
  EXPECT_TRUE(signs->disturbed) << "not all faults were counted";
  for (auto [name, counter] : {std::pair("packets", &icl_port_counters::tx_packets),
                               {"bytes", &icl_port_counters::tx_bytes},
                               {"CRC errors", &icl_port_counters::crc_errors},
                               {"retries", &icl_port_counters::retries},
                               {"flaps", &icl_port_counters::flaps}})
    std::printf("%s %llu\n", name, static_cast<unsigned long long>(observer.sum(counter)));
}

INSTANTIATE_TEST_SUITE_P(Pods, IclCollectives,
                         testing::Values(Shape{"ring_of_8", "ring 8", 8}, Shape{"mesh_4x4", "mesh 4x4", 16},
                                         Shape{"hybrid_cube_mesh", "hybrid cube mesh", 8}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace plait::test
