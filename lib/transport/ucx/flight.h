// Messages on their way, and whom they go to. What UCX sends is safe to change or to unmap once its endpoint
// was closed: it gets the bytes of a message through a callback at the moment when it has a packet for them,
// header first, so one that it still holds can be made void, whatever the transport.
#pragma once

#include <ucp/api/ucp.h>

#include <array>

#include "transport/ucx/wire.h"

namespace plait::transport::ucx {

class UcxDomain;
class UcxEndpoint;

// Another domain. All endpoints to it share one of UCP's, which stays: UCP pairs those of two workers by
// counting them, and takes the process down when both sides do not open and close the same number in the same
// order.
struct Peer {
  UcxDomain* domain = nullptr;
  ucp_ep_h end = nullptr;
  uint64_t nonce = 0;           // of that domain
  ucs_status_t error = UCS_OK;  // it is lost
};

// A message that UCX has.
struct Flight {
  Flight* next = nullptr;  // of its endpoint's
  UcxDomain* domain = nullptr;
  UcxEndpoint* owner = nullptr;  // null: closed, and the message void
  Header header;
  Op* op = nullptr;                 // whose last message it is, if that wants to know
  const std::byte* from = nullptr;  // what follows the header; null: `small`, or `place`
  size_t bytes = 0;
  Place place;                           // data: in a region of this process
  std::array<std::byte, kInline> small;  // of a small source

  void revoke() noexcept;
  void pack(std::byte* to, size_t offset, size_t most) const noexcept;
};

// Gives it to UCX, which may be done with it on return.
void send(Peer& peer, Flight& flight) noexcept;

}  // namespace plait::transport::ucx
