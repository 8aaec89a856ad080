// How channels are to be: what a user of RDMA may set.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace plait::rdma {

// How two queue pairs come to know each other. Both sides must do the same.
enum class Connect : uint8_t {
  tickets,  // by what their stations say
  cm,       // by the RDMA connection manager, which asks the fabric for the path; IP addresses only
};

struct ChannelOptions {
  Connect connect = Connect::tickets;
  uint8_t traffic_class = 0, service_level = 0;  // what switches sort RoCE by, and InfiniBand
  uint16_t mtu = 0;                              // bytes, at most; 0: what both ports have
  // A packet is sent again when 4.096 us * 2^timeout passed without an answer, `retries` times; then its peer
  // counts as dead. Devices wait up to four times as long as asked: half a second to some seconds. 7 retries
  // are endless ones to soft-RoCE.
  uint8_t timeout = 14, retries = 6;
  // Where the target has no receive: cannot be, since signals are credits. 7: for ever.
  uint8_t rnr_retries = 6;

  uint16_t depth = 128;         // requests outstanding on a channel, 1 to 4096
  uint16_t signals = 64;        // that the target did not look at yet, of a channel, 1 to 1023
  uint32_t inline_bytes = 256;  // asked for; less where the device has less
};
// Code::invalid, with the one that makes no sense.
Status check(const ChannelOptions& options);

}  // namespace plait::rdma
