// A pod of emulated chips for a test, removed behind it. One whose test was killed goes with the next pod
// that any test makes.
#pragma once

#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/icl/emu/emu.h"
#include "drivers/icl/icl.h"

namespace plait::test {

class EmulatedPod {
 public:
  // `text` as icl_emu_create() takes it. error() is empty when it was made.
  explicit EmulatedPod(const std::string& text) : owner_(getpid()) {
    sweep();
    static std::atomic<int> made{0};
    path_ = std::string(kFolder) + "/" + kPrefix + std::to_string(owner_) + "-" + std::to_string(made++);
    if (icl_emu_create(path_.c_str(), text.c_str(), nullptr) != ICL_OK) error_ = icl_last_error();
  }
  // Not by a forked child: the pod is its parent's.
  ~EmulatedPod() {
    if (error_.empty() && getpid() == owner_) icl_emu_destroy(path_.c_str());
  }
  EmulatedPod(const EmulatedPod&) = delete;
  EmulatedPod& operator=(const EmulatedPod&) = delete;

  const std::string& error() const noexcept { return error_; }
  const std::string& path() const noexcept { return path_; }
  std::string address() const { return "emu:" + path_; }
  // What PLAIT_NETWORK calls it.
  std::string network() const { return "icl:" + address(); }
  // Empty, or what is wrong with the order.
  std::string fault(const std::string& order) const {
    return icl_emu_fault(path_.c_str(), order.c_str()) == ICL_OK ? "" : icl_last_error();
  }

 private:
  static constexpr const char* kFolder = "/dev/shm";
  static constexpr const char* kPrefix = "plait-test-pod-";

  // The number of the maker is in the name.
  static void sweep() {
    DIR* folder = opendir(kFolder);
    while (const dirent* entry = folder == nullptr ? nullptr : readdir(folder)) {
      const std::string name = entry->d_name;
      if (!name.starts_with(kPrefix)) continue;
      const int maker = std::atoi(name.c_str() + std::string_view(kPrefix).size());
      if (maker > 0 && kill(maker, 0) != 0 && errno == ESRCH)
        unlink((std::string(kFolder) + "/" + name).c_str());
    }
    if (folder != nullptr) closedir(folder);
  }

  const pid_t owner_;
  std::string path_, error_;
};

// A chip's end of a link.
struct PodPort {
  uint32_t chip, port;
  std::string text() const { return std::to_string(chip) + ":" + std::to_string(port); }
};

// Looks at a pod, owns none of its chips.
class PodObserver {
 public:
  explicit PodObserver(const EmulatedPod& pod) {
    EXPECT_EQ(icl_open(pod.address().c_str(), nullptr, &device_), ICL_OK) << icl_last_error();
  }
  ~PodObserver() { (void)icl_close(device_); }
  PodObserver(const PodObserver&) = delete;
  PodObserver& operator=(const PodObserver&) = delete;

  // One end of each link.
  std::vector<PodPort> links() const {
    std::vector<PodPort> all;
    each([&](PodPort at, const icl_port_info& port) {
      if (port.planned_chip != ICL_ANY && at.chip < port.planned_chip) all.push_back(at);
    });
    return all;
  }
  // Of all ports.
  uint64_t sum(uint64_t icl_port_counters::*counter) const {
    uint64_t total = 0;
    each([&](PodPort, const icl_port_info& port) { total += port.counters.*counter; });
    return total;
  }
  // Chips in this state (icl_chip_state).
  uint32_t chips(uint32_t state) const {
    uint32_t count = 0;
    for (uint32_t i = 0; i < info().chips; i++) {
      icl_chip_info chip{};
      chip.struct_size = sizeof chip;
      count += icl_query_chip(device_, i, &chip) == ICL_OK && chip.state == state;
    }
    return count;
  }

 private:
  icl_device_info info() const {
    icl_device_info info{};
    info.struct_size = sizeof info;
    (void)icl_query_device(device_, &info);
    return info;
  }
  template <class Visit>
  void each(const Visit& visit) const {
    const icl_device_info all = info();
    for (uint32_t chip = 0; chip < all.chips; chip++)
      for (uint32_t p = 0; p < all.ports; p++) {
        icl_port_info port{};
        port.struct_size = sizeof port;
        if (icl_query_port(device_, chip, p, &port) == ICL_OK) visit(PodPort{chip, p}, port);
      }
  }

  icl_device* device_ = nullptr;
};

}  // namespace plait::test
