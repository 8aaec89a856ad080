// Where peers of a device connect: a listening socket, and the conversations with those who came. It serves
// any number of accepts, in the order in which the peers become ready.
#pragma once

#include <memory>
#include <vector>

#include "connection.h"
#include "handle.h"
#include "runtime/config.h"

namespace plait::nccl {

class Listener {
 public:
  // Fills in `handle`. `rails`: of the device. `side` is asked for once the secret is made, since domains may
  // depend on it.
  using SideOf = std::function<std::shared_ptr<const Side>(const bootstrap::SecretPtr&)>;
  static Result<std::unique_ptr<Listener>> open(std::vector<Address> addresses, size_t rails,
                                                const runtime::Config& config, const SideOf& side,
                                                Handle& handle);

  // The next one that is ready; null: nobody yet. Not ok: one that proved itself failed, the others go on.
  Result<std::unique_ptr<Connection>> accept();

 private:
  // Who did not prove itself is cut off after a while; so many at once may try, the others wait in the
  // kernel.
  static constexpr int64_t kPatienceNs = 10'000'000'000;
  static constexpr size_t kMostGuests = 256;

  Listener(Fd fd, bootstrap::SecretPtr secret, std::shared_ptr<const Side> side)
      : fd_(std::move(fd)), secret_(std::move(secret)), side_(std::move(side)) {}
  Status take_in();

  Fd fd_;
  bootstrap::SecretPtr secret_;
  std::shared_ptr<const Side> side_;
  std::vector<std::unique_ptr<Connection>> guests_;
};

}  // namespace plait::nccl
