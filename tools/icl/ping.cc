// icl-ping: latency and bandwidth between two chips, with the way there.
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <vector>

#include "drivers/icl/icl_route.h"
#include "tools/icl/device.h"

namespace {

using namespace plait::icl;
using Clock = std::chrono::steady_clock;

struct {
  std::string address;
  uint32_t from = 0, to = 1, count = 1000;
  uint64_t bytes = 1 << 20;
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
  void connect(const End& other) {
    check(icl_connect(queue, icl_ticket(other.queue)));
    check(icl_import(queue, icl_key(other.key), &peer));
  }
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
  void await(uint64_t value) const {
    while (word() < value)
      if (icl_queue_state(queue) == ICL_QUEUE_FAILED) fail();
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

void measure_latency(const End& a, const End& b, uint64_t bytes) {
  std::vector<double> us;
  const uint64_t before_a = a.word(), before_b = b.word();
  icl_completion none;
  for (uint64_t i = 1; i <= options.count; i++) {
    const auto start = Clock::now();
    while (!a.post(bytes, 0, true)) icl_poll(a.ring, &none, 1);
    b.await(before_b + i);
    while (!b.post(bytes, 0, true)) icl_poll(b.ring, &none, 1);
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

void ping() {
  const Device device = open_idle_chips();
  print_way(device);
  End a(device, options.from), b(device, options.to);
  a.connect(b);
  b.connect(a);
  for (uint64_t bytes : {UINT64_C(8), UINT64_C(4096)})
    if (bytes <= options.bytes) measure_latency(a, b, bytes);
  measure_bandwidth(a);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Latency and bandwidth between two chips of a pod; chips that nobody runs are run here.",
               "icl-ping");
  app.add_option("address", options.address, "a device, as emu:/dev/shm/pod")->required();
  app.add_option("from", options.from, "chip")->required();
  app.add_option("to", options.to, "chip")->required();
  app.add_option("-n,--count", options.count, "round trips; a tenth as many writes for bandwidth")
      ->check(CLI::Range(1u, 1000000u))
      ->capture_default_str();
  app.add_option("-s,--size", options.bytes, "bytes of a write for bandwidth")
      ->check(CLI::Range(UINT64_C(8), UINT64_C(1) << 30))
      ->capture_default_str();
  app.footer(
      "Examples:\n  icl-ping emu:/dev/shm/pod 0 5\n  icl-ping emu:/dev/shm/pod 0 1 --count 10000\n"
      "  icl-ping emu:/dev/shm/pod 3 3 --size 4096");
  return run(app, argc, argv, ping);
}
