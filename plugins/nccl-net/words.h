// What the two sides of a connection say to each other over the authenticated socket: each offers, and each
// answers the other's offer. Functions of the bytes alone.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/status.h"

namespace plait::nccl {

constexpr size_t kMostWord = size_t{1} << 20;  // bytes of one
constexpr size_t kMostName = 256;              // longer ones are cut

struct Offer {
  uint32_t rails = 1;              // of the connection: the dialer says, and the listener repeats it
  std::string network;             // what both must have alike
  std::string name;                // who it is and by which device, for errors: printable
  ByteView identity, ticket, key;  // of domain, endpoint and region; decoded: into the message
};
Bytes encode(const Offer& offer);

// ok: "I can receive". Else why not, which ends it.
Bytes encode_answer(const Status& status);

struct Word {
  bool is_offer = false;
  Offer offer;
  Status answer;
};
// False when it is neither, or not of this version.
bool decode(ByteView message, Word& word);

}  // namespace plait::nccl
