// One way to one peer: a domain of its own, an endpoint in it, and messages over that. A comm has its own
// domain, so that what one thread polls no other one touches, and a poll looks at the sockets of one peer.
#pragma once

#include <memory>
#include <string>

#include "room.h"
#include "transport/message.h"
#include "transport/transport.h"

namespace plait::nccl {

class Wire {
 public:
  // Opens an endpoint, and exposes the memory that messages come to. Code::unsupported names what the domain
  // lacks.
  static Result<std::unique_ptr<Wire>> open(std::unique_ptr<transport::Domain> domain);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  transport::Domain& domain() noexcept { return *domain_; }
  transport::Endpoint& endpoint() noexcept { return *endpoint_; }
  // Where the peer's messages go, for the peer to import.
  ByteView key() const noexcept { return own_region_->key(); }
  // Once the endpoint is ready: imports the peer's memory. `peer` is what errors call it.
  Status link_up(ByteView key, std::string_view peer);
  // Once link_up() succeeded.
  transport::MessageLink& link() noexcept { return *link_; }

 private:
  explicit Wire(std::unique_ptr<transport::Domain> domain) noexcept : domain_(std::move(domain)) {}
  Status make_room();

  std::unique_ptr<transport::Domain> domain_;
  Room own_, shadow_;
  std::unique_ptr<transport::Region> own_region_, shadow_region_;
  std::unique_ptr<transport::Endpoint> endpoint_;
  std::unique_ptr<transport::RemoteRegion> remote_;
  std::unique_ptr<transport::MessageLink> link_;
};

}  // namespace plait::nccl
