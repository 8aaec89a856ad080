// icl-ping: latency and bandwidth between two chips, with the way there.
#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <vector>

#include "drivers/icl/icl_route.h"
#include "tools/icl/device.h"
#include "tools/icl/meet.h"

namespace {

using namespace plait::icl;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kSizes[] = {8, 4096};  // whose latency is measured
constexpr uint64_t kMostBytes = 1 << 30;
constexpr uint32_t kMostCount = 1'000'000;

struct {
  std::string address;
  uint32_t from = 0, to = 1, count = 1000;
  uint64_t bytes = 1 << 20;
  uint16_t listen = 0;  // the other chip is another process's, which joins here,
  std::string join;     // or listens there
} options;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A chip's end: what is sent, where the peer writes, and a semaphore in its last words.
struct End {
  icl_completions* ring = nullptr;
  icl_queue* queue = nullptr;
  icl_memory* memory = nullptr;
  icl_exported* key = nullptr;
  icl_remote* peer = nullptr;

  End(const Device& device, uint32_t chip) {
    icl_queue_config config{};
    config.struct_size = sizeof config;
    config.chip = chip;
    check(icl_completions_open(device.get(), 0, &ring));
    check(icl_queue_open(ring, &config, &queue));
    check(icl_alloc(device.get(), chip, options.bytes + 64, &memory));
    check(icl_export(memory, 0, options.bytes + 64, ICL_READ | ICL_WRITE | ICL_SIGNAL, &key));
  }
  ~End() {
    icl_queue_close(queue);
    icl_revoke(key);
    icl_free(memory);
    icl_completions_close(ring);
  }
  End(const End&) = delete;
  void connect(const void* ticket, const void* peer_key) {
    check(icl_connect(queue, ticket));
    check(icl_import(queue, peer_key, &peer));
  }
  void connect(const End& other) { connect(icl_ticket(other.queue), icl_key(other.key)); }
  uint64_t word_at() const { return (options.bytes + 7) / 8 * 8; }
  uint64_t word() const {
    return std::atomic_ref(*reinterpret_cast<uint64_t*>(static_cast<char*>(icl_map(memory)) + word_at()))
        .load();
  }
  [[noreturn]] void fail() const {
    char why[400];
    icl_queue_why(queue, why, sizeof why);
    throw std::runtime_error(why);
  }
  bool post(uint64_t bytes, uint32_t flags, bool signal) const {
    icl_descriptor d{};
    d.verb = ICL_VERB_WRITE;
    d.flags = flags;
    d.bytes = bytes;
    d.local = memory;
    d.remote = peer;
    d.signal = signal ? peer : nullptr;
    d.signal_offset = word_at();
    d.add = 1;
    size_t taken = 0;
    if (icl_post(queue, &d, 1, &taken) == ICL_ERR_STATE) fail();
    return taken == 1;
  }
  // Posts, and drops completions, until it is taken.
  void send(uint64_t bytes) const {
    icl_completion none;
    while (!post(bytes, 0, true)) icl_poll(ring, &none, 1);
  }
  void await(uint64_t value) const {
    // Engines are threads, which may need this core.
    for (uint32_t looks = 1; word() < value; looks++) {
      if (icl_queue_state(queue) == ICL_QUEUE_FAILED) fail();
      if (looks % 256 == 0) sched_yield();
    }
  }
};

// Chips that nobody runs are run here, so that a pod need not have anybody in it.
Device open_idle_chips() {
  const Device observer = open(options.address);
  const auto info = query<icl_device_info>(icl_query_device, observer);
  std::string chips;
  for (uint32_t chip = 0; chip < info.chips; chip++)
    if (query<icl_chip_info>(icl_query_chip, observer, chip).state != ICL_CHIP_RUNNING)
      chips += (chips.empty() ? "?chips=" : ",") + std::to_string(chip);
  return open(options.address + chips);
}

void print_way(const Device& device) {
  std::vector<icl_end> hops(ICL_MAX_CHIPS);
  const int32_t n = icl_route_hops(device.get(), options.from, options.to, hops.data(), hops.size());
  check(std::min(n, 0));
  std::printf("%d hops:", n);
  for (int32_t i = 0; i < n; i++)
    std::printf(" chip %u port %u ->", hops[static_cast<size_t>(i)].chip, hops[static_cast<size_t>(i)].port);
  std::printf(" chip %u\n", options.to);
}

// What the other end does: for each that comes, one goes back.
void answer(const End& b, uint64_t bytes, uint64_t first, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    b.await(first + i);
    b.send(bytes);
  }
}

// `b`: the other end, if it is of this process; else somebody answers.
void measure_latency(const End& a, const End* b, uint64_t bytes) {
  std::vector<double> us;
  const uint64_t before_a = a.word(), before_b = b == nullptr ? 0 : b->word();
  for (uint64_t i = 1; i <= options.count; i++) {
    const auto start = Clock::now();
    a.send(bytes);
    if (b != nullptr) answer(*b, bytes, before_b + i, 1);
    a.await(before_a + i);
    us.push_back(seconds_since(start) * 1e6 / 2);
  }
  std::sort(us.begin(), us.end());
  std::printf("%10llu bytes  latency us: least %.1f  median %.1f  99%% %.1f\n",
              static_cast<unsigned long long>(bytes), us.front(), us[us.size() / 2],
              us[us.size() * 99 / 100]);
}

void measure_bandwidth(const End& a) {
  const auto start = Clock::now();
  const uint32_t count = std::clamp<uint32_t>(options.count / 10, 8, 1000);
  for (uint32_t posted = 0, done = 0; done < count;) {
    icl_completion c{};
    const bool more = posted < count && a.post(options.bytes, ICL_WANT_COMPLETION, false);
    posted += more;
    if (icl_poll(a.ring, &c, 1) == 0) {
      // Who sleeps leaves the cores to the engines.
      pollfd wake = {icl_wait_fd(a.ring), POLLIN, 0};
      if (!more && icl_arm(a.ring) == ICL_OK) poll(&wake, 1, 1000);
      continue;
    }
    if (c.status != ICL_OK) a.fail();
    done++;
  }
  const double seconds = seconds_since(start);
  std::printf("%10llu bytes  bandwidth %.1f MB/s\n", static_cast<unsigned long long>(options.bytes),
              static_cast<double>(options.bytes) * count / seconds / 1e6);
}

void measure(const End& a, const End* b) {
  for (uint64_t bytes : kSizes)
    if (bytes <= options.bytes) measure_latency(a, b, bytes);
  measure_bandwidth(a);
}

void answer_all(const End& b) {
  uint64_t first = 1;
  for (uint64_t bytes : kSizes) {
    if (bytes > options.bytes) continue;
    answer(b, bytes, first, options.count);
    first += options.count;
  }
}

void check_wishes(const Card& card) {
  if (card.bytes < 8 || card.bytes > kMostBytes || card.count < 1 || card.count > kMostCount)
    throw std::runtime_error("the other process is not icl-ping, or of another version");
  options.bytes = card.bytes;
  options.count = static_cast<uint32_t>(card.count);
}

void ping_other() {
  const bool joins = !options.join.empty();
  const Meeting meeting = joins ? Meeting::join(options.join) : Meeting::listen(options.listen);
  Card mine{{}, {}, options.bytes, options.count};
  Card theirs{};
  if (joins)
    meeting.say(mine);  // once for the wishes
  else
    check_wishes(meeting.hear());
  const Device device = open(options.address + "?chips=" + std::to_string(options.from));
  print_way(device);
  End end(device, options.from);
  std::copy_n(static_cast<const unsigned char*>(icl_ticket(end.queue)), sizeof mine.ticket, mine.ticket);
  std::copy_n(static_cast<const unsigned char*>(icl_key(end.key)), sizeof mine.key, mine.key);
  meeting.say(mine);
  theirs = meeting.hear();
  end.connect(theirs.ticket, theirs.key);
  meeting.ready();
  if (joins)
    measure(end, nullptr);
  else
    answer_all(end);
  meeting.ready();
}

void ping() {
  if (options.listen != 0 || !options.join.empty()) {
    ping_other();
    return;
  }
  const Device device = open_idle_chips();
  print_way(device);
  End a(device, options.from), b(device, options.to);
  a.connect(b);
  b.connect(a);
  measure(a, &b);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Latency and bandwidth between two chips of a pod; chips that nobody runs are run here.",
               "icl-ping");
  app.add_option("address", options.address, "a device, as emu:/dev/shm/pod, pciwin")->required();
  app.add_option("from", options.from, "chip")->required();
  app.add_option("to", options.to, "chip")->required();
  app.add_option("-n,--count", options.count, "round trips; a tenth as many writes for bandwidth")
      ->check(CLI::Range(1u, kMostCount))
      ->capture_default_str();
  app.add_option("-s,--size", options.bytes, "bytes of a write for bandwidth")
      ->check(CLI::Range(UINT64_C(8), kMostBytes))
      ->capture_default_str();
  app.add_option("--listen", options.listen, "a port: the other chip is of a process that joins here")
      ->excludes(
          app.add_option("--join", options.join, "HOST:PORT: likewise, it listens there; this one measures"));
  app.footer(
      "Examples:\n  icl-ping emu:/dev/shm/pod 0 5\n  icl-ping pciwin 1 0 --listen 7000; on another machine: "
      "icl-ping pciwin 0 1 --join 10.77.9.2:7000\n  icl-ping emu:/dev/shm/pod 0 1 --count 10000\n"
      "  icl-ping emu:/dev/shm/pod 3 3 --size 4096");
  return run(app, argc, argv, ping, "icl-ping emu:/dev/shm/pod 0 5");
}
