// The domain: its rails, in turn, its endpoints, and what sleeping means.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "transport/rails/abilities.h"
#include "transport/rails/endpoint.h"

namespace plait::transport::rails {

constexpr int64_t kMs = 1'000'000;  // in nanoseconds, which all is counted in

class RailsDomain final : public Rails {
 public:
  RailsDomain(std::vector<std::unique_ptr<Domain>> rails, const Options& options);
  ~RailsDomain() override;
  Status start();

  std::string_view name() const noexcept override { return options_.label; }
  const Capabilities& capabilities() const noexcept override { return capabilities_; }
  ByteView identity() const noexcept override { return identity_; }
  bool reaches(ByteView peer_identity) const noexcept override;
  Result<std::unique_ptr<Region>> expose(const Memory& memory, Access access) override {
    return RailsRegion::make(rails_, memory, access);
  }
  Result<std::unique_ptr<Endpoint>> open(uint16_t counters, uint64_t cookie) override;
  size_t poll(std::span<Done> done) noexcept override;
  bool arm() noexcept override;
  int wait_fd() const noexcept override { return sleeps_ ? poller_.get() : -1; }
  void trim() noexcept override;
  std::vector<RailReport> report() const override;
  std::shared_ptr<const AllCounts> counts() const override { return counts_; }
  std::string describe() const override;

  // What endpoints call.
  const Options& options() const noexcept { return options_; }
  size_t rails() const noexcept { return rails_.size(); }
  Domain& rail(size_t i) noexcept { return *rails_[i]; }
  RailCounts& count(size_t rail) noexcept { return (*counts_)[rail]; }
  void tell(RailEvent event) const noexcept;
  double speed(size_t rail) const noexcept { return speeds_[rail]; }
  size_t piece_limit() const noexcept { return piece_limit_; }
  Pools& pools() noexcept { return pools_; }
  // Something moved on this rail, or is about to.
  void stirred(size_t rail) noexcept { quiet_[rail] = 0; }
  // A rail's connect() should never block, and yet one may: a kernel asks where an address is, and nobody
  // answers. What such calls take is bounded to a part of the time, over all endpoints, so that the
  // other rails go on.
  bool may_connect(size_t rail, int64_t now) const noexcept { return now >= not_before_ns_[rail]; }
  void connect_failed(size_t rail, int64_t began_ns) noexcept;
  // For the cookies of one link.
  uint32_t add_link(RailsEndpoint& endpoint);
  uint64_t cookie(uint32_t link, uint32_t tag) const noexcept;
  void drop_link(uint32_t id) noexcept;
  // `own`: the endpoint's own cookie, which is in no depth.
  void done(const Done& done, RailsEndpoint* owner, bool own) noexcept;
  void forget(RailsEndpoint& endpoint) noexcept;

 private:
  static constexpr int kIndexBits = 20;
  struct LinkEntry {
    RailsEndpoint* endpoint = nullptr;
    uint32_t generation = 1;
  };

  Status watch();
  size_t next_rail() noexcept;
  void dispatch(size_t rail, const Done& done) noexcept;
  void step() noexcept;
  int64_t tick(int64_t now) noexcept;
  void set_timer(int64_t at_ns) noexcept;
  size_t give(std::span<Done> done) noexcept;

  const Options options_;
  std::vector<std::unique_ptr<Domain>> rails_;
  Capabilities capabilities_;
  Bytes identity_;
  const std::shared_ptr<AllCounts> counts_;
  std::vector<double> speeds_;  // relative
  std::vector<int64_t> not_before_ns_;
  size_t piece_limit_ = 0;

  Pools pools_;
  std::vector<RailsEndpoint*> endpoints_;
  std::vector<LinkEntry> links_;
  std::vector<uint32_t> free_links_;
  SlabQueue<DoneItem> dones_{pools_.dones};
  size_t gone_ = 0;  // endpoints whose places the queue may hold still

  std::vector<uint32_t> quiet_;  // polls since a rail stirred
  std::array<Done, 32> some_;    // of one rail
  size_t turn_ = 0, all_turn_ = 0, sweep_ = 0, first_ = 0, looked_ = 0;
  std::vector<RailsEndpoint*> hot_;  // that stirred lately, where there are many
  uint32_t polls_ = 0;
  Fd poller_, timer_;
  bool sleeps_ = false, armed_ = false;
  int64_t timer_at_ns_ = 0;
};

}  // namespace plait::transport::rails
