// The domain: a chip and a ring of completions; its endpoints are queues.
#pragma once

#include <unordered_map>

#include "base/pages.h"
#include "transport/icl/endpoint.h"
#include "transport/icl/words.h"

namespace plait::transport::icl {

class IclDomain final : public Domain {
 public:
  IclDomain(const Options& options, std::shared_ptr<Device> device);
  ~IclDomain() override;
  Status start();

  std::string_view name() const noexcept override { return name_; }
  const Capabilities& capabilities() const noexcept override { return capabilities_; }
  ByteView identity() const noexcept override { return bytes_of(identity_); }
  bool reaches(ByteView peer_identity) const noexcept override;
  Result<std::unique_ptr<Region>> expose(const Memory& memory, Access access) override;
  Result<std::unique_ptr<Endpoint>> open(uint16_t counters, uint64_t cookie) override;
  size_t poll(std::span<Done> done) noexcept override;
  bool arm() noexcept override { return icl_arm(completions_) == ICL_OK; }
  int wait_fd() const noexcept override { return icl_wait_fd(completions_); }

  std::string_view broken() const noexcept override { return broken_; }

  // What endpoints call.
  // A queue failed for a dead chip: was it the own one?
  void look_at_own_chip() noexcept;
  const Device& device() const noexcept { return *device_; }
  const Options& options() const noexcept { return options_; }
  icl_completions* completions() const noexcept { return completions_; }
  uint64_t nonce() const noexcept { return nonce_; }
  Words& words() noexcept { return words_; }
  icl_memory* words_memory() const noexcept { return words_memory_; }
  std::atomic<uint64_t>* word(size_t i) const noexcept {
    return reinterpret_cast<std::atomic<uint64_t>*>(words_pages_.data()) + i;
  }
  void forget(IclEndpoint& endpoint) noexcept { endpoints_.erase(endpoint.place()); }

 private:
  void describe_device(const icl_device_info& info) noexcept;

  const Options options_;
  const std::shared_ptr<Device> device_;
  const std::string name_;
  const uint64_t nonce_;
  Words words_;
  Mapping words_pages_;
  icl_memory* words_memory_ = nullptr;
  icl_completions* completions_ = nullptr;
  std::unordered_map<uint64_t, IclEndpoint*> endpoints_;  // by place, which none has twice
  uint64_t next_place_ = 0;
  Capabilities capabilities_;
  Identity identity_;
  std::string broken_;
};

}  // namespace plait::transport::icl
