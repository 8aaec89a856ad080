// A pod for a test, its chips, and connections of two of them. Contract tests see icl.h only; what makes the
// chips is a Maker, so that they run over any driver.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "drivers/icl/emu/emu.h"
#include "drivers/icl/icl.h"
#include "drivers/icl/pciwin/pciwin.h"

namespace plait::icl {

#define ICL_OK_(call) ASSERT_EQ(call, ICL_OK) << icl_last_error()

// Machines are shared, and slow under sanitizers: silence means nothing unless a test is about it.
inline const std::string kFast = "; mbps=0 latency=0ns memory=16M silent=60s";

// A file that nothing has the name of yet.
inline std::string new_path() {
  static std::atomic<int> n{0};
  return "/dev/shm/icl-test-" + std::to_string(getpid()) + "-" + std::to_string(n++);
}

enum class Driver { emu, pciwin };

// Of pciwin: a file is the window.
class Pod {
 public:
  explicit Pod(const std::string& text, const icl_routes* routes = nullptr)
      : Pod(Driver::emu, text, routes) {}
  Pod(Driver driver, const std::string& text, const icl_routes* routes = nullptr) : driver_(driver) {
    if (driver == Driver::emu) {
      EXPECT_EQ(icl_emu_create(path_.c_str(), text.c_str(), routes), ICL_OK) << icl_last_error();
      return;
    }
    const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    EXPECT_EQ(ftruncate(fd, 64 << 20), 0);
    ::close(fd);
    EXPECT_EQ(icl_pciwin_create(path_.c_str(), text.c_str(), routes), ICL_OK) << icl_last_error();
  }
  ~Pod() {
    for (icl_device* d : devices_) EXPECT_EQ(icl_close(d), ICL_OK) << icl_last_error();
    unlink(path_.c_str());
  }
  // Opens `chips` ("0", "0-3") in this process; closed with the pod, or before.
  icl_device* open(const std::string& chips) {
    icl_device* d = nullptr;
    EXPECT_EQ(icl_open(address(chips).c_str(), nullptr, &d), ICL_OK) << icl_last_error();
    devices_.push_back(d);
    return d;
  }
  void close(icl_device* d) {
    EXPECT_EQ(icl_close(d), ICL_OK) << icl_last_error();
    std::erase(devices_, d);
  }
  std::string address() const { return (driver_ == Driver::emu ? "emu:" : "pciwin:") + path_; }
  std::string address(const std::string& chips) const { return address() + "?chips=" + chips; }
  const std::string& path() const { return path_; }
  void fault(const std::string& order) const {
    EXPECT_EQ(icl_emu_fault(path_.c_str(), order.c_str()), ICL_OK) << icl_last_error();
  }

 private:
  const Driver driver_;
  const std::string path_ = new_path();
  std::vector<icl_device*> devices_;
};

// Until `done`, for at most `seconds`; true: it came.
inline bool wait_for(const std::function<bool()>& done, double seconds = 60) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    usleep(200);
  }
  return true;
}

// A chip's end of a connection: a queue, memory to send from, memory and semaphores that the peer reaches.
struct End {
  static constexpr uint64_t kBytes = 1 << 20, kWords = 64;
  icl_device* device = nullptr;
  uint32_t chip = 0;
  icl_completions* ring = nullptr;
  icl_queue* queue = nullptr;
  icl_memory *source = nullptr, *target = nullptr, *words = nullptr;
  icl_exported *target_key = nullptr, *words_key = nullptr;
  icl_remote *peer = nullptr, *peer_words = nullptr;

  void open(icl_device* d, uint32_t c, uint32_t depth = 64, uint32_t timeout_ms = 0) {
    device = d;
    chip = c;
    const icl_queue_config config = {sizeof config, c, depth, timeout_ms, 0, 1000 + c, nullptr};
    ICL_OK_(icl_completions_open(d, 0, &ring));
    ICL_OK_(icl_queue_open(ring, &config, &queue));
    ICL_OK_(icl_alloc(d, c, kBytes, &source));
    ICL_OK_(icl_alloc(d, c, kBytes, &target));
    ICL_OK_(icl_alloc(d, c, kWords * 8, &words));
    ICL_OK_(icl_export(target, 0, kBytes, ICL_READ | ICL_WRITE, &target_key));
    ICL_OK_(icl_export(words, 0, kWords * 8, ICL_SIGNAL, &words_key));
  }
  void connect(const void* ticket, const void* target_of_peer, const void* words_of_peer) {
    ICL_OK_(icl_connect(queue, ticket));
    ICL_OK_(icl_import(queue, target_of_peer, &peer));
    ICL_OK_(icl_import(queue, words_of_peer, &peer_words));
  }
  void close_queue() {
    icl_queue_close(queue);
    queue = nullptr;
  }
  void close() {
    icl_queue_close(queue);
    icl_revoke(target_key);
    icl_revoke(words_key);
    for (icl_memory* m : {source, target, words}) EXPECT_EQ(icl_free(m), ICL_OK) << icl_last_error();
    EXPECT_EQ(icl_completions_close(ring), ICL_OK) << icl_last_error();
    *this = End{};
  }

  unsigned char* from() const { return static_cast<unsigned char*>(icl_map(source)); }
  unsigned char* to() const { return static_cast<unsigned char*>(icl_map(target)); }
  uint64_t word(size_t i) const {
    return std::atomic_ref(static_cast<uint64_t*>(icl_map(words))[i]).load(std::memory_order_acquire);
  }

  icl_descriptor write(uint64_t bytes, uint64_t at, uint64_t cookie) const {
    icl_descriptor d{};
    d.verb = ICL_VERB_WRITE;
    d.flags = ICL_WANT_COMPLETION;
    d.cookie = cookie;
    d.bytes = bytes;
    d.local = source;
    d.local_offset = at;
    d.remote = peer;
    d.remote_offset = at;
    return d;
  }
  icl_descriptor with_signal(icl_descriptor d, uint64_t word, uint64_t add) const {
    d.signal = peer_words;
    d.signal_offset = word * 8;
    d.add = add;
    return d;
  }
  icl_descriptor read(uint64_t bytes, uint64_t at, uint64_t cookie) const {
    icl_descriptor d = write(bytes, at, cookie);
    d.verb = ICL_VERB_READ;
    return d;
  }
  size_t post(const icl_descriptor& d) const {
    size_t taken = 0;
    EXPECT_EQ(icl_post(queue, &d, 1, &taken), ICL_OK) << icl_last_error();
    return taken;
  }
  // The next completion.
  icl_completion next(double seconds = 60) const {
    icl_completion c{};
    EXPECT_TRUE(wait_for([&] { return icl_poll(ring, &c, 1) == 1; }, seconds)) << "no completion";
    return c;
  }
  std::string why() const {
    char text[400];
    icl_queue_why(queue, text, sizeof text);
    return text;
  }
};

inline void connect(End& a, End& b) {
  a.connect(icl_ticket(b.queue), icl_key(b.target_key), icl_key(b.words_key));
  b.connect(icl_ticket(a.queue), icl_key(a.target_key), icl_key(a.words_key));
}

inline void fill(unsigned char* at, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; i++) at[i] = static_cast<unsigned char>((i * 131 + i / 251 + seed) & 0xff);
}

}  // namespace plait::icl
