// The domain: UCX's worker, the endpoints it knows, and what polling and sleeping mean.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/ucx/endpoint.h"
#include "transport/ucx/library.h"

namespace plait::transport::ucx {

// Of a domain: what all its endpoints hold together.
struct Pools {
  Slab<Op> ops;
  Slab<DoneItem> dones;
  Slab<Served> served;
  Slab<Flight> flights;
};

class UcxDomain final : public Domain {
 public:
  explicit UcxDomain(const Options& options);
  ~UcxDomain() override;
  Status start();

  std::string_view name() const noexcept override { return options_.label; }
  const Capabilities& capabilities() const noexcept override { return capabilities_; }
  ByteView identity() const noexcept override { return bytes_of(identity_); }
  bool reaches(ByteView peer_identity) const noexcept override;
  Result<std::unique_ptr<Region>> expose(const Memory& memory, Access access) override;
  Result<std::unique_ptr<Endpoint>> open(uint16_t counters, uint64_t cookie) override;
  size_t poll(std::span<Done> done) noexcept override;
  bool arm() noexcept override;
  int wait_fd() const noexcept override { return library_->wait_fd(); }
  void trim() noexcept override;

  // What endpoints call.
  bool is_this_process() const noexcept;
  Library& library() noexcept { return *library_; }
  Pools& pools() noexcept { return pools_; }
  RegionTable& regions() noexcept { return *regions_; }
  void has_work(UcxEndpoint& endpoint) noexcept;
  // The peer of this ticket: known already, or met now.
  ucs_status_t meet(const Ticket& ticket, Peer*& peer) noexcept;
  Flight& take_flight() noexcept;
  void left_behind(size_t flights) noexcept { strays_ += flights; }
  void forget(UcxEndpoint& endpoint) noexcept;

  void sent(Flight& flight, ucs_status_t status) noexcept;

 private:
  // An endpoint's place is in its nonce.
  static constexpr size_t kEndpoints = size_t{1} << 16;

  static ucs_status_t on_message(void* domain, const void* header, size_t header_bytes, void* data,
                                 size_t bytes, const ucp_am_recv_param_t* param) noexcept;
  static void on_error(void* peer, ucp_ep_h end, ucs_status_t status) noexcept;
  void lose(Peer& peer) noexcept;
  void free_places() noexcept;  // of endpoints that are gone, once nothing is left of them
  Ticket make_ticket(uint16_t counters, size_t place) const;

  const Options options_;
  const uint64_t nonce_;
  const int pid_;
  Capabilities capabilities_;
  Identity identity_;
  std::shared_ptr<RegionTable> regions_ = std::make_shared<RegionTable>();
  Pools pools_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::unique_ptr<Library> library_;           // goes before them
  size_t lost_ = 0;                            // peers, of whom endpoints were not told
  size_t strays_ = 0;                          // flights without owners
  std::vector<UcxEndpoint*> endpoints_;        // by place
  std::vector<UcxEndpoint*> busy_;             // with something to send, or Dones
  SlabQueue<DoneItem> orphans_{pools_.dones};  // of endpoints that are gone ...
  uint32_t gone_ = 0;                          // ... so many, whose places they still hold
};

}  // namespace plait::transport::ucx
