// One connect() of NCCL's, over as many calls as it takes: the addresses of a handle one after the other.
#pragma once

#include <memory>

#include "base/clock.h"
#include "connection.h"
#include "handle.h"

namespace plait::nccl {

class Dial {
 public:
  Dial(const Handle& handle, std::shared_ptr<const Side> side, int64_t timeout_ms);

  // Moves on. Not ok: it failed for good.
  Status step();
  bool ready() const noexcept { return connection_ != nullptr && connection_->ready(); }
  std::unique_ptr<Connection> take() noexcept { return std::move(connection_); }

 private:
  static constexpr int64_t kConnectNs = 3'000'000'000;  // then the next address is tried

  Status start();
  std::string where() const { return to_string(handle_.addresses[next_]); }

  const Handle handle_;
  const std::shared_ptr<const Side> side_;
  const Deadline deadline_;
  const int64_t timeout_ms_;
  uint16_t next_ = 0;
  std::unique_ptr<Connection> connection_;
  std::string tried_;  // and why in vain
};

}  // namespace plait::nccl
