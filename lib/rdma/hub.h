// What the channels over one port share: completion queues and the descriptor to sleep on, the device's
// events, the connection manager, and where work requests are made. hub.cc: its life and its channels;
// hub_poll.cc: polling and sleeping.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "rdma/channel.h"
#include "rdma/open_port.h"

namespace plait::rdma {

// One thread at a time; a channel's functions are its hub's in this.
class Hub {
 public:
  // `name` begins sentences: "verbs:rxe1".
  Hub(std::string name, const ChannelOptions& options, UsablePort&& port);
  ~Hub();
  Status start();

  // Whether anything was new: channels were told of what completed, came or failed.
  bool progress() noexcept;
  // Before every sleep on fd(). False: something was new, or may be.
  bool arm() noexcept;
  int fd() const noexcept { return poller_.get(); }  // readable when there is something to poll for
  void orphan_all() noexcept;                        // of whoever owns it, before it goes
  void trim() noexcept { requests_.trim(); }
  // Registrations that nobody uses any more are kept, as Device::keep_registrations() has it, and what peers
  // reach by `windows`; where that cannot be had the log says why.
  void keep_registrations(size_t bytes, bool trusting, bool windows);

  Device& device() const noexcept { return *device_; }
  const std::shared_ptr<Device>& shared_device() const noexcept { return device_; }
  const OpenPort& port() const noexcept { return port_; }
  const ChannelOptions& options() const noexcept { return options_; }
  const std::string& name() const noexcept { return name_; }
  const std::string& place() const noexcept { return place_; }  // "rxe1 port 1, GID 1 10.0.0.1"
  uint32_t inline_bytes() const noexcept { return inline_bytes_; }
  Work work() const noexcept { return chain_->work; }

  // What channels call.
  struct Room {
    uint64_t id = 0;
    Queues* queues = nullptr;
    Station station;  // all but the queue pair
  };
  Result<Room> admit(Channel& channel);
  void remove(Channel& channel) noexcept;
  void quieten(Channel& channel) noexcept {
    device_->forget(mail_, channel.id());
  }  // its queue pair has gone
  void start_connecting(Channel& channel) { connecting_.push_back(&channel); }
  void stop_connecting(Channel& channel) noexcept { std::erase(connecting_, &channel); }
  // Until nothing is left, which is soon: what is being closed brings no more.
  void reap_all() noexcept;
  Manager* manager() noexcept { return manager_.get(); }  // null: stations do
  Slab<Request>& requests() noexcept { return requests_; }
  Chain& chain() noexcept { return *chain_; }
  uint32_t signal_every() const noexcept { return std::max(1U, options_.depth / 4U); }

 private:
  Status watch(int fd);
  Status start_manager();
  Result<Queues*> room();
  Status grow();
  Station station_at(uint32_t slot) const;
  Channel* by_id(uint64_t id) noexcept;
  bool reap(Queues& queues) noexcept;
  void receive(const ibv_wc& completion) noexcept;
  bool hear_is_due() noexcept;
  bool hear() noexcept;
  void heed(const DeviceEvent& event) noexcept;
  bool port_is_up() noexcept;
  void fail_all(Code code, const std::string& why) noexcept;

  const std::string name_;
  const ChannelOptions options_;
  const std::shared_ptr<Device> device_;
  const OpenPort port_;
  const std::string place_;
  uint32_t inline_bytes_ = 0;
  Mail mail_;
  Fd poller_;
  Owned<ibv_comp_channel, ibv_destroy_comp_channel> channel_;
  std::vector<std::unique_ptr<Queues>> queues_;
  std::unique_ptr<Manager> manager_;

  Slab<Request> requests_;
  const std::unique_ptr<Chain> chain_ = std::make_unique<Chain>();
  std::vector<Channel*> slots_;
  std::vector<uint32_t> free_slots_;
  std::vector<Channel*> connecting_;
  uint32_t serial_ = 0;  // of channels
  uint64_t polls_ = 0;
  int64_t heard_ns_ = 0;
};

}  // namespace plait::rdma
