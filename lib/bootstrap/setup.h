// What is made ready before the first rank is dialed: trust, listeners, what to tell others of oneself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bootstrap/door.h"
#include "bootstrap/membership.h"
#include "bootstrap/resolve.h"
#include "bootstrap/self.h"

namespace plait::bootstrap {

// Code::invalid says which part of it makes no sense; Code::auth that there is no secret.
Status check(const Membership& m);
Result<Self> self_of(const Membership& m);

// The abstract name where ranks of one host meet.
Place meeting_place(const Membership& m);
// The loopback address to listen at where rank 0 is to be found at such addresses only: then all ranks are on
// this host, and nobody else need see them.
std::optional<Address> loopback_of(const std::vector<HostPort>& root);

// This rank's own listener and what others are told of it. `port`: of TCP, else 0.
struct Own {
  Fd listener;
  uint16_t port = 0;
  Contact contact;
};
Result<Own> open_own(const Membership& m, const std::optional<Address>& loopback);
// One more, for a rank that others reach as `known` says: at the same addresses, another port or door.
Result<Own> open_another(const Contact& known, uint16_t port_min, uint16_t port_max);

// Rank 0: where it is known to be. Waits while a port is taken, which may be another job's, about to let go
// of it.
Result<std::vector<Fd>> open_known(const Membership& m, const std::vector<HostPort>& root,
                                   const transport::Bounds& bounds);

// Everybody's contact, and the secret where there was none, by the framework's allgather.
Result<std::vector<Contact>> exchange_cards(const Membership& m, const Contact& mine, SecretPtr& secret);

}  // namespace plait::bootstrap
