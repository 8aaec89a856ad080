// The endpoint behind fault.h.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "transport/hooks/fault.h"

namespace plait::transport::hooks {

class FaultEndpoint final : public WrappedEndpoint {
 public:
  FaultEndpoint(FaultDomain& domain, std::unique_ptr<Endpoint> inner, uint16_t counters, uint64_t cookie,
                int id);
  ~FaultEndpoint() override;

  State state() const noexcept override;
  std::string_view error() const noexcept override;
  Result<std::unique_ptr<RemoteRegion>> import(ByteView key) override;
  size_t post(std::span<const Transfer> transfers) noexcept override;
  bool sent(uint16_t counter) const noexcept override { return !holds() && inner().sent(counter); }
  void close() noexcept override;

  // For the domain.
  void step() noexcept;  // a poll: held transfers go on
  bool holds() const noexcept { return !held_.empty() || second_.has_value(); }
  void kill(std::string why) noexcept;
  void inner_failed(Code code) noexcept { end_held(code); }
  void domain_gone() noexcept { domain_ = nullptr; }

 private:
  using Verdict = FaultDomain::Verdict;
  struct Held {
    Transfer transfer;
    Verdict verdict;
    std::vector<std::byte> bytes;  // of an inline put: its source may be reused already
  };
  bool take(const Transfer& t) noexcept;
  bool send(const Transfer& t, Fault fault) noexcept;
  bool send_plain(Transfer t, FaultDomain::Slot slot) noexcept;
  bool send_corrupted(const Transfer& t) noexcept;
  bool finish_second() noexcept;
  void hold(const Transfer& t, Verdict verdict);
  bool waits_behind_held(const Transfer& t) const noexcept;
  void end_held(Code code) noexcept;

  FaultDomain* domain_;
  uint64_t cookie_;
  int id_;
  std::optional<Verdict> verdict_;  // on the next transfer: judged once, though post() may be asked twice
  std::vector<Held> held_;
  std::optional<Transfer> second_;  // the other half of a corrupted put
  std::vector<uint64_t> lost_;      // cookies of dropped transfers that wait for the end
  std::shared_ptr<FaultLink> link_ = std::make_shared<FaultLink>();
  uint64_t failed_ = 0;  // counters on which all fail from now on
  bool closed_ = false;
  std::string error_;
};

}  // namespace plait::transport::hooks
