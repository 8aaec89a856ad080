#include "listener.h"

#include <cerrno>
#include <optional>

#include "base/clock.h"
#include "base/log.h"
#include "bootstrap/socket.h"

namespace plait::nccl {

Result<std::unique_ptr<Listener>> Listener::open(std::vector<Address> addresses, size_t rails,
                                                 const runtime::Config& config, const SideOf& side,
                                                 Handle& handle) {
  auto fd = bootstrap::listen_in(std::nullopt, config.port_min, config.port_max);
  if (!fd.ok()) return fd.status();
  const uint16_t port = bootstrap::local_address(fd->get()).port;
  for (Address& address : addresses) address.port = port;
  auto made = make_handle(addresses, rails);
  if (!made.ok()) return made.status();
  handle = *made;
  auto secret = secret_of(handle);
  auto its = side(secret);
  return std::unique_ptr<Listener>(new Listener(std::move(*fd), std::move(secret), std::move(its)));
}

Status Listener::take_in() {
  while (guests_.size() < kMostGuests) {
    Address from;
    Fd fd = bootstrap::accept_from(fd_.get(), &from);
    if (!fd) {
      const bool short_of_fds = errno == EMFILE || errno == ENFILE;
      return short_of_fds ? Status::system(errno, "accepting a connection (raise ulimit -n)") : Status();
    }
    const bootstrap::Trusted trusted{bootstrap::Trust::secret, secret_};
    auto guest = Connection::make(std::move(fd), to_string(from.with_port(0)),
                                  bootstrap::Handshake::listener(trusted), 0, side_);
    if (!guest.ok()) return guest.status();
    guests_.push_back(std::move(*guest));
  }
  return {};
}

Result<std::unique_ptr<Connection>> Listener::accept() {
  PLAIT_TRY(take_in());
  for (size_t i = 0; i < guests_.size(); i++) {
    Connection& guest = *guests_[i];
    const Status status = guest.step();
    const bool silent = !guest.proved() && now_ns() - guest.since_ns() > kPatienceNs;
    if (status.ok() && !guest.ready() && !silent) continue;
    std::unique_ptr<Connection> taken = std::move(guests_[i]);
    guests_.erase(guests_.begin() + ptrdiff_t(i--));
    if (status.ok() && taken->ready()) return taken;
    if (taken->proved()) return status;
    log::info("refused {}: {}", taken->who(), silent ? "it did not prove itself in time" : status.text());
  }
  return std::unique_ptr<Connection>();
}

}  // namespace plait::nccl
