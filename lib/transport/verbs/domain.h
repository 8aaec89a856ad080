// The domain: its port, its queues, its endpoints, and what polling and sleeping mean.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "rdma/open_port.h"
#include "transport/verbs/endpoint.h"
#include "transport/verbs/verbs.h"

namespace plait::transport::verbs {

// Where work requests are made, by one endpoint at a time.
struct Chain {
  std::array<ibv_send_wr, 64> requests;
  std::array<ibv_sge, 64> parts;
  Work work;
};

class VerbsDomain final : public Domain {
 public:
  VerbsDomain(const Options& options, rdma::UsablePort&& port);
  ~VerbsDomain() override;
  Status start();

  std::string_view name() const noexcept override { return options_.label; }
  const Capabilities& capabilities() const noexcept override { return capabilities_; }
  ByteView identity() const noexcept override { return bytes_of(identity_); }
  bool reaches(ByteView peer_identity) const noexcept override;
  Result<std::unique_ptr<Region>> expose(const Memory& memory, Access access) override;
  Result<std::unique_ptr<Endpoint>> open(uint16_t counters, uint64_t cookie) override;
  size_t poll(std::span<Done> done) noexcept override;
  bool arm() noexcept override;
  int wait_fd() const noexcept override { return poller_.get(); }
  void trim() noexcept override;

  // What endpoints call.
  struct Pools {
    Slab<Op> ops;
    Slab<DoneItem> dones;
  };
  Pools& pools() noexcept { return pools_; }
  Chain& chain() noexcept { return *chain_; }
  rdma::Device& device() const noexcept { return *device_; }
  rdma::Manager* manager() noexcept { return manager_.get(); }  // null: tickets do
  const Options& options() const noexcept { return options_; }
  const rdma::OpenPort& port() const noexcept { return port_; }
  const std::string& place() const noexcept { return place_; }
  uint32_t signal_every() const noexcept { return signal_every_; }
  std::vector<VerbsEndpoint*>& connecting() noexcept { return connecting_; }
  Ticket ticket_of(uint64_t endpoint, uint16_t counters) const;
  void give(const Done& done, uint64_t endpoint, bool own) noexcept;
  void reap_all() noexcept;
  // Its queue pair has gone; it has.
  void quieten(VerbsEndpoint& endpoint) noexcept;
  void forget(VerbsEndpoint& endpoint) noexcept;

 private:
  Status watch(int fd);
  Status start_manager();
  void start_cache();
  Result<rdma::Queues*> room();
  Status grow();
  VerbsEndpoint* by_id(uint64_t id) noexcept;
  bool reap(rdma::Queues& queues) noexcept;
  void receive(const ibv_wc& completion) noexcept;
  bool progress() noexcept;
  bool hear() noexcept;
  void heed(const rdma::DeviceEvent& event) noexcept;
  void fail_all(Code code, const std::string& why) noexcept;
  void free_places() noexcept;

  Options options_;
  const std::shared_ptr<rdma::Device> device_;
  const rdma::OpenPort port_;
  const std::string place_;  // "rxe1 port 1, GID 1 10.0.0.1"
  const uint64_t nonce_;
  const uint32_t signal_every_;
  Capabilities capabilities_;
  Identity identity_;
  rdma::Mail mail_;
  Fd poller_;
  rdma::Owned<ibv_comp_channel, ibv_destroy_comp_channel> channel_;
  std::vector<std::unique_ptr<rdma::Queues>> queues_;
  std::unique_ptr<rdma::Manager> manager_;

  Pools pools_;
  std::unique_ptr<Chain> chain_ = std::make_unique<Chain>();
  std::vector<VerbsEndpoint*> slots_;
  std::vector<uint32_t> free_slots_;
  std::vector<VerbsEndpoint*> connecting_;
  SlabQueue<DoneItem> dones_{pools_.dones};
  size_t gone_ = 0;      // endpoints whose places wait until no Done is left of them
  uint32_t serial_ = 0;  // of endpoints
  uint64_t polls_ = 0;
};

}  // namespace plait::transport::verbs
