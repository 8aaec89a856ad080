// Messages on their way, and whom they go to. What UCX sends is safe to change or to unmap once its endpoint
// was closed: it gets the bytes of a message through a callback at the moment when it has a packet for them,
// header first, so one that it still holds can be made void, whatever the transport.
#pragma once

#include <ucp/api/ucp.h>

#include "transport/am/message.h"

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
  UcxEndpoint* owner = nullptr;  // null: closed
  am::Message message;
  std::array<std::byte, kInline> small;  // what follows the header, if it is no more

  // The message is void: nothing that it names is read or told any more.
  void revoke() noexcept {
    const size_t bytes = message.bytes;
    message = {};
    message.bytes = bytes;
  }
  void pack(std::byte* to, size_t offset, size_t most) const noexcept;
  // Gives it to UCX. UCS_INPROGRESS: UcxDomain::landed() follows.
  ucs_status_t send(ucp_ep_h end) noexcept;
};

}  // namespace plait::transport::ucx
