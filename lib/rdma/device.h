// An opened device, one a process, shared by all who use it: the context, the protection domain, asynchronous
// events, registered memory.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "rdma/owned.h"
#include "rdma/registrations.h"

namespace plait::rdma {

// What somebody hears of the device, in words that do not outlive what they are about.
struct DeviceEvent {
  ibv_event_type type{};
  uint64_t user = 0;  // of a queue pair
  uint8_t port = 0;   // of a port
};
// A place to be told: its thread takes what the thread of anybody read.
struct Mail {
  std::vector<DeviceEvent> events;  // under the device's lock
  std::atomic<bool> waiting{false};
  Fd wake;  // an eventfd
};

class Windows;
struct OpenPort;

class Device {
 public:
  // The one that this process has opened already, if anybody still uses it.
  static Result<std::shared_ptr<Device>> open(ibv_device& device);
  ~Device();
  explicit Device(ibv_context* context) noexcept;
  // In a forked child everything here is its parent's: not to be used, nor to be destroyed.
  bool is_this_process() const noexcept;

  ibv_context& context() const noexcept { return *context_; }
  ibv_pd& pd() const noexcept { return *pd_; }
  const ibv_device_attr_ex& attributes() const noexcept { return attributes_; }
  std::string_view name() const noexcept { return ibv_get_device_name(context_->device); }
  Registrations& registrations() noexcept { return *registrations_; }
  // Registrations are kept for later, where it is sure that they stay true: of so many bytes that nobody
  // uses, or a quarter of what may be locked (ulimit -l) if that is less. memory_watch.h tells of `trusting`.
  // An error: nothing is kept, and why.
  Status keep_registrations(size_t bytes, bool trusting);
  // Peers get their keys from memory windows from now on. An error: the device has none.
  Status use_windows(const OpenPort& port);
  Windows* windows() const noexcept { return windows_.load(std::memory_order_acquire); }  // or null

  void subscribe(Mail& mail);
  void unsubscribe(Mail& mail) noexcept;
  void forget(Mail& mail, uint64_t user) noexcept;  // its queue pair is destroyed
  // Reads what the device has to tell, for all. A system call.
  void look() noexcept;
  std::vector<DeviceEvent> take(Mail& mail) noexcept;

 private:
  Status start();

  const int pid_;
  ibv_context* context_;
  ibv_pd* pd_ = nullptr;
  ibv_device_attr_ex attributes_{};
  std::unique_ptr<Registrations> registrations_;
  std::unique_ptr<Windows> windows_owned_;
  std::atomic<Windows*> windows_{nullptr};
  std::mutex lock_;
  std::vector<Mail*> mails_;
};

}  // namespace plait::rdma
