#include "dial.h"

#include <algorithm>
#include <cerrno>

#include "bootstrap/socket.h"

namespace plait::nccl {

Dial::Dial(const Handle& handle, std::shared_ptr<const Side> side, int64_t timeout_ms)
    : handle_(handle),
      side_(std::move(side)),
      deadline_(Deadline::in_ms(timeout_ms)),
      timeout_ms_(timeout_ms) {}

Status Dial::start() {
  Fd fd = bootstrap::start_connect({handle_.addresses[next_], {}}, {});
  if (!fd) return Status::system(errno, "connecting to " + where());
  // Nobody listens, and the kernel chose just that port for our end.
  if (bootstrap::local_address(fd.get()) == handle_.addresses[next_])
    return {Code::peer, "nobody listens at " + where()};
  const bootstrap::Trusted trusted{bootstrap::Trust::secret, secret_of(handle_)};
  bootstrap::Claim claim;
  claim.purpose = kPurpose;
  const size_t rails = std::max<size_t>(handle_.rails, side_->rails);
  auto made =
      Connection::make(std::move(fd), where(), bootstrap::Handshake::dialer(trusted, claim), rails, side_);
  if (!made.ok()) return made.status();
  connection_ = std::move(*made);
  return {};
}

Status Dial::step() {
  while (true) {
    Status status = connection_ != nullptr ? connection_->step() : start();
    const bool proved = connection_ != nullptr && connection_->proved();
    const bool silent =
        connection_ != nullptr && connection_->dialing() && now_ns() - connection_->since_ns() > kConnectNs;
    if (status.ok() && silent)
      status = Status(Code::timeout, where() + " does not answer: is a firewall between?");
    if (status.ok() && !ready() && deadline_.passed()) {
      return {Code::timeout, "connecting to " + where() + " took longer than " +
                                 std::to_string(timeout_ms_ / 1000) +
                                 " s (PLAIT_TIMEOUT): its process does not accept; look at what it does"};
    }
    if (status.ok() || proved) return status;
    tried_ += (tried_.empty() ? "" : "; ") + std::string(status.text());
    connection_.reset();
    if (++next_ < handle_.address_count) continue;
    next_ = 0;
    return {Code::peer, tried_ + ": the listener is gone, or no network leads there (PLAIT_IFACE)"};
  }
}

}  // namespace plait::nccl
