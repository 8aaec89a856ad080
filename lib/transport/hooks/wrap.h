// What every hook starts from: a domain and an endpoint that pass everything on to another. Regions are not
// wrapped: those of the inner domain are used as they are, so hooks stack in any order.
#pragma once

#include <memory>
#include <utility>

#include "transport/transport.h"

namespace plait::transport::hooks {

class WrappedEndpoint : public Endpoint {
 public:
  WrappedEndpoint(std::unique_ptr<Endpoint> inner, uint16_t counters) : inner_(std::move(inner)) {
    // The inner endpoint's counters are an array too, there from open() until it goes.
    if (counters != 0) counters_ = const_cast<std::atomic<uint64_t>*>(&inner_->counter(0));
    peer_asleep_ = &kAsk;
  }
  ByteView ticket() const noexcept override { return inner_->ticket(); }
  Status connect(ByteView peer_ticket) noexcept override { return inner_->connect(peer_ticket); }
  State state() const noexcept override { return inner_->state(); }
  std::string_view error() const noexcept override { return inner_->error(); }
  Result<std::unique_ptr<RemoteRegion>> import(ByteView key) override { return inner_->import(key); }
  size_t post(std::span<const Transfer> transfers) noexcept override { return inner_->post(transfers); }
  bool sent(uint16_t counter) const noexcept override { return inner_->sent(counter); }
  bool acks_sent() const noexcept override { return inner_->acks_sent(); }
  void close() noexcept override { inner_->close(); }

 protected:
  void wake() noexcept override { inner_->notify(); }
  Endpoint& inner() noexcept { return *inner_; }
  const Endpoint& inner() const noexcept { return *inner_; }

 private:
  // Whether the peer sleeps is the inner endpoint's to say: ask it each time.
  static constexpr std::atomic<uint32_t> kAsk{1};
  std::unique_ptr<Endpoint> inner_;
};

class WrappedDomain : public Domain {
 public:
  explicit WrappedDomain(std::unique_ptr<Domain> inner) : inner_(std::move(inner)) {}
  std::string_view name() const noexcept override { return inner_->name(); }
  const Capabilities& capabilities() const noexcept override { return inner_->capabilities(); }
  ByteView identity() const noexcept override { return inner_->identity(); }
  bool reaches(ByteView peer_identity) const noexcept override { return inner_->reaches(peer_identity); }
  Result<std::unique_ptr<Region>> expose(const Memory& memory, Access access) override {
    return inner_->expose(memory, access);
  }
  size_t poll(std::span<Done> done) noexcept override { return inner_->poll(done); }
  bool arm() noexcept override { return inner_->arm(); }
  int wait_fd() const noexcept override { return inner_->wait_fd(); }
  std::string_view broken() const noexcept override { return inner_->broken(); }
  void trim() noexcept override { inner_->trim(); }

 protected:
  Domain& inner() noexcept { return *inner_; }

 private:
  std::unique_ptr<Domain> inner_;
};

}  // namespace plait::transport::hooks
