// Memory that is exposed on every rail at once, and a peer's.
#pragma once

#include <array>
#include <list>
#include <memory>
#include <vector>

#include "transport/rails/wire.h"

namespace plait::transport::rails {

class RailsEndpoint;

class RailsRegion final : public Region {
 public:
  // The error of the first rail that refuses.
  static Result<std::unique_ptr<Region>> make(const std::vector<std::unique_ptr<Domain>>& rails,
                                              const Memory& memory, Access access);
  RailsRegion(const Memory& memory, Access access, std::vector<std::unique_ptr<Region>> parts);
  ByteView key() const noexcept override { return key_; }
  const Region* part(size_t rail) const noexcept {
    return rail < parts_.size() ? parts_[rail].get() : nullptr;
  }

 private:
  std::vector<std::unique_ptr<Region>> parts_;
  Bytes key_;
};

// What an endpoint knows of one region of its peer. It outlives the caller's RemoteRegion as long as parts to
// it may have to be sent again.
struct Import {
  std::vector<Bytes> keys;
  std::array<std::unique_ptr<RemoteRegion>, kRails>
      on;  // null: the rail is not there, or does not know it any more
  size_t bytes = 0;
  Access access = Access::none;
  uint32_t uses = 0;     // of parts and transfers
  bool dropped = false;  // by the caller
  std::list<Import>::iterator self;
};

class RailsRemote final : public RemoteRegion {
 public:
  RailsRemote(RailsEndpoint& endpoint, Import& import) noexcept
      : RemoteRegion(import.bytes, import.access), endpoint_(endpoint), import_(import) {}
  ~RailsRemote() override;
  // What stores into it would not be sent again.
  std::byte* mapped() const noexcept override { return nullptr; }
  const RailsEndpoint* endpoint() const noexcept { return &endpoint_; }
  Import& import() const noexcept { return import_; }

 private:
  RailsEndpoint& endpoint_;
  Import& import_;
};

}  // namespace plait::transport::rails
