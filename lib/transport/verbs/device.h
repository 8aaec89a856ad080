// An opened device, one a process, shared by its domains: the context, the protection domain, asynchronous
// events, and registered memory.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "base/file.h"
#include "transport/verbs/wire.h"

namespace plait::transport::verbs {

// Owns what libibverbs makes.
template <auto Destroy>
struct Destroyer {
  void operator()(auto* object) const noexcept { Destroy(object); }
};
template <class T, auto Destroy>
using Owned = std::unique_ptr<T, Destroyer<Destroy>>;

// What a domain hears of its device, in words that do not outlive what they are about.
struct DeviceEvent {
  ibv_event_type type{};
  uint64_t endpoint = 0;  // of a queue pair
  uint8_t port = 0;       // of a port
};
// A domain's place to be told: its thread takes what the thread of any domain read.
struct Mail {
  std::vector<DeviceEvent> events;  // under the device's lock
  std::atomic<bool> waiting{false};
  Fd wake;  // an eventfd
};

class Device {
 public:
  // The one that this process has opened already, if any domain still uses it.
  static Result<std::shared_ptr<Device>> open(ibv_device& device);
  ~Device();
  explicit Device(ibv_context* context) noexcept;
  // In a forked child everything here is its parent's: not to be used, nor to be destroyed.
  bool is_this_process() const noexcept;

  ibv_context& context() const noexcept { return *context_; }
  ibv_pd& pd() const noexcept { return *pd_; }
  const ibv_device_attr_ex& attributes() const noexcept { return attributes_; }
  std::string_view name() const noexcept { return ibv_get_device_name(context_->device); }

  // Any thread. Regions that give peers no rights share a registration of the same bytes while one of them
  // lives; all others have their own, so that it can be taken back.
  struct Wish {
    bool relaxed_ordering = false, on_demand = false;
  };
  using Registration = std::shared_ptr<ibv_mr>;
  Result<Registration> register_memory(const Memory& memory, Access access, const Wish& wish);

  void subscribe(Mail& mail);
  void unsubscribe(Mail& mail) noexcept;
  void forget(Mail& mail, uint64_t endpoint) noexcept;  // its queue pair is destroyed
  // Reads what the device has to tell, for all domains. A system call.
  void look() noexcept;
  std::vector<DeviceEvent> take(Mail& mail) noexcept;

 private:
  Status start();
  Result<Registration> pin(const Memory& memory, Access access, int flags);

  const int pid_;
  ibv_context* context_;
  ibv_pd* pd_ = nullptr;
  ibv_device_attr_ex attributes_{};
  std::mutex lock_;
  std::vector<Mail*> mails_;
  std::map<std::tuple<void*, size_t, int>, std::weak_ptr<ibv_mr>> shared_;  // base, bytes, flags
};

class VerbsRegion final : public Region {
 public:
  VerbsRegion(std::shared_ptr<Device> device, Device::Registration registration, const Memory& memory,
              const Key& key) noexcept
      : Region(memory), device_(std::move(device)), registration_(std::move(registration)), key_(key) {}
  ByteView key() const noexcept override { return bytes_of(key_); }
  uint32_t local_key() const noexcept { return registration_->lkey; }
  const Device* device() const noexcept { return device_.get(); }

 private:
  const std::shared_ptr<Device> device_;
  const Device::Registration registration_;
  const Key key_;
};

}  // namespace plait::transport::verbs
