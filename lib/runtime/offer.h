// What two ranks that connect say to each other, over an authenticated connection, before they have a
// mailbox: each offers, and answers the other's offer. Functions of the bytes alone: whether an offer fits
// this rank is for the peer to judge (peer.cc).
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/status.h"

namespace plait::runtime {

struct Offer {
  uint16_t way = 0;             // a Way, not checked
  uint16_t rings = 0;           // mapped: of the sender's MappedMessageMemory, see kMappedRings; not checked
  ByteView ticket, key, probe;  // of the endpoint, of the region, of the probe; decoded: into the message
  uint64_t mail = 0;   // where the sender keeps a LinkMemory for the receiver, in the region of the key
  uint64_t board = 0;  // mapped: the sender's board there; else where the receiver's copy of its own goes
};
Bytes encode(const Offer& offer);
// False when it is no offer of this version.
bool decode(ByteView message, Offer& offer);

struct Answer {
  static constexpr size_t kMostText = 1024;  // longer ones are cut

  Status status;  // of connecting; not ok: with why
  bool can_pull = false;
};
Bytes encode(const Answer& answer);
bool decode(ByteView message, Answer& answer);

}  // namespace plait::runtime
