// The domain: its door, its endpoints, and what polling and sleeping mean.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "transport/tcp/door.h"
#include "transport/tcp/endpoint.h"
#include "transport/tcp/engine.h"
#include "transport/tcp/tcp.h"

namespace plait::transport::tcp {

class TcpDomain final : public Domain {
 public:
  static Result<std::unique_ptr<Domain>> make(const Options& options);
  explicit TcpDomain(const Options& options);
  ~TcpDomain() override;

  std::string_view name() const noexcept override { return options_.label; }
  const Capabilities& capabilities() const noexcept override { return capabilities_; }
  ByteView identity() const noexcept override { return bytes_of(identity_); }
  bool reaches(ByteView peer_identity) const noexcept override;
  Result<std::unique_ptr<Region>> expose(const Memory& memory, Access access) override;
  Result<std::unique_ptr<Endpoint>> open(uint16_t counters, uint64_t cookie) override;
  size_t poll(std::span<Done> done) noexcept override;
  bool arm() noexcept override;
  void trim() noexcept override;
  int wait_fd() const noexcept override { return engine_->wait_fd(); }

  // What endpoints call.
  bool is_this_process() const noexcept;
  Poller& poller() noexcept { return poller_; }
  Engine& engine() noexcept { return *engine_; }
  TlsContext* tls() noexcept { return tls_.get(); }  // null: none
  Pools& pools() noexcept { return pools_; }
  RegionTable& regions() noexcept { return *regions_; }
  const std::string& host() const noexcept { return host_; }
  const Options& options() const noexcept { return options_; }
  Buffers buffers() const noexcept { return {options_.send_buffer, options_.receive_buffer}; }
  // Best first: in a network of ours, and else in the order of the peer's ticket.
  std::vector<Route> routes_to(const Ticket& peer) const;
  void has_work(TcpEndpoint& endpoint) noexcept;
  void changed(TcpEndpoint& endpoint, State from, State to) noexcept;
  void forget(TcpEndpoint& endpoint) noexcept;

 private:
  Status start();
  void warn_of_less(const Buffers& given) const;
  void look() noexcept;  // asks the kernel what is new
  void dispatch(const Poller::Event& event) noexcept;
  void meet(uint64_t guest) noexcept;
  void tick() noexcept;
  int64_t due_ns() const noexcept;
  size_t work(std::span<Done> done, size_t& budget) noexcept;
  bool reserve_places();
  void free_places() noexcept;  // of endpoints that are gone, once nothing is left of them
  void set_timer(int64_t at_ns) noexcept;

  // That carry frames, of an endpoint.
  size_t connections() const noexcept { return 1 + size_t(options_.bulk_connections); }

  const Options options_;
  const Capabilities capabilities_;
  const std::string host_;
  const uint64_t nonce_;
  const int pid_;
  Identity identity_;
  std::shared_ptr<RegionTable> regions_ = std::make_shared<RegionTable>();
  Poller poller_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<TlsContext> tls_;
  Door door_{poller_, options_.label};
  std::vector<uint8_t> prefixes_;  // of door_.addresses()
  Fd timer_;

  Pools pools_;
  std::unordered_map<uint64_t, TcpEndpoint*> endpoints_;  // by id
  std::unordered_map<uint64_t, TcpEndpoint*> by_nonce_;
  uint64_t last_id_ = 0;

  std::vector<TcpEndpoint*> connecting_;
  std::vector<TcpEndpoint*> busy_;  // with Dones, or an end that comes
  OrphanedDones orphans_{pools_.dones};
  bool armed_ = false, timed_ = false;
};

}  // namespace plait::transport::tcp
