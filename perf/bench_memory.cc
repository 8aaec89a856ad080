// What a communicator costs a rank in memory, and how long it takes to make one: resident bytes after it was
// made, after small and large operations, after every rank talked to every other, and idle again. Each rank
// has made and destroyed a communicator before, so that what a process needs once is not counted. Run it
// under plait-run:
//   plait-run -n 64 build/perf/bench_memory [--plain] [--large MIB] [--per-host RANKS] [--threads RANKS]
// Prints a table; asserts nothing.
#include <fcntl.h>
#include <malloc.h>
#include <plait/plait.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Options {
  bool plain = false;  // buffers of malloc(), else of plait_mem_alloc()
  size_t large_mib = 64;
  int per_host = 0;  // ranks that share memory; 0: all
  int threads = 1;   // ranks a process
};

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "bench_memory: %s\n", why.c_str());
  std::_Exit(1);
}
void check(plait_status status, const char* what, plait_comm* comm = nullptr) {
  if (status != PLAIT_OK) die(std::string(what) + ": " + plait_last_error(comm));
}

int number_of(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) die(std::string(name) + " is not set: run it under plait-run");
  return std::atoi(value);
}

double now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) * 1e3 + double(now.tv_nsec) / 1e6;
}

// All ranks of the job meet here between phases, so that nothing moves while they look at their memory. Not
// by plait: that would change what is measured.
class Meeting {
 public:
  Meeting(const char* job, int ranks) : name_("/bench-memory-" + std::string(job)), ranks_(uint32_t(ranks)) {
    std::replace(name_.begin() + 1, name_.end(), '/', '-');
    const int fd = shm_open(name_.c_str(), O_CREAT | O_RDWR, 0600);
    if (fd < 0 || ftruncate(fd, 4096) != 0) die("shm_open: " + std::string(std::strerror(errno)));
    void* at = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) die("mmap: " + std::string(std::strerror(errno)));
    close(fd);
    arrived_ = static_cast<std::atomic<uint32_t>*>(at);
  }
  void end() { shm_unlink(name_.c_str()); }
  // `turn`: how often the caller has been here.
  void wait(uint32_t& turn) {
    const uint32_t all = ++turn * ranks_;
    arrived_->fetch_add(1);
    const timespec nap{0, 2'000'000};
    for (double until = now_ms() + 120e3; arrived_->load() < all; nanosleep(&nap, nullptr)) {
      if (now_ms() > until) die("not every rank came in 120 s");
    }
  }

 private:
  std::string name_;
  uint32_t ranks_;
  std::atomic<uint32_t>* arrived_ = nullptr;
};

// Of a process, in bytes.
struct Sample {
  double heap = 0;      // in use, by the allocator's own count
  double resident = 0;  // private pages: heap, stacks, anonymous mappings
  double shared = 0;    // pages of the shared memory that this process owns
  double total() const { return resident + shared; }
};

int shared_memory() {
  void* some = nullptr;
  check(plait_mem_alloc(1, &some), "plait_mem_alloc");
  check(plait_mem_free(some), "plait_mem_free");
  for (int fd = 0; fd < 256; fd++) {
    char path[64], target[256] = {};
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (readlink(path, target, sizeof target - 1) > 0 && std::strstr(target, "memfd:plait") != nullptr)
      return fd;
  }
  die("the shared memory of this process is not to be found");
}

double private_pages() {
  std::FILE* file = std::fopen("/proc/self/smaps_rollup", "r");
  if (file == nullptr) die("no /proc/self/smaps_rollup");
  char line[256];
  double kib = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "Anonymous: %lf kB", &kib) == 1) break;
  }
  std::fclose(file);
  return kib * 1024;
}

Sample sample(int shared_fd) {
  malloc_trim(0);  // what is free must not look used
  Sample s;
  const struct mallinfo2 heap = mallinfo2();
  s.heap = double(heap.uordblks + heap.hblkhd);
  s.resident = private_pages();
  struct stat about {};
  if (fstat(shared_fd, &about) != 0) die("fstat");
  s.shared = double(about.st_blocks) * 512;
  return s;
}

constexpr std::array kPhases = {
    "made",         "8 B allreduce",          "large allreduce", "idle (100 x 8 B)",
    "8 B alltoall", "64 KiB alltoall a rank", "idle (100 x 8 B)"};

class Rank {
 public:
  Rank(const Options& options, Meeting& meeting, int rank, int size, int shared_fd)
      : options_(options), meeting_(meeting), rank_(rank), size_(size), fd_(shared_fd) {}

  void run() {
    warm_up();
    if (speaks()) base_ = sample(fd_);
    meeting_.wait(turn_);
    make();
    look();
    allreduce(8, 1);
    look();
    allreduce(options_.large_mib << 20, 2);
    look();
    allreduce(8, 100);
    look();
    alltoall(8, 1);
    look();
    alltoall(size_t{64} << 10, 2);
    look();
    allreduce(8, 100);
    look();
    tell();
    check(plait_comm_destroy(comm_), "plait_comm_destroy");
  }

 private:
  bool speaks() const { return rank_ % options_.threads == 0; }  // for its process

  // What a process needs once (OpenSSL, tables, arenas) is not the communicator's.
  void warm_up() {
    make();
    allreduce(8, 1);
    check(plait_comm_destroy(comm_), "plait_comm_destroy");
    meeting_.wait(turn_);
  }

  void make() {
    const std::string host = "bench-" + std::to_string(options_.per_host > 0 ? rank_ / options_.per_host : 0);
    plait_comm_config config{};
    config.struct_size = sizeof config;
    config.rank = rank_;
    config.size = size_;
    if (options_.per_host > 0) config.host_id = host.c_str();
    const double start = now_ms();
    check(plait_comm_create(&config, &comm_), "plait_comm_create");
    made_ms_ = now_ms() - start;
  }

  void look() {
    meeting_.wait(turn_);
    if (speaks()) {
      Sample s = sample(fd_);
      s.heap -= base_.heap;
      s.resident -= base_.resident;
      s.shared -= base_.shared;
      seen_.push_back(s);
    }
    meeting_.wait(turn_);
  }

  std::byte* buffer(size_t bytes) const {
    void* at = nullptr;
    if (options_.plain) {
      at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (at == MAP_FAILED) die("no memory for buffers");
    } else {
      check(plait_mem_alloc(bytes, &at), "plait_mem_alloc");
    }
    return static_cast<std::byte*>(at);
  }
  void drop(std::byte* at, size_t bytes) const {
    options_.plain ? void(munmap(at, bytes)) : check(plait_mem_free(at), "plait_mem_free");
  }

  void allreduce(size_t bytes, int times) {
    std::byte* data = buffer(bytes);
    const double start = now_ms();
    for (int i = 0; i < times; i++) {
      check(plait_allreduce(comm_, data, data, bytes / 4, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr),
            "plait_allreduce", comm_);
    }
    if (seen_.size() == 1) first_ms_ = now_ms() - start;
    // Others may still read from it.
    meeting_.wait(turn_);
    drop(data, bytes);
  }

  // `bytes` to each rank.
  void alltoall(size_t bytes, int times) {
    const size_t all = bytes * size_t(size_);
    std::byte *in = buffer(all), *out = buffer(all);
    for (int i = 0; i < times; i++) {
      check(plait_alltoall(comm_, in, out, bytes, PLAIT_INT8, nullptr, nullptr), "plait_alltoall", comm_);
    }
    meeting_.wait(turn_);
    drop(in, all);
    drop(out, all);
  }

  // Rank 0 prints what all of them saw.
  void tell() {
    constexpr size_t kWords = kPhases.size() * 3 + 2;
    std::array<double, kWords> mine{made_ms_, first_ms_};
    for (size_t i = 0; i < seen_.size(); i++) {
      mine[2 + 3 * i] = seen_[i].heap;
      mine[3 + 3 * i] = seen_[i].resident;
      mine[4 + 3 * i] = seen_[i].shared;
    }
    std::vector<double> all(kWords * size_t(size_));
    check(plait_allgather(comm_, mine.data(), all.data(), kWords, PLAIT_FLOAT64, nullptr, nullptr),
          "plait_allgather", comm_);
    if (rank_ == 0) print(all, kWords);
  }

  void print(const std::vector<double>& all, size_t words) const {
    const auto most = [&](size_t word) {
      double value = 0;
      for (size_t r = 0; r < size_t(size_); r++) value = std::max(value, all[r * words + word]);
      return value;
    };
    std::printf(
        "%d ranks, %d a process, %s, %s: made in %.1f ms, first allreduce in %.1f ms (slowest rank)\n", size_,
        options_.threads, options_.plain ? "plain buffers" : "buffers of plait_mem_alloc",
        options_.per_host > 0 ? ("hosts of " + std::to_string(options_.per_host)).c_str() : "one host",
        most(0), most(1));
    std::printf("KiB a rank, mean (most)   %18s %18s %18s %18s\n", "heap in use", "private pages",
                "own shared pages", "resident");
    for (size_t i = 0; i < kPhases.size(); i++) row(all, words, i);
  }

  void row(const std::vector<double>& all, size_t words, size_t phase) const {
    double mean[4] = {}, most[4] = {};
    const int processes = size_ / options_.threads;
    for (int p = 0; p < processes; p++) {
      const double* at = &all[size_t(p * options_.threads) * words + 2 + 3 * phase];
      const double values[4] = {at[0], at[1], at[2], at[1] + at[2]};
      for (int k = 0; k < 4; k++) {
        const double kib = values[k] / 1024 / options_.threads;
        mean[k] += kib / processes;
        most[k] = std::max(most[k], kib);
      }
    }
    std::printf("%-25s", kPhases[phase]);
    for (int k = 0; k < 4; k++) std::printf("  %8.0f (%6.0f)", mean[k], most[k]);
    std::printf("\n");
  }

  const Options& options_;
  Meeting& meeting_;
  const int rank_, size_, fd_;
  uint32_t turn_ = 0;
  plait_comm* comm_ = nullptr;
  double made_ms_ = 0, first_ms_ = 0;
  Sample base_;
  std::vector<Sample> seen_;
};

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; i++) {
    const std::string name = argv[i];
    if (name == "--plain") {
      o.plain = true;
      continue;
    }
    const int value = i + 1 < argc ? std::atoi(argv[++i]) : 0;
    if (value <= 0) die("usage: [--plain] [--large MIB] [--per-host RANKS] [--threads RANKS]");
    if (name == "--large")
      o.large_mib = size_t(value);
    else if (name == "--per-host")
      o.per_host = value;
    else if (name == "--threads")
      o.threads = value;
    else
      die("unknown option " + name);
  }
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const int process = number_of("RANK"), size = number_of("WORLD_SIZE") * options.threads;
  const char* job = std::getenv("PLAIT_JOB");
  check(plait_init(nullptr), "plait_init");
  check(plait_mem_keep(0), "plait_mem_keep");  // what is kept of buffers is not the communicator's
  Meeting meeting(job == nullptr ? "job" : job, size);
  const int fd = shared_memory();
  std::vector<std::thread> threads;
  for (int t = 1; t < options.threads; t++)
    threads.emplace_back([&, t] { Rank(options, meeting, process * options.threads + t, size, fd).run(); });
  Rank(options, meeting, process * options.threads, size, fd).run();
  for (auto& thread : threads) thread.join();
  if (process == 0) meeting.end();
  check(plait_finalize(), "plait_finalize");
  return 0;
}
