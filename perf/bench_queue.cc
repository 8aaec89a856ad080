// What a queue of gradients gives and costs (docs/queue.md has figures). Under plait-run:
//   plait-run -n 4 build/perf/bench_queue WHAT [--per-host RANKS] [--thread] [--tensors N] [--bytes N]
//       [--rounds N] [--chunk BYTES] [--window BYTES] [--fuse BYTES] [--pace BYTES/S] [--burst BYTES]
//       [--seconds S] [--compute US] [--sleep]
// WHAT is one of
//   priority   N tensors, the last of which has the highest priority, and the same without, in turns
//   fuse       N small tensors: by the queue, by calls one after the other, by calls started at once
//   single     one tensor at a time, by the queue and by a call: what agreeing costs
//   overlap    N tensors while this rank computes: with a progress thread, and without
//   tune       N tensors in each step until autotuning has settled; prints what it tried
//   bulk       N tensors in each step for S seconds; prints the rate
//   small      calls of BYTES for S seconds, 2 ms apart; prints percentiles of their time
// Rank 0 prints; asserts nothing.
#include <plait/plait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

struct Options {
  std::string what;
  int per_host = 0;
  bool thread = false, sleep = false;
  size_t tensors = 50, bytes = 4 << 20;
  int rounds = 15;
  size_t chunk = 0, window = 0, fuse = 0, burst = 0;
  uint64_t pace = 0;
  double seconds = 10, compute_us = 500;
};

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "bench_queue: %s\n", why.c_str());
  std::_Exit(1);
}
void check(plait_status status, const char* what) {
  if (status != PLAIT_OK) die(std::string(what) + ": " + plait_last_error(nullptr));
}
double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}
double percentile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, size_t(part * double(values.size())))];
}
double median(const std::vector<double>& values) { return percentile(values, 0.5); }

Options parse(int argc, char** argv) {
  Options o;
  if (argc < 2) die("say what to measure; the head of its source lists it");
  o.what = argv[1];
  for (int i = 2; i < argc; i++) {
    const std::string name = argv[i];
    if (name == "--thread") {
      o.thread = true;
      continue;
    }
    if (name == "--sleep") {
      o.sleep = true;
      continue;
    }
    if (i + 1 == argc) die(name + " has no value");
    const double value = std::strtod(argv[++i], nullptr);
    if (name == "--per-host")
      o.per_host = int(value);
    else if (name == "--tensors")
      o.tensors = size_t(value);
    else if (name == "--bytes")
      o.bytes = size_t(value);
    else if (name == "--rounds")
      o.rounds = int(value);
    else if (name == "--chunk")
      o.chunk = size_t(value);
    else if (name == "--window")
      o.window = size_t(value);
    else if (name == "--fuse")
      o.fuse = size_t(value);
    else if (name == "--burst")
      o.burst = size_t(value);
    else if (name == "--pace")
      o.pace = uint64_t(value);
    else if (name == "--seconds")
      o.seconds = value;
    else if (name == "--compute")
      o.compute_us = value;
    else
      die("there is no option " + name);
  }
  return o;
}

class Bench {
 public:
  explicit Bench(const Options& o) : o_(o) {
    check(plait_init(nullptr), "plait_init");
    plait_comm_config config{};
    config.struct_size = sizeof config;
    const char* rank = std::getenv("RANK");
    const std::string host =
        o.per_host > 0 && rank != nullptr ? "host" + std::to_string(std::atoi(rank) / o.per_host) : "";
    config.host_id = host.empty() ? nullptr : host.c_str();
    check(plait_comm_create(&config, &comm_), "plait_comm_create");
    plait_comm_rank(comm_, &rank_);
    plait_comm_size(comm_, &size_);
    check(plait_mem_alloc(o.tensors * o.bytes, &memory_), "plait_mem_alloc");
    std::memset(memory_, 0, o.tensors * o.bytes);
  }
  ~Bench() {
    plait_comm_destroy(comm_);
    plait_mem_free(memory_);
    plait_finalize();
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void run() {
    if (o_.what == "priority") return priority();
    if (o_.what == "fuse") return fuse();
    if (o_.what == "single") return single();
    if (o_.what == "overlap") return overlap();
    if (o_.what == "tune") return tune();
    if (o_.what == "bulk") return bulk();
    if (o_.what == "small") return small();
    die("there is nothing called " + o_.what);
  }

 private:
  plait_queue* make(bool thread, bool autotune = false) {
    plait_queue_config c{};
    c.struct_size = sizeof c;
    c.chunk_bytes = o_.chunk;
    c.window_bytes = o_.window;
    c.fuse_bytes = o_.fuse;
    c.pace_bytes_per_s = o_.pace;
    c.pace_burst = o_.burst;
    c.progress_thread = thread;
    c.autotune = autotune;
    plait_queue* queue = nullptr;
    check(plait_queue_create(comm_, &c, &queue), "plait_queue_create");
    return queue;
  }
  float* at(size_t tensor) {
    return reinterpret_cast<float*>(static_cast<char*>(memory_) + tensor * o_.bytes);
  }
  size_t count() const { return o_.bytes / sizeof(float); }
  void meet() { check(plait_barrier(comm_, nullptr, nullptr), "plait_barrier"); }
  void push(plait_queue* queue, size_t k, int32_t priority, plait_request** request) {
    check(plait_queue_push(queue, k, at(k), count(), PLAIT_FLOAT32, PLAIT_SUM, priority, request),
          "plait_queue_push");
  }
  void push_all(plait_queue* queue) {
    for (size_t k = 0; k < o_.tensors; k++) push(queue, k, 0, nullptr);
  }
  // Rank 0 decides for all.
  bool go_on(bool mine) {
    int32_t more = mine;
    check(plait_broadcast(comm_, &more, &more, 1, PLAIT_INT32, 0, nullptr, nullptr), "plait_broadcast");
    return more != 0;
  }
  void say(const char* format, ...) const __attribute__((format(printf, 2, 3))) {
    if (rank_ != 0) return;
    va_list list;
    va_start(list, format);
    std::vprintf(format, list);
    va_end(list);
    std::fflush(stdout);
  }

  // Pushes all, the last one with `priority`. `last`: how long that one took.
  double push_and_wait(plait_queue* queue, int32_t priority, double* last) {
    plait_request* request = nullptr;
    meet();
    const double begin = now();
    for (size_t k = 0; k + 1 < o_.tensors; k++) push(queue, k, 0, nullptr);
    const double pushed = now();
    push(queue, o_.tensors - 1, priority, &request);
    check(plait_wait(request), "plait_wait");
    *last = now() - pushed;
    check(plait_queue_flush(queue), "plait_queue_flush");
    const double total = now() - begin;
    check(plait_request_free(request), "plait_request_free");
    return total;
  }
  // As which of those that were not done when it was pushed is the last one done?
  int place_of_last(plait_queue* queue, int32_t priority) {
    std::vector<plait_request*> requests(o_.tensors);
    meet();
    const auto forget = [](plait_request*& r) {
      check(plait_request_free(r), "plait_request_free");
      r = nullptr;
    };
    for (size_t k = 1; k < o_.tensors; k++) push(queue, k, 0, &requests[k]);
    meet();
    for (size_t k = 1; k < o_.tensors; k++) {
      int done = 0;
      check(plait_test(requests[k], &done), "plait_test");
      if (done != 0) forget(requests[k]);
    }
    push(queue, 0, priority, &requests[0]);  // looked at first
    for (int place = 1;; place++) {
      size_t index = 0;
      check(plait_wait_any(requests.data(), requests.size(), &index), "plait_wait_any");
      forget(requests[index]);
      if (index != 0) continue;
      check(plait_queue_flush(queue), "plait_queue_flush");
      for (plait_request*& r : requests) forget(r);
      return place;
    }
  }
  void priority() {
    plait_queue* queues[2] = {make(o_.thread), make(o_.thread)};
    std::vector<double> total[2], last[2], place[2];
    for (int r = -1; r < o_.rounds; r++) {
      for (int j = 0; j < 2; j++) {
        const int i = (j + r + 1) % 2;
        double one = 0;
        const double all = push_and_wait(queues[i], i, &one);
        const int at = place_of_last(queues[i], i);
        if (r < 0) continue;
        total[i].push_back(all * 1e3);
        last[i].push_back(one * 1e3);
        place[i].push_back(at);
      }
    }
    say("%d ranks, %zu tensors of %zu bytes, median of %d\n", size_, o_.tensors, o_.bytes, o_.rounds);
    for (int i = 0; i < 2; i++) {
      say("  %-22s all done in %8.2f ms, the last pushed in %8.2f ms, as number %.0f (at worst %.0f)\n",
          i == 0 ? "equal priorities:" : "the last goes first:", median(total[i]), median(last[i]),
          median(place[i]), percentile(place[i], 1));
    }
    say("  total: %+.1f %%\n", 100 * (median(total[1]) / median(total[0]) - 1));
    for (plait_queue* q : queues) check(plait_queue_destroy(q), "plait_queue_destroy");
  }

  void fuse() {
    plait_queue* queue = make(o_.thread);
    std::vector<plait_request*> requests(o_.tensors);
    std::vector<double> fused, calls, started;
    for (int r = -2; r < o_.rounds; r++) {
      meet();
      double begin = now();
      push_all(queue);
      check(plait_queue_flush(queue), "plait_queue_flush");
      const double by_queue = now() - begin;
      meet();
      begin = now();
      for (size_t k = 0; k < o_.tensors; k++)
        check(plait_allreduce(comm_, at(k), at(k), count(), PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr),
              "plait_allreduce");
      const double by_calls = now() - begin;
      meet();
      begin = now();
      for (size_t k = 0; k < o_.tensors; k++)
        check(plait_allreduce(comm_, at(k), at(k), count(), PLAIT_FLOAT32, PLAIT_SUM, nullptr, &requests[k]),
              "plait_allreduce");
      for (plait_request* one : requests) {
        check(plait_wait(one), "plait_wait");
        check(plait_request_free(one), "plait_request_free");
      }
      const double at_once = now() - begin;
      if (r < 0) continue;
      fused.push_back(by_queue * 1e3);
      calls.push_back(by_calls * 1e3);
      started.push_back(at_once * 1e3);
    }
    say("%d ranks, %zu tensors of %zu bytes, median of %d: queue %.2f ms, calls one by one %.2f ms (%.1f "
        "times), "
        "started at once %.2f ms (%.1f times)\n",
        size_, o_.tensors, o_.bytes, o_.rounds, median(fused), median(calls), median(calls) / median(fused),
        median(started), median(started) / median(fused));
    explain(queue);
    check(plait_queue_destroy(queue), "plait_queue_destroy");
  }

  void single() {
    plait_queue* queue = make(o_.thread);
    std::vector<double> queued, called;
    for (int r = -20; r < o_.rounds * 100; r++) {
      double begin = now();
      plait_request* request = nullptr;
      push(queue, 0, 0, &request);
      check(plait_wait(request), "plait_wait");
      if (r >= 0) queued.push_back((now() - begin) * 1e6);
      check(plait_request_free(request), "plait_request_free");
      begin = now();
      check(plait_allreduce(comm_, at(0), at(0), count(), PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr),
            "plait_allreduce");
      if (r >= 0) called.push_back((now() - begin) * 1e6);
    }
    say("%d ranks, %zu bytes: queue %.1f us, call %.1f us\n", size_, o_.bytes, median(queued),
        median(called));
    check(plait_queue_destroy(queue), "plait_queue_destroy");
  }

  // Arithmetic for so long as it takes when nothing else runs.
  void compute(uint64_t steps) {
    if (o_.sleep) {
      usleep(unsigned(o_.compute_us));
      return;
    }
    for (uint64_t i = 0; i < steps; i++) state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : : "r"(state_));
  }
  void overlap() {
    double begin = now();
    if (!o_.sleep) compute(20'000'000);
    const auto steps = uint64_t(o_.compute_us * 1e-6 * 20e6 / (now() - begin));
    plait_queue* queues[2] = {make(false), make(true)};
    std::vector<double> alone, queue_only[2], both[2];
    for (int r = -1; r < o_.rounds; r++) {
      meet();
      begin = now();
      for (size_t k = 0; k < o_.tensors; k++) compute(steps);
      if (r >= 0) alone.push_back((now() - begin) * 1e3);
      for (int i = 0; i < 2; i++) {
        for (const bool computes : {false, true}) {
          meet();
          begin = now();
          for (size_t k = 0; k < o_.tensors; k++) {
            if (computes) compute(steps);
            push(queues[i], k, int32_t(k), nullptr);
          }
          check(plait_queue_flush(queues[i]), "plait_queue_flush");
          if (r >= 0) (computes ? both : queue_only)[i].push_back((now() - begin) * 1e3);
        }
      }
    }
    say("%d ranks, %zu tensors of %zu bytes, a push each %.0f us of computing (%.2f ms), median of %d\n",
        size_, o_.tensors, o_.bytes, o_.compute_us, median(alone), o_.rounds);
    for (int i = 0; i < 2; i++)
      say("  %-17s sums alone %8.2f ms, with computing %8.2f ms\n",
          i == 0 ? "without a thread:" : "with a thread:", median(queue_only[i]), median(both[i]));
    for (plait_queue* q : queues) check(plait_queue_destroy(q), "plait_queue_destroy");
  }

  void explain(plait_queue* queue) {
    std::string text(1 << 16, '\0');
    size_t length = 0;
    check(plait_queue_explain(queue, text.data(), text.size(), &length), "plait_queue_explain");
    text.resize(std::min(length, text.size()));
    settled_ = text.find("autotune, settled") != std::string::npos;
    explained_ = text;
    if (o_.what == "fuse") say("%s", text.c_str());
  }
  void tune() {
    plait_queue* queue = make(o_.thread, true);
    const double begin = now();
    do {
      push_all(queue);
      check(plait_queue_flush(queue), "plait_queue_flush");
      explain(queue);
    } while (go_on(!settled_ && now() - begin < o_.seconds));
    say("%s", explained_.c_str());
    check(plait_queue_destroy(queue), "plait_queue_destroy");
  }

  void bulk() {
    plait_queue* queue = make(o_.thread);
    push_all(queue);
    check(plait_queue_flush(queue), "plait_queue_flush");
    uint64_t bytes = 0;
    const double begin = now();
    do {
      push_all(queue);
      check(plait_queue_flush(queue), "plait_queue_flush");
      bytes += o_.tensors * o_.bytes;
    } while (go_on(now() - begin < o_.seconds));
    say("bulk: %.2f MB/s\n", double(bytes) / (now() - begin) * 1e-6);
    check(plait_queue_destroy(queue), "plait_queue_destroy");
  }

  void small() {
    std::vector<double> us;
    const double begin = now();
    do {
      usleep(2000);
      const double from = now();
      check(plait_allreduce(comm_, at(0), at(0), count(), PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr),
            "plait_allreduce");
      us.push_back((now() - from) * 1e6);
    } while (go_on(now() - begin < o_.seconds));
    say("small: %zu calls of %zu bytes: median %.0f us, 99th percentile %.0f us, most %.0f us\n", us.size(),
        o_.bytes, median(us), percentile(us, 0.99), percentile(us, 1));
  }

  const Options& o_;
  plait_comm* comm_ = nullptr;
  int32_t rank_ = 0, size_ = 1;
  void* memory_ = nullptr;
  uint64_t state_ = 1;
  bool settled_ = false;
  std::string explained_;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  Bench(options).run();
  return 0;
}
